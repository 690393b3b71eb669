package sge

import (
	"math"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// complexes are one of each type, and some that never count.
func complexes() *Config {
	return &Config{Complexes: []Complex{
		{"slots", "s", Int, 1000}, {"lic", "l", Int, 500}, {"fdbl", "fd", Double, 10}, {"ftime", "ft", Time, 3}, {"mem_free", "mf", Memory, 1e-9},
		{"flag", "fl", Bool, 700}, {"arch", "a", REString, 40}, {"site", "si", String, 20}, {"exact", "ex", CString, 20}, {"hostname", "h", Host, 9}, {"idle", "i", Int, 0},
		{"other", "l", Int, 5},
	}}
}

// requested returns the request of a job that asks for a text of a complex, by name or
// shortcut; false if that does not count.
func requested(c *Config, name, text string) (Request, bool) {
	ad := classad.New()
	ad.SetString(pool.RequestPrefix+name, text)
	j := NewQueue(c, World{}).Job(&classad.Context{}, jobprio.Run{Ad: ad})
	if len(j.Requests) == 0 {
		return Request{}, false
	}
	return j.Requests[0], true
}

func TestRequest(t *testing.T) {
	const never = -1
	for _, c := range []struct {
		name, text string
		complex    int
		amount     float64
	}{
		{"lic", "2", 1, 2}, {"LIC", "2", 1, 2}, {"l", "3", 1, 3}, {"L", " 3 ", 1, 3}, {"lic", "-2", 1, -2}, {"lic", "0", 1, 0}, {"lic", "INFINITY", 1, 1e18}, {"lic", "infinity", 1, 1e18},
		{"lic", "2.5", never, 0}, {"lic", "", never, 0}, {"lic", "two", never, 0}, {"lic", "TRUE", never, 0}, {"lic", "1K", never, 0}, {"lic", "5-3", never, 0}, {"lic", "0x10", never, 0},
		{"fdbl", "0.25", 2, 0.25}, {"fdbl", "1e3", 2, 1000}, {"fdbl", "1e999", 2, 1e18}, {"fdbl", "-1e999", 2, -1e18}, {"fdbl", "nan", never, 0}, {"fdbl", "0x1p4", never, 0}, {"fdbl", "inf", never, 0},
		{"ftime", "90", 3, 90}, {"ftime", "0:10:0", 3, 600}, {"ftime", "1::1", 3, 3601}, {"ftime", "::5", 3, 5}, {"ftime", "2:30", 3, 150}, {"ftime", "::", 3, 0}, {"ftime", "INFINITY", 3, 1e18},
		{"ftime", "1:2:3:4", never, 0}, {"ftime", "-5", never, 0}, {"ftime", "", never, 0}, {"ftime", "1:x", never, 0}, {"ftime", "1:-2:3", never, 0},
		{"mem_free", "2k", 4, 2000}, {"mf", "2K", 4, 2048}, {"mf", "1m", 4, 1e6}, {"mf", "1M", 4, 1 << 20}, {"mf", "1g", 4, 1e9}, {"mf", "1.5G", 4, 1.5 * (1 << 30)}, {"mf", "1t", 4, 1e12}, {"mf", "1T", 4, 1 << 40},
		{"mf", "100", 4, 100}, {"mf", "G", never, 0}, {"mf", "1GB", never, 0}, {"mf", "1e300T", 4, 1e18}, {"mf", "", never, 0},
		{"flag", "TRUE", 5, 1}, {"flag", "true", 5, 1}, {"flag", "1", 5, 1}, {"flag", "FALSE", 5, 0}, {"flag", "0", 5, 0}, {"flag", "2", never, 0}, {"flag", "", never, 0}, {"flag", "INFINITY", never, 0},
		{"arch", "lx-*", 6, 1}, {"site", "", 7, 1}, {"exact", "INFINITY", 8, 1}, {"h", "node1", 9, 1},
		{"slots", "4", never, 0}, {"s", "4", never, 0}, {"idle", "4", never, 0}, {"nope", "4", never, 0}, {"", "4", never, 0}, {"other", "1", 11, 1},
	} {
		q, ok := requested(complexes(), c.name, c.text)
		want := Request{Complex: c.complex, Amount: c.amount, Text: c.text}
		if ok != (c.complex != never) || ok && q != want {
			t.Errorf("a request for %q of %q = %+v, %v, want %+v", c.name, c.text, q, ok, want)
		}
	}
}

// Whatever text: no amount is out of range, and there are no panics.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{"2", "1:2:3", "5G", "TRUE", "INFINITY", "1e999", "..", "-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := complexes()
		for _, x := range c.Complexes {
			if q, ok := requested(c, x.Name, text); ok && !(math.Abs(q.Amount) <= mostAmount) {
				t.Errorf("a request for %s of %q = %+v", x.Name, text, q)
			}
		}
	})
}

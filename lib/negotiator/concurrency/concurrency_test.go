package concurrency

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

func TestDemands(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" ,, ", ""},
		{"license", "license"},
		{"License:2 SW.Matlab", "license:2,sw.matlab"},
		{"b,a\tc\nd", "a,b,c,d"},
		{"x:1", "x"},
		{"x:1.0", "x"},
		{"x:0.5", "x:0.5"},
		{"x:2.250", "x:2.25"},
		{"x:0.0000001", "x:0.000001"},
		{"x:1e1", "x:10"},
		{"x:0", "x"},
		{"x:-3", "x"},
		{"x:many", "x"},
		{"x:2many", "x"},
		{"x:", "x"},
		{"x:2:3", "x"},
		{"x:nan", "x"},
		{"x:inf", "x"},
		{"x:-1e999", "x"},
		{"x:1e999", "x:2000000000000"},
		{"x:1e13,x:1e13", "x:2000000000000"},
		{"x,X", "x:2"},
		{"x:0.5,y,x:1.5", "x:2,y"},
		{"_a1,A.b_2", "_a1,a.b_2"},
		{"1a,a.1,.a,a.,a.b.c,a-b,\u212A,ü,:2,ok", "ok"},
	} {
		if got := Text(Demands(c.text)); got != c.want {
			t.Errorf("demandText(demandsOf(%q)) = %q, want %q", c.text, got, c.want)
		}
	}
}

func newLimits(t *testing.T, byDefault float64, ofSet, ofName map[string]float64) Limits {
	t.Helper()
	l, err := NewLimits(byDefault, ofSet, ofName)
	testenv.OK(t, err)
	return l
}

func TestConcurrencyLimit(t *testing.T) {
	l := newLimits(t, 7, map[string]float64{"SW": 5}, map[string]float64{"License": 3, "sw.matlab": 0, "sw": 2})
	for name, want := range map[string]string{
		"license": "3", "sw.matlab": "0", "sw.other": "5", "sw": "2", "other": "7", "license.sw": "7",
	} {
		if got, ok := l.Of(name); got.String() != want || !ok {
			t.Errorf("of(%s) = %v, %v, want %s", name, got, ok, want)
		}
	}
	if got, ok := (Limits{}).Of("license"); ok {
		t.Errorf("of(license) of no limits = %v, want none", got)
	}
}

func TestNewConcurrencyLimitsRefuses(t *testing.T) {
	for _, c := range []struct {
		byDefault     float64
		ofSet, ofName map[string]float64
		want          string
	}{
		{math.NaN(), nil, nil, "default of concurrency limits: NaN: want 0 to 1000000000000"},
		{-1, nil, nil, "default of concurrency limits: -1: want"},
		{1, map[string]float64{"a.b": 1}, nil, `set of concurrency limits "a.b": want a name`},
		{1, nil, map[string]float64{"1a": 1}, `concurrency limit "1a": want a name`},
		{1, nil, map[string]float64{"": 1}, `concurrency limit "": want a name`},
		{1, nil, map[string]float64{"a.b.c": 1}, `concurrency limit "a.b.c": want a name`},
		{1, nil, map[string]float64{"A": 1, "a": 1}, "concurrency limit a: is there twice"},
		{1, nil, map[string]float64{"a": 2e12}, "concurrency limit a: 2e+12: want 0 to"},
	} {
		if _, err := NewLimits(c.byDefault, c.ofSet, c.ofName); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("NewLimits(%v, %v, %v) = %v, want %q", c.byDefault, c.ofSet, c.ofName, err, c.want)
		}
	}
}

func TestUnitsInUse(t *testing.T) {
	l := newLimits(t, 100, map[string]float64{"sw": 2}, map[string]float64{"license": 3, "tenth": 0.3, "none": 0})
	for _, c := range []struct {
		claims  []string
		job     string
		room    int
		blocked string
	}{
		{nil, "", math.MaxInt, ""},
		{nil, "license", 3, ""},
		{nil, "license:2", 1, ""},
		{nil, "license:4", 0, "license"},
		{[]string{"license", "LICENSE:1"}, "license:2", 0, "license"},
		{[]string{"license", "license"}, "license", 1, ""},
		{[]string{"license:5"}, "license", 0, "license"},
		{[]string{"sw.a", "sw.b:2"}, "sw.a", 1, ""},
		{[]string{"sw.a", "sw.b:2"}, "sw.b,sw.a,license", 0, "sw.b"},
		{[]string{"tenth:0.1", "tenth:0.1"}, "tenth:0.1", 1, ""},
		{nil, "none", 0, "none"},
		{nil, "other:30, license", 3, ""},
		{[]string{"not a/name:3"}, "license", 3, ""},
		{[]string{"other:1e300", "other:1e300", "other:1e300"}, "other:1e300", 0, "other"},
	} {
		u := NewInUse(l)
		for _, text := range c.claims {
			u.Add(text)
		}
		name, blocked := u.Blocked(Demands(c.job))
		if room := u.Headroom(Demands(c.job)); room != c.room || name != c.blocked || blocked != (c.blocked != "") {
			t.Errorf("with %q in use, %q has room for %d and is blocked by %q (%v), want %d, %q", c.claims, c.job, room, name, blocked, c.room, c.blocked)
		}
	}
	if got := NewInUse(Limits{}).Headroom(Demands("a,b:1e300")); got != math.MaxInt {
		t.Errorf("headroom without limits = %d, want %d", got, math.MaxInt)
	}
}

var someDemands = rapid.Custom(func(t *rapid.T) string {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "B", "b", "sw.a", "SW.b", "no/name"}), 0, 4).Draw(t, "names")
	for i := range names {
		names[i] += rapid.SampledFrom([]string{"", ":2", ":0.1", ":0.25", ":junk"}).Draw(t, "units")
	}
	return strings.Join(names, rapid.SampledFrom([]string{",", " ", ", "}).Draw(t, "separator"))
})

// Taking job after job while none is blocked takes as many as headroom said, and
// never passes a limit, in whatever order the claims are counted.
func TestHeadroomIsWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, err := NewLimits(float64(rapid.IntRange(0, 30).Draw(t, "default")),
			map[string]float64{"sw": 2.5}, map[string]float64{"b": float64(rapid.IntRange(0, 8).Draw(t, "b")) / 4})
		testenv.OK(t, err)
		claims := rapid.SliceOfN(someDemands, 0, 5).Draw(t, "claims")
		u, v := NewInUse(l), NewInUse(l)
		for _, c := range claims {
			u.Add(c)
		}
		for _, c := range slices.Backward(claims) {
			v.Add(Text(Demands(c)))
		}
		if fmt.Sprint(u.Used) != fmt.Sprint(v.Used) {
			t.Fatalf("in use are %v, and %v in other order", u.Used, v.Used)
		}
		job := Demands(someDemands.Draw(t, "job"))
		if len(job) == 0 {
			return
		}
		want, took := u.Headroom(job), 0
		for ; ; took++ {
			if _, blocked := u.Blocked(job); blocked {
				break
			}
			u.Take(job)
		}
		if took != want {
			t.Fatalf("%d jobs fit, want the headroom %d", took, want)
		}
		for _, d := range job {
			if most, _ := l.Of(d.Name); took > 0 && u.Used[d.Name] > most {
				t.Fatalf("%v of %s are in use, want at most %v", u.Used[d.Name], d.Name, most)
			}
		}
	})
}

// Whatever a job says, its demands are of possible names, each once and in order,
// above 0, and their text says the same again.
func FuzzDemands(f *testing.F) {
	for _, text := range []string{"", "license:2, sw.matlab", "x:1e999,x:1e999", "a:0.0000001", "A.b:nan a.B:-1", ".,:,a.:1"} {
		f.Add(text)
	}
	l, err := NewLimits(1e12, nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		demands := Demands(text)
		for i, d := range demands {
			if !IsName(d.Name) || d.Name != strings.ToLower(d.Name) || d.Units <= 0 || i > 0 && demands[i-1].Name >= d.Name {
				t.Errorf("demandsOf(%q) = %v, want names in lower case, in order, with units", text, demands)
			}
		}
		again := Text(demands)
		if got := Demands(again); !slices.Equal(got, demands) {
			t.Errorf("demandsOf(%q) = %v, want %v as of %q", again, got, demands, text)
		}
		u := NewInUse(l)
		u.Add(text)
		u.Add(text)
		if n := u.Headroom(demands); n < 0 {
			t.Errorf("headroom(%q) = %d, want 0 or more", text, n)
		}
	})
}

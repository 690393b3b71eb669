package sge

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// environments are some of each kind of urgency_slots.
func environments() *Config {
	return &Config{PEs: []PE{
		{"mpi", 20, UrgencySlots{Kind: MinSlots}},
		{"mpimax", 20, UrgencySlots{Kind: MaxSlots}},
		{"mpiavg", 20, UrgencySlots{Kind: AvgSlots}},
		{"fixed", 20, UrgencySlots{Kind: FixedSlots, Fixed: 7}},
	}}
}

func TestSlots(t *testing.T) {
	for _, c := range []struct {
		pe, wanted     string
		assumed, least int64
	}{
		{"", "", 1, 1}, {"mpi", "", 1, 1}, {"nope", " ", 1, 1},
		{"mpi", "4", 4, 4}, {"mpimax", "4", 4, 4}, {"fixed", "4", 4, 4}, {"fixed", "4-4,4", 4, 4}, {"mpiavg", "30", 30, 30},
		{"mpi", "2-8", 2, 2}, {"mpi", "8-2", 2, 2}, {"mpi", "4-", 4, 4}, {"mpi", "-8", 1, 1}, {"mpi", "2,4,9", 2, 2}, {"mpi", "9,2-4", 2, 2},
		{"mpimax", "2-8", 8, 2}, {"mpimax", "8-2", 8, 2}, {"mpimax", "4-", 20, 4}, {"mpimax", "2-4,10", 10, 2}, {"mpimax", "4-,30-40", 20, 4}, {"mpimax", "2-30", 30, 2},
		{"mpiavg", "1-4", 2, 1}, {"mpiavg", "4-", 12, 4}, {"mpiavg", "2,4,9", 5, 2}, {"mpiavg", "2-4,10", 4, 2}, {"mpiavg", "4-8", 6, 4}, {"mpiavg", "-8", 4, 1},
		{"mpiavg", "10-30", 15, 10}, {"mpiavg", "30-40", 30, 30}, {"mpiavg", "1-4,2-3,4-5", 3, 1}, {"mpiavg", "30-", 30, 30},
		{"fixed", "2-4", 7, 2}, {"fixed", "10-", 7, 10},
		{"", "2-8", 2, 2}, {"default", "4-", 4, 4},
		{"mpi*", "4-8", 4, 4}, {"mpim*", "4-8", 8, 4}, {"*avg", "4-8", 6, 4}, {"mpi?*", "4-8", 8, 4}, {"[f]ixed", "2-3", 7, 2},
		{"mpi", " 2 - 8 , 12 ", 2, 2}, {"mpimax", "1-9999999", 9999999, 1},
	} {
		assumed, least, err := environments().Slots(c.pe, c.wanted)
		if assumed != c.assumed || least != c.least || err != nil {
			t.Errorf("Slots(%q, %q) = %d, %d, %v, want %d, %d", c.pe, c.wanted, assumed, least, err, c.assumed, c.least)
		}
	}
	own := &Config{PEs: []PE{{DefaultPE, 6, UrgencySlots{Kind: MaxSlots}}}}
	if assumed, _, err := own.Slots("", "2-"); assumed != 6 || err != nil {
		t.Errorf("of an own default environment %d slots are assumed, %v, want 6", assumed, err)
	}
}

func TestSlotsRefused(t *testing.T) {
	for _, c := range []struct{ pe, wanted, want string }{
		{"mpi", "0", "must be greater than zero"}, {"mpi", "0-4", "must be greater than zero"}, {"mpi", "2,0", "must be greater than zero"},
		{"mpi", "many", "want a number of slots"}, {"mpi", "-", "want a number of slots"}, {"mpi", "2,,4", "want a number of slots"}, {"mpi", "1-2-3", "want a number of slots"},
		{"mpi", "-4-", "want a number of slots"}, {"mpi", "2.5", "want a number of slots"}, {"mpi", "+4", "want a number of slots"}, {"mpi", "2-8:2", "want a number of slots"},
		{"mpi", "10000000", "want 9999999 at most"}, {"mpi", "1-99999999999999999999", "want 9999999 at most"},
		{"mpy", "4", `parallel environment "mpy" does not exist; did you mean mpi?`}, {"x*", "4", `parallel environment "x*" does not exist`},
		{"[", "4", `parallel environment "[" does not exist`}, {"MPI", "4", "did you mean mpi?"},
	} {
		if n, _, err := environments().Slots(c.pe, c.wanted); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Slots(%q, %q) = %d, %v, want an error with %q", c.pe, c.wanted, n, err, c.want)
		}
	}
	if _, _, err := new(Config).Slots("mpi", "4"); err == nil || !strings.Contains(err.Error(), "the only one is") {
		t.Errorf("without environments the error is %v", err)
	}
}

func TestAmbiguous(t *testing.T) {
	for _, c := range []struct {
		pe, wanted string
		want       bool
	}{
		{"mpi*", "4-8", true}, {"mpi*", "4", false}, {"mpi", "4-8", false}, {"mpi*", "", false}, {"mpi*", "x", false},
		{"*", "4-", true}, {"no*", "4-8", false}, {"mpim*", "4-8", false}, {"mpi[am]*", "4-8", true},
	} {
		err := environments().Ambiguous(c.pe, c.wanted)
		if (err != nil) != c.want {
			t.Errorf("Ambiguous(%q, %q) = %v, want an error: %v", c.pe, c.wanted, err, c.want)
		}
	}
}

// What is assumed of wanted slots is what counting them one by one gives.
func TestSlotsCounted(t *testing.T) {
	kinds := []string{"mpi", "mpimax", "mpiavg"}
	rapid.Check(t, func(t *rapid.T) {
		var wanted []string
		numbers := map[int64]bool{}
		open := int64(0)
		for range rapid.IntRange(1, 4).Draw(t, "ranges") {
			a, b := rapid.Int64Range(1, 25).Draw(t, "from"), rapid.Int64Range(1, 25).Draw(t, "to")
			text := func(n int64) string { return strings.TrimLeft(string([]byte{byte('0' + n/10), byte('0' + n%10)}), "0") }
			switch rapid.IntRange(0, 3).Draw(t, "form") {
			case 0:
				wanted, b = append(wanted, text(a)), a
			case 1:
				wanted, b, open = append(wanted, text(a)+"-"), 20, max(open, a)
			case 2:
				wanted, a = append(wanted, "-"+text(b)), 1
			default:
				wanted = append(wanted, text(a)+"-"+text(b))
				a, b = min(a, b), max(a, b)
			}
			numbers[a] = true
			for n := a; n <= b; n++ {
				numbers[n] = true
			}
		}
		least, greatest, sum, count := int64(1000), int64(0), int64(0), int64(0)
		for n := range numbers {
			least, greatest = min(least, n), max(greatest, n)
			if n <= 20 {
				sum, count = sum+n, count+1
			}
		}
		want := [...]int64{least, greatest, least}
		if count > 0 {
			want[2] = sum / count
		}
		if open > 0 {
			want[1] = 20
		}
		if len(numbers) == 1 && open == 0 {
			want = [...]int64{least, least, least}
		}
		if open > 0 && greatest > open && greatest > 20 {
			return // an open range beside one beyond all slots
		}
		for i, pe := range kinds {
			assumed, first, err := environments().Slots(pe, strings.Join(wanted, ","))
			if assumed != want[i] || first != least || err != nil {
				t.Fatalf("Slots(%s, %q) = %d, %d, %v, want %d, %d", pe, wanted, assumed, first, err, want[i], least)
			}
		}
	})
}

// Whatever text: what comes out is in range, and the least is no more than the greatest.
func FuzzSlots(f *testing.F) {
	for _, seed := range []string{"4", "2-8", "4-", "-8", "2,4,9", "8-2,1-", "0", ",", "--", "99999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, wanted string) {
		c := environments()
		for _, pe := range c.PEs {
			assumed, least, err := c.Slots(pe.Name, wanted)
			if err == nil && (assumed < 1 || assumed > MostSlots || least < 1 || least > MostSlots) {
				t.Errorf("Slots(%s, %q) = %d, %d", pe.Name, wanted, assumed, least)
			}
		}
	})
}

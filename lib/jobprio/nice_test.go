package jobprio

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/internal/golden"
)

// idle returns jobs that have used next to nothing, with these tickets.
func idle(tickets ...float64) (running []Runner) {
	for _, t := range tickets {
		running = append(running, Runner{Tickets: t})
	}
	return running
}

func TestNiceValues(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name        string
		running     []Runner
		best, worst int
		want        []int
	}{
		{"nobody", nil, 0, 20, []int{}},
		{"observed: four", idle(500000, 300000, 150000, 50000), 0, 20, []int{0, 0, 2, 19}},
		{"observed: two", idle(600000, 400000), 0, 20, []int{0, 11}},
		{"their order does not matter", idle(50000, 500000, 150000, 300000), 0, 20, []int{19, 0, 2, 0}},
		{"alone", idle(7), 0, 20, []int{0}},
		{"alone, with another best", []Runner{{Tickets: 7, Usage: 1e6, Procs: 9}}, -5, 10, []int{-5}},
		{"equal", idle(5, 5, 5), 0, 20, []int{0, 0, 0}},
		{"no tickets at all", idle(0, 0), 0, 20, []int{0, 0}},
		{"no tickets at all, and what one has used", []Runner{{Usage: 4}, {}}, 0, 20, []int{15, 0}},
		{"none is like one", idle(0, 1, -5, nan, math.Inf(-1)), 0, 20, []int{0, 0, 0, 0, 0}},
		{"a fraction of one does not count", idle(2.9, 2), 0, 20, []int{0, 0}},
		{"more than there can be", idle(inf, 1e300, math.MaxUint32), 0, 20, []int{0, 0, 0}},
		{"nearly everything, and nearly nothing", idle(1e9, 1), 0, 20, []int{0, 19}},
		{"who has used more is worse off", []Runner{{Tickets: 5, Usage: 10}, {Tickets: 5, Usage: 5}, {Tickets: 5, Usage: 1}}, 0, 20, []int{18, 8, 0}},
		{"less than a second is one", []Runner{{Tickets: 5, Usage: 0.9}, {Tickets: 5, Usage: -3}, {Tickets: 5, Usage: nan}}, 0, 20, []int{0, 0, 0}},
		{"what somebody has used outweighs tickets", []Runner{{Tickets: 600000, Usage: 100}, {Tickets: 400000, Usage: 1}}, 0, 20, []int{19, 0}},
		{"more than can be used", []Runner{{Tickets: 5, Usage: inf}, {Tickets: 5, Usage: 1e300}}, 0, 20, []int{0, 0}},
		{"many processors", []Runner{{Tickets: 5, Procs: 4}, {Tickets: 5, Procs: 1}, {Tickets: 5, Procs: -8}}, 0, 20, []int{15, 0, 0}},
		{"all a number holds", []Runner{{Tickets: inf, Usage: inf, Procs: math.MaxInt}, {Procs: math.MinInt}}, 0, 20, []int{20, 0}},
		{"another range", idle(600000, 400000), -10, 10, []int{-10, 1}},
		{"a range beyond all", idle(600000, 400000), -1000, 1000, []int{-20, 2}},
		{"no range", idle(600000, 400000), 7, 7, []int{7, 7}},
		{"a best that is the worse", idle(600000, 400000), 10, 3, []int{3, 3}},
	} {
		if got := NiceValues(c.running, c.best, c.worst); !slices.Equal(got, c.want) {
			t.Errorf("%s: NiceValues(%v, %d, %d) = %v, want %v", c.name, c.running, c.best, c.worst, got, c.want)
		}
	}
}

// anyNumber draws numbers of all sizes, and what is none.
func anyNumber() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 100), rapid.Map(rapid.IntRange(0, 1e6), func(n int) float64 { return float64(n) }),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1}))
}

func anyRunners() *rapid.Generator[[]Runner] {
	one := rapid.Custom(func(t *rapid.T) Runner {
		return Runner{anyNumber().Draw(t, "tickets"), anyNumber().Draw(t, "usage"), rapid.OneOf(rapid.Int(), rapid.IntRange(0, 64)).Draw(t, "procs")}
	})
	return rapid.SliceOfN(one, 1, 8)
}

// anyRange draws a best and a worst nice value in their order.
func anyRange(t *rapid.T) (best, worst int) {
	best = rapid.IntRange(-20, 20).Draw(t, "best")
	return best, rapid.IntRange(best, 20).Draw(t, "worst")
}

// Whatever the numbers: the values are within the range, somebody has the best one, and
// nobody's depends on the order in which the jobs are looked at.
func TestNiceValuesRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running := anyRunners().Draw(t, "running")
		best, worst := anyRange(t)
		got := NiceValues(running, best, worst)
		if len(got) != len(running) || slices.Min(got) != best || slices.Max(got) > worst {
			t.Fatalf("NiceValues(%v, %d, %d) = %v, want the first in it and none above the second", running, best, worst, got)
		}
		order := rapid.Permutation(indices(len(running))).Draw(t, "order")
		turned, want := make([]Runner, len(running)), make([]int, len(running))
		for to, from := range order {
			turned[to], want[to] = running[from], got[from]
		}
		// The sum of whole numbers below 2^53 is exact in any order.
		if again := NiceValues(turned, best, worst); !slices.Equal(again, want) {
			t.Errorf("NiceValues(%v) = %v, want %v as in the order %v", turned, again, want, running)
		}
	})
}

func indices(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// Of two jobs, the one with no fewer tickets, no more usage and no more processors never
// has the worse value.
func TestNiceValuesFollowTickets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running := anyRunners().Draw(t, "running")
		best, worst := anyRange(t)
		got := NiceValues(running, best, worst)
		for i, a := range running {
			for j, b := range running {
				if a.tickets() >= b.tickets() && a.usage() <= b.usage() && max(a.Procs, 1) <= max(b.Procs, 1) && got[i] > got[j] {
					t.Errorf("NiceValues(%v, %d, %d) = %v: %d is worse off than %d", running, best, worst, got, i, j)
				}
			}
		}
	})
}

// A job that is given many more tickets is not the worse off for it.
func TestNiceValuesMoreTickets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running := anyRunners().Draw(t, "running")
		i := rapid.IntRange(0, len(running)-1).Draw(t, "job")
		before := NiceValues(running, 0, 20)[i]
		richer := slices.Clone(running)
		richer[i].Tickets = 2 * richer[i].tickets()
		if after := NiceValues(richer, 0, 20)[i]; after > before {
			t.Errorf("job %d of %v: its value is %d, and with twice the tickets %d", i, running, before, after)
		}
	})
}

func TestForget(t *testing.T) {
	for _, c := range []struct{ usage, want float64 }{
		{0, 0}, {10, 1}, {3600, 360}, {-5, 0}, {math.NaN(), 0}, {math.Inf(1), 1e14}, {math.Inf(-1), 0},
	} {
		if got := Forget(c.usage); got != c.want {
			t.Errorf("Forget(%v) = %v, want %v", c.usage, got, c.want)
		}
	}
}

// observedNice is a scenario of jobs that ran on one machine.
type observedNice struct {
	Observed []struct {
		Tickets float64 `json:"tckts"`
		Slots   int
		Nice    int
	}
}

// TestGoldenNice compares with what a real Grid Engine set.
func TestGoldenNice(t *testing.T) { golden.Each(t, "sge", "runtime-nice*.json", compareNice) }

func compareNice(t *testing.T, file string, r *observedNice) {
	if len(r.Observed) < 2 {
		t.Fatalf("%s: %d jobs", file, len(r.Observed))
	}
	var running []Runner
	var want []int
	for _, o := range r.Observed {
		running = append(running, Runner{Tickets: o.Tickets, Procs: o.Slots})
		want = append(want, o.Nice)
	}
	if got := NiceValues(running, 0, 20); !slices.Equal(got, want) {
		t.Errorf("NiceValues(%v, 0, 20) = %v, want %v", running, got, want)
	}
}

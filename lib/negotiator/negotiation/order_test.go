package negotiation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// Of equally ranked slots those that others have nothing besides are taken
// last, although their names come first.
func TestEquallyRankedSlotsByContention(t *testing.T) {
	mixed := func(plain, special int) []pool.Slot {
		slots := equal(t, plain, "HasG = false")
		for i := range special {
			slots = append(slots, aSlot(t, fmt.Sprintf("g%d", i+1), "HasG = true"))
		}
		return slots
	}
	const anywhere, special, plain = "", "Requirements = TARGET.HasG", "Requirements = !TARGET.HasG"
	users := []accountant.Record{record("alice@x", 5), record("bob@x", 10), record("carol@x", 20), record("dave@x", 100), record("erin@x", 100)}
	for _, c := range []struct {
		name  string
		slots []pool.Slot
		jobs  []jobprio.Run
		want  map[string]int
	}{
		{"one anywhere, one special", mixed(60, 10), []jobprio.Run{aJob(t, 1, 100, "alice@x", anywhere), aJob(t, 2, 100, "bob@x", special)},
			map[string]int{"alice@x": 60, "bob@x": 10}},
		{"one anywhere, two special", mixed(60, 10), []jobprio.Run{aJob(t, 1, 100, "alice@x", anywhere), aJob(t, 2, 100, "bob@x", special), aJob(t, 3, 100, "carol@x", special)},
			map[string]int{"alice@x": 60, "bob@x": 7, "carol@x": 3}},
		{"two anywhere, one special", mixed(60, 10), []jobprio.Run{aJob(t, 1, 100, "alice@x", anywhere), aJob(t, 2, 100, "bob@x", anywhere), aJob(t, 3, 100, "carol@x", special)},
			map[string]int{"alice@x": 40, "bob@x": 20, "carol@x": 10}},
		// More can use the plain slots, but hardly will.
		{"many are kept off the special", mixed(60, 10), []jobprio.Run{aJob(t, 1, 100, "alice@x", anywhere), aJob(t, 2, 100, "bob@x", special),
			aJob(t, 3, 100, "dave@x", plain), aJob(t, 4, 100, "erin@x", plain)},
			map[string]int{"alice@x": 54, "bob@x": 10, "dave@x": 3, "erin@x": 3}},
		{"what is special is wanted by nobody else", mixed(60, 10), []jobprio.Run{aJob(t, 1, 100, "alice@x", anywhere), aJob(t, 2, 100, "bob@x", plain)},
			map[string]int{"alice@x": 47, "bob@x": 23}},
		{"one's own jobs", mixed(60, 10), []jobprio.Run{aJob(t, 1, 60, "alice@x", anywhere), aJob(t, 2, 60, "alice@x", special)}, map[string]int{"alice@x": 70}},
		{"nice users among themselves", mixed(20, 10), []jobprio.Run{aJob(t, 1, 4, "alice@x", special), aJob(t, 2, 40, "nice-user.bob@x", anywhere), aJob(t, 3, 40, "nice-user.carol@x", special)},
			map[string]int{"alice@x": 4, "nice-user.bob@x": 20, "nice-user.carol@x": 6}},
	} {
		plan := Cycle(negotiator.Pool{Slots: c.slots, Jobs: c.jobs, Submitters: users}, defaults(t), now)
		if got := matched(plan); !maps.Equal(got, c.want) {
			t.Errorf("%s: Cycle matches %v, want %v", c.name, got, c.want)
		}
	}
}

// Among slots in equal demand, those come first that fewer submitters can use, then those that
// fewer kinds of jobs can use, then the first by name. Jobs beyond a submitter's share are
// expected to take nothing.
func TestOrderOfContention(t *testing.T) {
	const special, plain = "Requirements = TARGET.HasG", "Requirements = !TARGET.HasG"
	slots := []pool.Slot{aSlot(t, "a1", "HasG = true"), aSlot(t, "b1", "HasG = false"), aSlot(t, "b2", "HasG = false")}
	for _, c := range []struct {
		name  string
		slots []pool.Slot
		jobs  []jobprio.Run
		want  string
	}{
		{"submitters", slots[:2], []jobprio.Run{aJob(t, 1, 2, "alice@x", ""), aJob(t, 2, 1, "alice@x", plain), aJob(t, 3, 1, "none@x", special)}, "1.0>b1 1.1>a1"},
		{"kinds of jobs", slots[:2], []jobprio.Run{aJob(t, 1, 2, "alice@x", ""), aJob(t, 2, 1, "alice@x", special)}, "1.0>b1 1.1>a1"},
		{"shares", slots, []jobprio.Run{aJob(t, 1, 3, "alice@x", ""), aJob(t, 2, 1, "alice@x", special), aJob(t, 3, 1, "alice@x", plain)}, "1.0>a1 1.1>b1 1.2>b2"},
	} {
		p := negotiator.Pool{Slots: c.slots, Jobs: c.jobs, Submitters: []accountant.Record{record("alice@x", 1), bounded("none@x", 1, 0, 0)}}
		if got := pairs(Cycle(p, defaults(t), now)); got != c.want {
			t.Errorf("%s: Cycle matches %s, want %s", c.name, got, c.want)
		}
	}
}

// Ranks override shares in the choice of slots, and a submitter that loses by it is told
// so.
func TestRanksAreAboveContention(t *testing.T) {
	var slots []pool.Slot
	for i := range 10 {
		slots = append(slots, aSlot(t, fmt.Sprintf("g%d", i+1), "HasG = true"))
	}
	slots = append(slots, equal(t, 60, "HasG = false")...)
	users := []accountant.Record{record("alice@x", 5), record("bob@x", 10), record("carol@x", 5)}
	special := aJob(t, 2, 100, "bob@x", "Requirements = TARGET.HasG")
	for _, c := range []struct {
		name string
		jobs []jobprio.Run
		want map[string]int
		said string // for bob
	}{
		{"all", []jobprio.Run{aJob(t, 1, 100, "alice@x", "Rank = TARGET.HasG"), special}, map[string]int{"alice@x": 70},
			"no match found: all 10 matching slots are taken (0 before this cycle); alice@x took them by rank"},
		{"some", []jobprio.Run{aJob(t, 1, 4, "alice@x", "Rank = TARGET.HasG"), special}, map[string]int{"alice@x": 4, "bob@x": 6},
			"no match found: all 10 matching slots are taken (0 before this cycle); alice@x took 4 of them by rank"},
		{"two", []jobprio.Run{aJob(t, 1, 4, "alice@x", "Rank = TARGET.HasG"), aJob(t, 3, 3, "carol@x", "Rank = TARGET.HasG"), special},
			map[string]int{"alice@x": 4, "bob@x": 3, "carol@x": 3},
			"no match found: all 10 matching slots are taken (0 before this cycle); alice@x and another took 7 of them by rank"},
		{"no more than is due", []jobprio.Run{aJob(t, 1, 100, "alice@x", "Requirements = TARGET.HasG; Rank = 1"), special}, map[string]int{"alice@x": 7, "bob@x": 3},
			"submitter limit exceeded: bob@x uses 3 of a pie slice of 3.33, the other matching slots are taken"},
		{"by the order of one's jobs", []jobprio.Run{aJob(t, 1, 10, "alice@x", "Requirements = TARGET.HasG"), aJob(t, 4, 60, "alice@x", "Requirements = !TARGET.HasG"), special},
			map[string]int{"alice@x": 70}, "no match found: all 10 matching slots are taken (0 before this cycle); alice@x took them first"},
	} {
		plan := Cycle(negotiator.Pool{Slots: slots, Jobs: c.jobs, Submitters: users}, defaults(t), now)
		said := ""
		for _, r := range plan.Rejections {
			if r.Submitter == "bob@x" {
				said = r.Reason
			}
		}
		if got := matched(plan); !maps.Equal(got, c.want) || said != c.said {
			t.Errorf("%s: Cycle matches %v, tells bob %q, want %v, %q", c.name, got, said, c.want, c.said)
		}
	}
}

// tiedPool draws a pool whose slots are all equally good for a job, while
// different users' jobs can use different ones.
func tiedPool(t *rapid.T, outer testing.TB) negotiator.Pool {
	var p negotiator.Pool
	kinds := rapid.IntRange(1, 4).Draw(t, "kinds")
	for kind := range kinds {
		for range rapid.IntRange(1, 12).Draw(t, "slots") {
			p.Slots = append(p.Slots, aSlot(outer, fmt.Sprintf("slot%d", len(p.Slots)+1), fmt.Sprintf("Kind = %d", kind)))
		}
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "users") {
		name := fmt.Sprintf("user%d@x", i)
		p.Submitters = append(p.Submitters, record(name, rapid.SampledFrom([]float64{0.5, 1, 2, 5, 10, 20}).Draw(t, "rup")))
		var or []string
		for kind := range kinds {
			if rapid.Bool().Draw(t, "wants") {
				or = append(or, fmt.Sprintf("TARGET.Kind == %d", kind))
			}
		}
		text := strings.Join(append(or, "false"), " || ")
		p.Jobs = append(p.Jobs, aJob(outer, i+1, rapid.IntRange(1, 30).Draw(t, "count"), name, "Requirements = "+text))
	}
	return p
}

// Slices and reasons agree: the reasons of a submitter with a whole slot less than its
// slice name the holder of it.
func TestWhoGotLessIsToldWhy(t *testing.T) {
	cfg := defaults(t)
	rapid.Check(t, func(rt *rapid.T) {
		plan := Cycle(tiedPool(rt, t), cfg, now)
		for _, s := range plan.Submitters {
			if s.Matched == s.Idle || float64(s.Matched) > s.PieSlice-1+1e-6 {
				continue
			}
			i := slices.IndexFunc(plan.Rejections, func(r negotiator.Rejection) bool { return r.Submitter == s.Name })
			if r := plan.Rejections[i]; !strings.HasPrefix(r.Reason, "no match found: ") || !strings.Contains(r.Reason, " took ") {
				rt.Fatalf("%+v got less than its pie slice, and is told %q; all: %+v", s, r.Reason, plan.Submitters)
			}
		}
	})
}

// Where two sorts of slot are equally good and nobody's jobs differ, everybody
// gets the slice within one slot.
func TestTiesKeepSlices(t *testing.T) {
	cfg := defaults(t)
	rapid.Check(t, func(rt *rapid.T) {
		p := negotiator.Pool{Slots: equal(t, rapid.IntRange(0, 20).Draw(rt, "plain"), "HasG = false")}
		for i := range rapid.IntRange(0, 10).Draw(rt, "special") {
			p.Slots = append(p.Slots, aSlot(t, fmt.Sprintf("g%d", i), "HasG = true"))
		}
		for i := range rapid.IntRange(1, 6).Draw(rt, "users") {
			name := fmt.Sprintf("user%d@x", i)
			p.Submitters = append(p.Submitters, record(name, rapid.SampledFrom([]float64{0.5, 1, 2, 5, 10, 20}).Draw(rt, "rup")))
			p.Jobs = append(p.Jobs, aJob(t, i+1, rapid.IntRange(1, 30).Draw(rt, "count"), name,
				rapid.SampledFrom([]string{"", "Requirements = TARGET.HasG"}).Draw(rt, "needs")))
		}
		plan := Cycle(p, cfg, now)
		for _, s := range plan.Submitters {
			if d := float64(s.Matched) - s.PieSlice; d <= -1-1e-6 || d >= 1+1e-6 {
				rt.Fatalf("%s got %d slots of a pie slice of %v; all: %+v", s.Name, s.Matched, s.PieSlice, plan.Submitters)
			}
		}
	})
}

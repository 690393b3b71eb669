package cmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

// story is what many processes at once were told, and when. It is true when
// all of their steps can be put into one order that the model can take, in
// which each stands between its command's start and end.
type story struct {
	began time.Time
	first *model

	mu      sync.Mutex
	told    []porcupine.Operation
	put     int // jobs in the pool, ever
	tally   map[string]int
	strange []error // answers that no order can explain
}

func newStory(first *model) *story {
	return &story{began: time.Now(), first: first, put: first.put, tally: map[string]int{}}
}

// now returns the time in the story, by the monotonic clock.
func (s *story) now() int64 { return int64(time.Since(s.began)) }

// tell runs a call and adds what came of it; the teller tells one thing after
// the other.
func (s *story) tell(g *ground, teller int, c call) answer {
	start := s.now()
	a := g.run(c.stdin, c.args...)
	s.add(teller, c, a, start, s.now())
	return a
}

func (s *story) add(teller int, c call, a answer, start, end int64) {
	steps, err := c.steps(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.strange = append(s.strange, err)
		return
	}
	s.tally[fmt.Sprintf("%s=%d", c.args[0], a.status)]++
	if jobs, cluster := clusterOf(a.out); cluster > 0 {
		s.put += jobs
	}
	for _, step := range steps {
		s.tally["preempted"] += len(step.victims)
		s.tally["promised outside"] += step.outside
		s.told = append(s.told, porcupine.Operation{ClientId: teller, Input: step, Call: start, Output: c.args, Return: end})
	}
}

// check fails the test when the story is not true.
func (s *story) check(t *testing.T) {
	t.Helper()
	for _, err := range s.strange {
		t.Error(err)
	}
	machine := porcupine.Model{
		Init: func() any { return s.first },
		Step: func(state, input, _ any) (bool, any) {
			m, ok := state.(*model).after(input.(step))
			return ok, m
		},
		Equal: func(a, b any) bool { return a.(*model).equal(b.(*model)) },
		Hash:  func(a any) uint64 { return a.(*model).hash() },
	}
	start := time.Now()
	s.first.readOutcomes(t)
	s.narrow()
	result, info := porcupine.CheckOperationsVerbose(machine, s.told, testenv.Longest)
	if result != porcupine.Ok {
		t.Errorf("%d steps of %v: %v: %s", len(s.told), s.tally, result, s.explain(info))
	}
	t.Logf("%d steps of %v, checked in %v", len(s.told), s.tally, time.Since(start).Round(time.Millisecond))
}

// narrow lets steps begin no sooner than the last reader who saw that they had
// not been done yet. It changes nothing about what is true, but without it the
// search tries the long steps of starter much too soon, and goes back far.
func (s *story) narrow() {
	victims := map[pool.JobID]bool{} // who come back to where they were before, or stay
	steps := map[pool.JobID]int{}    // to begin and to end
	steered := map[string]bool{}
	for _, o := range s.told {
		steps[o.Input.(step).of]++
		steered[o.Input.(step).steers] = true
		for _, id := range o.Input.(step).victims {
			victims[id] = true
		}
	}
	for id := range steps {
		if steered[id.String()] || steered[strconv.Itoa(id.Cluster)] {
			victims[id] = true
		}
	}
	for i := range s.told {
		o := &s.told[i]
		of := o.Input.(step).of
		later := o.Input.(step).later
		if victims[of] {
			later = o.Input.(step).once
		}
		if later == nil || victims[of] && steps[of] > 2 {
			continue
		}
		for _, r := range s.told {
			if listing := r.Input.(step).listing; r.Call > o.Call && r.Call < o.Return && listing != "" && later(listing) {
				o.Call = r.Call
			}
		}
	}
}

// explain tells how far the story can be believed, and what does not follow.
func (s *story) explain(info porcupine.LinearizationInfo) string {
	var longest []int
	for _, ids := range info.PartialLinearizations()[0] {
		if len(ids) > len(longest) {
			longest = ids
		}
	}
	m := s.first
	for _, i := range longest {
		m, _ = m.after(s.told[i].Input.(step))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "after %d of them the pool is, with next cluster %d\n%s\n%s\n%s\nand none of these can follow:\n",
		len(longest), m.next, showJobs(m), showSlots(m), showSubmitters(m))
	rest := []int{}
	for i := range s.told {
		if !slices.Contains(longest, i) {
			rest = append(rest, i)
		}
	}
	slices.SortFunc(rest, func(i, j int) int { return int(s.told[i].Return - s.told[j].Return) })
	for _, i := range rest[:min(8, len(rest))] {
		o := s.told[i]
		fmt.Fprintf(&b, "- teller %d, %v to %v, %v: %s\n", o.ClientId, time.Duration(o.Call), time.Duration(o.Return), o.Output, o.Input.(step).text)
	}
	return b.String()
}

// furnish fills a new spool with the resting jobs, all slots, and the
// submitters that have jobs, and returns what is in it then.
func (g *ground) furnish() *model {
	g.Helper()
	m := &model{next: 1, outcomes: &outcomes{spool: g.spool}}
	all := make([]string, slotCount)
	for i := range all {
		all[i] = slotName(i)
	}
	for _, c := range []call{
		submit(2, "alice", true), submit(2, "bob", true), advertise(all, slot{1, true, 0, false}),
		edit("-setfactor", "alice@pool", 1), edit("-setfactor", "bob@pool", 1000), edit("-setfactor", carol, 1e6),
	} {
		m = g.sure(m, c)
	}
	return m
}

// sure makes a call that must succeed, and returns what follows from it.
func (g *ground) sure(m *model, c call) *model {
	g.Helper()
	a := g.run(c.stdin, c.args...)
	steps, err := c.steps(a)
	if err != nil || a.status != 0 {
		g.Fatalf("%v = %+v, %v", c.args, a, err)
	}
	m.readOutcomes(g.T)
	for _, s := range steps {
		ok := false
		if m, ok = m.after(s); !ok {
			g.Fatalf("%v: it cannot be that %s", c.args, s.text)
		}
	}
	return m
}

package negotiation

import (
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// In a small pool no slot fails fewer clauses than the nearest.
func TestNearestIsNearest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := anyWorld(rt, t)
		eval := &classad.Context{Now: now}
		names := []string{"Cpus", "Memory"} // what partitionable slots are divided by
		for _, s := range w.Slots {
			if s.Ad.Has("GPUs") {
				names = append(names, "GPUs")
			}
		}
		for _, a := range Cycle(w.Pool, w.cfg, now).Autoclusters {
			if a.Nearest == nil {
				if len(w.Slots) > 0 {
					rt.Fatalf("%v: no slot is the nearest of %d", a.Job, len(w.Slots))
				}
				continue
			}
			var job *classad.Ad
			for _, j := range w.Jobs {
				if j.FirstJob() == a.Job {
					job = j.Ad
				}
			}
			least, got := 1<<20, 0
			for _, s := range w.Slots {
				n := failingOf(eval, job, s.Ad, names)
				if s.Name == a.Nearest.Slot {
					got = n
				}
				if there := w.cfg.SlotConstraint; n < least && (there == nil || there.Eval(eval, s.Ad, nil).True()) {
					least = n
				}
			}
			if got > least {
				rt.Fatalf("%v: the nearest is %s, which fails %d, want one that fails %d", a.Job, a.Nearest.Slot, got, least)
			}
		}
	})
}

// failingOf counts the clauses that are not true, and one for a partitionable slot that
// has too little, as a whole, of something.
func failingOf(eval *classad.Context, job, slot *classad.Ad, divided []string) (n int) {
	for _, both := range [][2]*classad.Ad{{job, slot}, {slot, job}} {
		for _, c := range classad.Explain(eval, both[0], both[1], "Requirements") {
			if c.Fails() {
				n++
			}
		}
	}
	if !pool.Partitionable(eval, slot) {
		return n
	}
	for _, name := range divided {
		want, _ := job.EvalNumber(eval, "Request"+name)
		if has, _ := slot.EvalNumber(eval, name); want > has {
			return n + 1
		}
	}
	return n
}

package sge

import "slices"

// trace is a pass's notes on each member for Course. A run itself has no trace, and notes
// nothing.
type trace struct {
	pass  *pass   // that noted it
	alone *forest // the share tree of those that run; nil if it gives nothing
	// active is how many jobs of each object run.
	active []int32
	// ran is the functional policy's state of those that run, weights its weights for those that
	// wait, and last its state before the last turn, if some were left over: by that they are
	// reckoned.
	ran, last functional
	weights   [terms]float64
	// functional and override are by member that waits: when its turn came, and what counted
	// then.
	functional []functionalTurn
	override   []overrideTurn
	// served is how many had their turn.
	served [TicketPolicies]int
	// branch and divisor are of the share tree, by waiting member: the branch that it got a
	// part of, and the part; none and 0 without one.
	branch  []int32
	divisor []float64
}

// functionalTurn is what counted when a member was served by functional shares.
type functionalTurn struct {
	place  int            // from 1; 0 if it was not served
	active [kinds]int32   // jobs of its objects
	sums   [terms]float64 // shares of all
}

// overrideTurn is what counted when a member was served by override tickets.
type overrideTurn struct {
	place  int          // from 1; 0 if it was not served
	active [kinds]int32 // jobs of its objects
}

// noted makes the run once more, to look at it. The first call does it.
func (r *Ranking) noted() *trace {
	r.look.Do(func() {
		p := r.tickets.pass
		n := len(p.members) - p.running
		t := &trace{
			functional: make([]functionalTurn, n), override: make([]overrideTurn, n),
			branch: make([]int32, n), divisor: make([]float64, n),
		}
		for i := range t.branch {
			t.branch[i] = none
		}
		t.pass = tracedPass(p.config, p.used, p.members, p.running, t)
		t.active = t.pass.crowd.active(p.running)
		if f := t.pass.forest; f != nil && p.running > 0 {
			t.alone = f.onlyRunning(p.config)
		}
		r.trace = t
	})
	return r.trace
}

// activeOf returns how many jobs of a party's objects are active, and more.
func activeOf(active []int32, w *party, more int32) (n [kinds]int32) {
	for kind, o := range w.objects {
		n[kind] = active[o] + more
	}
	return n
}

// ranWith notes the functional policy's state of those that run.
func (t *trace) ranWith(f *functional) {
	if t != nil {
		t.ran = *f
	}
}

// lastTurn notes the functional policy's state before its last turn.
func (t *trace) lastTurn(f *functional) {
	if t != nil {
		t.last = *f
		t.last.active = slices.Clone(f.active)
	}
}

// started notes that the functional policy has served a member that waits.
func (t *trace) started(waiting int, w *party, f *functional) {
	if t != nil {
		t.served[Functional]++
		t.weights = f.weights
		t.functional[waiting] = functionalTurn{t.served[Functional], activeOf(f.active, w, 0), f.sums}
	}
}

// overridden notes that the override policy serves a member that waits, before it counts as
// active.
func (t *trace) overridden(waiting int, w *party, o *overriding) {
	if t != nil {
		t.served[Override]++
		t.override[waiting] = overrideTurn{t.served[Override], activeOf(o.active, w, 1)}
	}
}

// placed notes which part of a branch's target a member that waits got.
func (t *trace) placed(waiting int, branch int32, divisor float64) {
	if t != nil {
		t.branch[waiting], t.divisor[waiting] = branch, divisor
	}
}

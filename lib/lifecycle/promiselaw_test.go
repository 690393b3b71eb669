package lifecycle

import (
	"slices"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// outside is a static slot of a site that nobody's job there matches by itself, and that
// carol holds from outside at times.
const outside = "slot1@outside"

const carol = "carol@example.org"

// settleOutside notes what carol is charged from a cycle on: for the slot outside if the
// cycle saw her there, unless it is charged to a job of the site.
func (x *site) settleOutside(plan *negotiator.Plan) {
	x.used[carol] = x.used[carol].Add(x.held, x.now.Sub(x.heldSince))
	x.held, x.heldSince = plan.Outside[carol].Weight, x.now
	if err := x.s.View(func(v *spool.View) error {
		if slices.ContainsFunc(v.Claims(), func(c pool.Claim) bool { return c.Slot == outside && c.State.Charged() }) {
			x.held = 0
		}
		return nil
	}); err != nil {
		x.Fatal(err)
	}
}

func (x *site) advertiseOutside(tx *spool.Tx, held bool) {
	ad := classad.New()
	ad.SetString("Name", outside)
	ad.SetBool("Requirements", false)
	ad.SetString("State", "Unclaimed")
	if held {
		ad.SetString("State", "Claimed")
		ad.SetString("RemoteUser", carol)
	}
	tx.PutSlot(outside, ad)
}

// preempt applies a plan with one more match: an idle job is given what a running one
// has, or carol.
func (x *site) preempt() {
	var plan *negotiator.Plan
	var seen Snapshot
	var m negotiator.Match
	found := false
	if err := x.s.View(func(v *spool.View) error {
		seen = TakeSnapshot(v, x.s.Domain(), nil, policy.Beside{})
		plan = negotiation.Cycle(seen.Pool, negotiator.Config{Params: params, UseSlotWeights: true, SlotWeight: x.weight, Limits: x.limits}, x.now)
		m, found = x.preemption(seen)
		return nil
	}); err != nil {
		x.Fatal(err)
	}
	if !found {
		return
	}
	plan.Matches = []negotiator.Match{m}
	switch rapid.IntRange(0, 5).Draw(x.T, "between") {
	case 0:
		x.finish()
	case 1:
		x.remove()
	}
	before, _ := x.claimOf(m.Preempts.Job)
	x.update("preempt", func(tx *spool.Tx) {
		if made := Match(tx, plan, seen, x.now, params); len(made) > 0 && before.State == pool.RunningClaim {
			x.charge(before)
		}
	})
	x.settleOutside(plan)
}

func (x *site) claimOf(id pool.JobID) (c pool.Claim, ok bool) {
	if err := x.s.View(func(v *spool.View) error { c, ok = v.Claim(id); return nil }); err != nil {
		x.Fatal(err)
	}
	return c, ok
}

// preemption draws an idle job that counts for the same limits as one that runs, and
// gives it that one's slot, or the one outside.
func (x *site) preemption(seen Snapshot) (m negotiator.Match, ok bool) {
	holder, ok := x.one(slices.DeleteFunc(slices.Clone(seen.Pool.Claims), func(c pool.Claim) bool { return c.State != pool.RunningClaim }))
	m = negotiator.Match{Reason: negotiator.PriorityPreemption, Slot: holder.Slot, Piece: holder.Piece, Weight: holder.Weight, Limits: holder.Limits,
		Preempts: &negotiator.Preempted{Job: holder.Job, Attempt: holder.Attempt, Submitter: holder.Submitter, Weight: holder.Weight}}
	slot, _ := seen.slot(outside)
	if ad := slot.ad; !ok || rapid.IntRange(0, 3).Draw(x.T, "outside") == 0 {
		if who := negotiator.Holder(&classad.Context{}, ad); who == "" {
			return m, false
		}
		m.Slot, m.Piece, m.Limits, m.Weight = outside, pool.Piece{}, "", 3000
		m.Preempts = &negotiator.Preempted{Submitter: carol, Weight: 1000}
	}
	claimed := map[pool.JobID]bool{}
	for _, c := range seen.Pool.Claims {
		claimed[c.Job] = true
	}
	var idle []negotiator.Match
	for _, j := range seen.Pool.Jobs {
		for p := range j.Count() {
			m.Job, m.Submitter = pool.JobID{Cluster: j.Cluster, Proc: j.First + p}, j.Submitter
			if !claimed[m.Job] && (j.Cluster > 1) == (m.Limits != "") {
				idle = append(idle, m)
			}
		}
	}
	if len(idle) == 0 {
		return m, false
	}
	return rapid.SampledFrom(idle).Draw(x.T, "job"), true
}

package negotiation

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// queued is what a test asks of the order that a policy gives a pool, proc by proc.
type queued struct {
	idle   []jobprio.Run
	order  jobprio.Order
	limits jobprio.Limits
	place  map[pool.JobID]int
}

// queuedJobs asks the policy about the idle jobs that no lasting claim has and that
// NEGOTIATOR_JOB_CONSTRAINT does not bar.
func queuedJobs(p negotiator.Pool, cfg negotiator.Config, plan *negotiator.Plan) queued {
	q := queued{place: map[pool.JobID]int{}}
	c := rulesOf(cfg)
	claims := lasting(p, plan)
	has := func(id pool.JobID) bool {
		return slices.ContainsFunc(claims, func(cl pool.Claim) bool { return cl.Job == id })
	}
	for _, j := range jobprio.Singly(p.Jobs) {
		if !has(j.FirstJob()) && c.allows(cfg.JobConstraint, j.Ad) {
			q.idle = append(q.idle, j)
		}
	}
	w := jobprio.Waiting{Idle: q.idle}
	for _, r := range p.Running {
		if has(r.FirstJob()) {
			w.Running = append(w.Running, r)
		}
	}
	q.order = cfg.Queue.Order(w)
	q.limits = q.order.Limits
	for i, place := range q.order.Places {
		q.place[q.idle[place.Run].FirstJob()] = i
	}
	return q
}

// Jobs that the policy leaves out get nothing, and none of its limits is exceeded.
func TestPolicyIsKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := anyBusy(rt, t, true)
		if p, cfg = maybeQueued(rt, t, p, cfg); cfg.Queue == nil {
			return
		}
		plan := Cycle(p, cfg, now)
		q := queuedJobs(p, cfg, plan)
		if plan.Limited != (q.limits != nil) {
			rt.Fatalf("the plan says that the policy limits what runs: %v", plan.Limited)
		}
		for _, m := range plan.Matches {
			at, placed := q.place[m.Job]
			if !placed {
				rt.Fatalf("match %+v: the policy leaves the job out\n%s", m, portrait(p, cfg))
			}
			if place := q.order.Places[at]; m.QOS != place.QOS || m.PE != place.PE || m.Priority != place.Priority {
				rt.Fatalf("match %+v, want what the place has: %+v", m, place)
			}
			if q.limits == nil {
				continue
			}
			kind := q.limits.Kind(q.idle[q.order.Places[at].Run])
			if why := q.limits.Refuses(kind, true); why != "" {
				rt.Fatalf("match %+v: %s\n%s", m, why, portrait(p, cfg))
			}
			q.limits.Take(kind)
		}
	})
}

// The queue is kept: no job gets a slot while an earlier job in the queue could use that
// slot, is allowed to have it, and stays idle. If no job loses a slot, a slot allowed in
// the end was allowed all the time; only soft limits may have barred one job and not the
// other.
func TestQueueIsKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, cfg := lawPool(rt, t, false), lawConfig(rt, t)
		if p, cfg = maybeQueued(rt, t, p, cfg); cfg.Queue == nil {
			return
		}
		cfg.SkipClusters, cfg.RemoveSignificant = false, nil
		cfg.Preemption.Consider = rapid.Bool().Draw(rt, "consider preemption")
		plan := Cycle(p, cfg, now)
		q := queuedJobs(p, cfg, plan)
		c := rulesOf(cfg)
		_, inUse := c.look(p)
		usage := map[string]accountant.Weight{}
		for _, s := range plan.Submitters {
			usage[s.Name], _ = accountant.WeightOf(s.Usage)
		}
		lost, got := map[string]bool{}, map[pool.JobID]bool{}
		for _, m := range plan.Matches {
			inUse.Add(m.Limits)
			usage[m.Submitter] += m.Weight
			got[m.Job] = true
			if m.Preempts != nil {
				usage[m.Preempts.Submitter] -= m.Preempts.Weight
				lost[m.Preempts.Submitter] = true
			}
			if q.limits != nil {
				q.limits.Take(q.limits.Kind(q.idle[q.order.Places[q.place[m.Job]].Run]))
			}
		}
		for id, place := range q.place {
			run := q.idle[q.order.Places[place].Run]
			ceiling := accountant.Limit{}
			for _, r := range p.Submitters {
				if r.Name == run.Submitter {
					ceiling = r.Ceiling
				}
			}
			text, _ := run.Ad.EvalString(c.eval, "ConcurrencyLimits")
			_, blocked := inUse.Blocked(concurrency.Demands(text))
			if got[id] || blocked || ceiling.Set && lost[run.Submitter] || q.limits != nil && q.limits.Refuses(q.limits.Kind(run), false) != "" {
				continue
			}
			for _, m := range plan.Matches {
				roomy := !ceiling.Set || (usage[run.Submitter]+m.Weight).Float() <= float64(ceiling.Slots)+rounding
				behind := q.place[m.Job] > place && cfg.Params.Nice(run.Submitter) == cfg.Params.Nice(m.Submitter) || !cfg.Params.Nice(run.Submitter) && cfg.Params.Nice(m.Submitter)
				if behind && roomy && m.Preempts == nil && classad.Match(c.eval, run.Ad, slotOf(p, m.Slot, m.Piece)) {
					rt.Fatalf("%s of %s stays idle, but %s behind it has %s\n%s", id, run.Submitter, m.Job, m.Slot, portrait(p, cfg))
				}
			}
		}
	})
}

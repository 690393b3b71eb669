package sge

import (
	"math"
	"strings"

	"fairspool/lib/parallel"
)

// urgent is the urgency policy (Seed): how urgent each job is, and how urgent the least and
// the most urgent of all are.
type urgent struct {
	config *Config
	now    int64
	slots  float64 // the urgency of a slot
	// none says that urgencies enter no priority and are not shown, so that they are not
	// reckoned.
	none            bool
	pending, ran    []float64 // of each job
	least, greatest float64
}

// negligible is a difference of urgencies or an amount of tickets that counts as 0, and
// half what each job then has instead of its part.
const (
	negligible = 0.00001
	half       = 0.5
)

// urgencies reckons how urgent all jobs are.
func urgencies(c *Config, now int64, pending, running []Job) *urgent {
	u := &urgent{config: c, now: now, slots: c.slotUrgency()}
	if u.none = c.WeightUrgency == 0 && !c.ReportPending; u.none {
		return u
	}
	u.pending, u.ran = u.all(pending), u.all(running)
	u.least, u.greatest = math.Inf(1), 0 // with only negative ones the range ends at 0, as Grid Engine's
	for i, x := range u.pending {
		if pending[i].Count > 0 {
			u.least, u.greatest = min(u.least, x), max(u.greatest, x)
		}
	}
	for _, x := range u.ran {
		u.least, u.greatest = min(u.least, x), max(u.greatest, x)
	}
	if math.IsInf(u.least, 1) {
		u.least = 0
	}
	return u
}

// all returns the urgency of each job.
func (u *urgent) all(jobs []Job) []float64 {
	list := make([]float64, len(jobs))
	parallel.Parts(parallel.Bounds(len(jobs), manyJobs), func(_, from, to int) {
		for i := from; i < to; i++ {
			_, _, _, list[i] = u.of(&jobs[i])
		}
	})
	return list
}

// of returns the three contributions to a job's urgency, and their sum.
func (u *urgent) of(j *Job) (resources, waiting, deadline, urg float64) {
	resources = u.resources(j)
	waiting = cut(u.config.WeightWaitingTime * since(j.Submitted, u.now, 0))
	if j.Deadline != 0 {
		deadline = cut(u.config.WeightDeadline / since(u.now, j.Deadline, 1))
	}
	return resources, waiting, deadline, cut(resources + waiting + deadline)
}

// resources returns the resource requirement contribution: the slots', which each job asks
// for, and the requests'.
func (u *urgent) resources(j *Job) float64 {
	sum := slotsAdd(j, u.slots)
	for i := range j.Requests {
		sum += u.config.Contribution(j.Requests[i], j.Slots)
	}
	return cut(sum)
}

// slotsAdd returns the contribution of a job's slots to its urgency: each slot counts the
// processors that the job asks for there, at urgency each.
func slotsAdd(j *Job, urgency float64) float64 { return cut(j.CPUs * urgency * float64(j.Slots)) }

// Contribution returns the contribution of a request to the urgency of a job with so many
// assumed slots (Seed, hrr): the urgency of the complex times the amount and the slots, for
// types without amounts the urgency alone. A request for a missing complex adds nothing.
func (c *Config) Contribution(r Request, slots int64) float64 {
	if r.Complex < 0 || r.Complex >= len(c.Complexes) {
		return 0
	}
	x := &c.Complexes[r.Complex]
	if x.Type >= String {
		return cut(x.Urgency)
	}
	return cut(r.Amount * x.Urgency * float64(slots))
}

// slotUrgency returns the urgency of a slot.
func (c *Config) slotUrgency() float64 {
	for i := range c.Complexes {
		if strings.EqualFold(c.Complexes[i].Name, SlotsComplex) {
			return c.Complexes[i].Urgency
		}
	}
	return 0
}

// normal returns the place of a job's urgency between the least urgency of all jobs, 0, and
// the greatest, 1.
func (u *urgent) normal(urg float64) float64 {
	if u.none || u.greatest-u.least < negligible {
		return half
	}
	return (urg - u.least) / (u.greatest - u.least)
}

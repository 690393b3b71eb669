package negotiator

import (
	"slices"

	"fairspool/lib/classad"
)

// prefers reports whether the Rank of running slots prefers the jobs of k to the present one.
func (c *cycle) prefers(k *autocluster, t *tenants) bool {
	if k.preferred == nil {
		k.preferred = make(answers, c.kinds)
	}
	a := &k.preferred[t.alike]
	if *a == unknown {
		better := t.rankOf(c, k.ad) > t.current
		if c.cut() {
			return false
		}
		*a = no
		if better {
			*a = yes
		}
	}
	return *a == yes
}

// yields reports whether PREEMPTION_REQUIREMENTS is true and the slot's Rank of the job
// neither worse nor, which is another reason, better than of the present one.
func (c *cycle) yields(s *submitter, k *autocluster, t *tenants) answer {
	if c.fickle {
		return c.ask(s, k, t)
	}
	return c.answersOf(t.holder, k).of(c, s, k, t)
}

// answersOf returns what is known of how a holder's running slots yield to the jobs of k.
// Where that depends on what is in use, it is nothing yet, and holds for one submitter, now.
func (c *cycle) answersOf(holder *submitter, k *autocluster) answers {
	known := &k.yields
	if c.fickle {
		known = &c.fleeting
	}
	if *known == nil {
		*known = make(answers, c.kinds)
	}
	if c.fickle {
		for _, e := range holder.estates {
			for _, t := range e.tenants {
				(*known)[t.alike] = unknown
			}
		}
	}
	return *known
}

// answers are those of tenants, by what is alike of them.
type answers []answer

func (a answers) of(c *cycle, s *submitter, k *autocluster, t *tenants) answer {
	if a[t.alike] == unknown {
		is := c.ask(s, k, t)
		if c.cut() {
			return refused // others of whose jobs k is may have steps left
		}
		a[t.alike] = is
	}
	return a[t.alike]
}

// answer is whether a running slot would yield to a job, or prefers it, once that is known.
type answer uint8

const (
	unknown answer = iota
	no             // the slot's Rank says otherwise
	refused        // PREEMPTION_REQUIREMENTS is not true
	yes
)

// ask finds out what yields tells, with the numbers of this moment.
func (c *cycle) ask(s *submitter, k *autocluster, t *tenants) answer {
	switch rank := t.rankOf(c, k.ad); {
	case rank > t.current:
		return no
	case c.cfg.Preemption.Requirements == nil || !c.permits(s, k, t):
		return refused
	case !(rank >= t.current): // NaN is neither better nor as good
		return no
	}
	return yes
}

// presentRank returns what PREEMPTION_RANK makes of a running slot now.
func (c *cycle) presentRank(s *submitter, k *autocluster, t *tenants) float64 {
	slot, job := t.ad, k.ad
	if c.fickleRank {
		slot, job = c.atPresent(s, k, t)
	}
	return rankOr(&c.bill, c.cfg.Preemption.Rank, slot, job)
}

// permits reports whether PREEMPTION_REQUIREMENTS is true. What submitters and groups use
// changes in the course of a cycle.
func (c *cycle) permits(s *submitter, k *autocluster, t *tenants) bool {
	if !c.fickle {
		return c.cfg.Preemption.Requirements.Eval(&c.bill, t.ad, k.ad).True()
	}
	slot, job := c.atPresent(s, k, t)
	return c.cfg.Preemption.Requirements.Eval(&c.bill, slot, job).True()
}

// present is what a holder and a submitter use at a time, as ads that are chained to those
// of a slot and a job.
type present struct {
	moves             int
	holder, submitter *submitter
	slot, job         *classad.Ad
}

// atPresent returns the ads of a running slot and a job with what is in use now. They hold
// until it is called again.
func (c *cycle) atPresent(s *submitter, k *autocluster, t *tenants) (slot, job *classad.Ad) {
	p := &c.present
	if p.slot == nil || p.moves != c.moves {
		*p = present{moves: c.moves, slot: classad.New(), job: classad.New()}
	}
	if p.submitter != s {
		p.submitter = s
		p.job.SetReal("SubmitterUserResourcesInUse", c.counted(s))
		c.inUseOf(s, func(weight float64) { p.job.SetReal("SubmitterGroupResourcesInUse", weight) })
	}
	if p.holder != t.holder {
		p.holder = t.holder
		p.slot.SetReal("RemoteUserResourcesInUse", c.counted(t.holder))
		c.inUseOf(t.holder, func(weight float64) { p.slot.SetReal("RemoteGroupResourcesInUse", weight) })
	}
	return p.slot.Chain(t.ad), p.job.Chain(k.ad)
}

// fickleNames are attributes that change in the course of a cycle, in lower case.
var fickleNames = []string{"remoteuserresourcesinuse", "submitteruserresourcesinuse", "remotegroupresourcesinuse", "submittergroupresourcesinuse"}

func isFickle(s sides) bool {
	return slices.ContainsFunc(fickleNames, func(name string) bool { return s.slot.has(name) || s.job.has(name) })
}

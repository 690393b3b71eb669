package qstat

import (
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/health"
	"fairspool/lib/pool"
)

// warnOfPool warns on a terminal of what keeps jobs waiting, in a line below a display for people.
func warnOfPool(c *cmdline.Call) {
	for _, form := range [...]string{"j", "json", "xml", "long", "af", "history"} {
		if c.Has(form) {
			return
		}
	}
	if !c.Terminal() || c.Flush() != nil {
		return
	}
	s, err := c.Spool()
	if err != nil {
		return
	}
	found, err := health.In(c, s)
	if err != nil {
		return // it has been shown, or told of
	}
	found = slices.DeleteFunc(found, func(f health.Finding) bool { return !f.Stops })
	switch len(found) {
	case 0:
	case 1:
		c.Warn("warning: %s", found[0].Line())
	default:
		c.Warn("warning: %s; negotiate -health has more", found[0].Line())
	}
}

// amiss returns what is amiss in the pool, nothing where that cannot be told.
func (q queue) amiss() []health.Finding {
	facts, err := health.Gather(q.call, q.spool)
	if err != nil {
		return nil
	}
	found, err := health.Look(q.view, facts)
	if err != nil {
		return nil
	}
	return found
}

// stuck says what in the pool keeps the jobs from running, and what to do about it: jobs that wait
// for a slot, or for the starter of its machine.
func (d *sheet) stuck() (lines []string) {
	for _, f := range d.pool {
		switch {
		case !f.Stops:
		case d.state == "qw" && f.Severity == health.Critical,
			d.claim != nil && d.claim.State == pool.Matched && d.late(f):
			lines = append(lines, f.Line())
		}
	}
	return lines
}

// late reports whether a finding keeps a matched job from being started.
func (d *sheet) late(f health.Finding) bool {
	if len(f.Machines) == 0 {
		return f.Code != health.NoCycle && f.Code != health.NoSlots
	}
	return slices.Contains(f.Machines, d.claim.Machine)
}

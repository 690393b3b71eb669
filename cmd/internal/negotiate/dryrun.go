package negotiate

import (
	"errors"
	"fmt"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/machine"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// dry is what a cycle would do, and what it would do after changes.
type dry struct {
	number  int    // that the cycle would have
	world   *world // after the changes
	plan    *negotiator.Plan
	changes []change
	after   *negotiator.Plan // nil without changes
	asked   []pool.Procs     // that -explain asks about
}

// look computes the cycle as of now, and again after the changes of -what-if, and
// tells of it. It writes nothing.
func look(c *cmdline.Call) error {
	changes, err := readChanges(c)
	if err != nil {
		return err
	}
	job, err := askedFor(c)
	if err != nil {
		return err
	}
	if c.OwnJobsOnly() && (job == nil || len(changes) > 0) {
		return errors.New("shows what becomes of all users' jobs, and QUEUE_VISIBLE = \"own\": see your own with negotiate -explain JOB or qstat -start, or ask an administrator")
	}
	s, err := c.ExistingSpool(true)
	if err != nil {
		return err
	}
	last, err := lastCycle(c, s, "cycles count from 1 again")
	if err != nil {
		return err
	}
	d := dry{number: last.Cycle + 1, changes: changes}
	if job != nil {
		d.asked = job.procs()
	}
	domain := s.Domain()
	return s.View(func(v *spool.View) error {
		if job != nil && c.OwnJobsOnly() && !job.listed(v.Listed()) {
			return fmt.Errorf("%s: not in the queue", job.written)
		}
		if err := d.compute(c, v, domain); err != nil {
			return err
		}
		policyFirst(c, v, c.Now)
		notYetMade(c, v)
		if err := machine.ForeseeServing(c, s, v); err != nil {
			return err
		}
		switch {
		case job != nil:
			return job.tell(c, d)
		case len(changes) > 0:
			return tellDifference(c, d)
		}
		return tellDry(c, d)
	})
}

// compute runs the cycles, and gives their warnings, each once.
func (d *dry) compute(c *cmdline.Call, v *spool.View, domain string) error {
	beside := operation.BesideOf(c.Config)
	if len(d.changes) > 0 {
		beside = operation.Beside{Running: true, Held: true} // a change may make them count
	}
	seen := see(c, v, domain, c.Config.Params, beside)
	now := newWorld(c, v, seen, domain)
	d.world = now
	if len(d.changes) > 0 {
		d.world = newWorld(c, v, seen, domain)
		now.compared, d.world.compared = true, true
	}
	now.asked, d.world.asked = d.asked, d.asked
	for _, ch := range d.changes {
		if err := ch.apply(d.world); err != nil {
			return ofChange(ch.text, err)
		}
	}
	var err error
	if d.plan, err = now.cycle(); err != nil {
		return err
	}
	warnOfConfig(c)
	for _, w := range d.plan.Warnings {
		c.Warn("%s", w)
	}
	if len(d.changes) == 0 {
		return nil
	}
	if d.after, err = d.world.cycle(); err != nil {
		return err
	}
	known := slices.Concat(now.Config.Warnings, d.plan.Warnings)
	for _, w := range slices.Concat(d.world.Config.Warnings, d.after.Warnings) {
		if !slices.Contains(known, w) {
			c.Warn("after the changes: %s", w)
		}
	}
	return nil
}

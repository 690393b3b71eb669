package negotiate

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/machine"
	"fairspool/cmd/internal/whatif"
	"fairspool/lib/lifecycle"
	"fairspool/lib/matchmaking"
	"fairspool/lib/negotiator"
	"fairspool/lib/report/cycle"
	"fairspool/spool"
)

// inquiry is the input of a dry run.
type inquiry struct {
	*cmdline.Call
	options
	domain string
	number int // that the cycle would have
}

// dry is the outcome that a cycle would have.
type dry struct {
	*cmdline.Call // with the configuration that it goes by
	cycle.Outcome
}

// look computes the cycle as of now, and again after the changes of -what-if, and
// tells of it. It writes nothing.
func look(c *cmdline.Call, o options) error {
	if c.OwnJobsOnly() && (o.job == nil || len(o.changes) > 0) {
		return errors.New("shows all users' jobs, which QUEUE_VISIBLE = \"own\" hides: see your own with negotiate -explain JOB or qstat -start, or ask an administrator")
	}
	s, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	last, err := lastCycle(c, s, "cycles count from 1 again")
	if err != nil {
		return err
	}
	q := inquiry{c, o, s.Domain(), last.Cycle + 1}
	return s.View(func(v *spool.View) error {
		if o.job != nil && c.OwnJobsOnly() && !o.job.Listed(v.Listed()) {
			return fmt.Errorf("%s: not in the queue", o.job)
		}
		if len(q.changes) == 0 && o.job == nil {
			return q.foresee(v)
		}
		seen := matchmaking.See(v, matchmaking.Reader(q.domain, c.Config))
		warnOf(c, seen)
		if !seen.Misspelt(c.Config.Groups) {
			return q.answer(v, seen)
		}
		fork := v.Fork()
		if err := respell(c, fork, c.Config.Params); err != nil {
			return err
		}
		return fork.View(func(v *spool.View) error {
			return q.answer(v, matchmaking.See(v, matchmaking.Reader(q.domain, c.Config)))
		})
	})
}

// foresee computes the cycle as of now, and tells of it.
func (q inquiry) foresee(v *spool.View) error {
	var d dry
	var seen lifecycle.Snapshot
	reading := lifecycle.ReadingOf(v)
	if err := reading.Look(v, func(part *spool.View) (err error) {
		if seen = matchmaking.See(part, matchmaking.Reader(q.domain, q.Config)); seen.Misspelt(q.Config.Groups) {
			return nil
		}
		seen.Pool.Lacks = reading.Lacks
		if d, err = q.cycle(q.Call, part, seen); err == nil && !q.json && !q.quiet {
			err = d.Foreseen(io.Discard, d.Plan.Report(q.number, q.Now)) // which looks at slots, too
		}
		return err
	}); err != nil {
		return err
	}
	warnOf(q.Call, seen)
	if !seen.Misspelt(q.Config.Groups) {
		d.View = v
		return q.tell(d, d)
	}
	fork := v.Fork()
	if err := respell(q.Call, fork, q.Config.Params); err != nil {
		return err
	}
	return fork.View(func(v *spool.View) error {
		return q.answer(v, matchmaking.See(v, matchmaking.Reader(q.domain, q.Config)))
	})
}

// answer makes the changes, computes the cycles, and tells of them.
func (q inquiry) answer(v *spool.View, seen lifecycle.Snapshot) error {
	if len(q.changes) == 0 {
		d, err := q.cycle(q.Call, v, seen)
		if err != nil {
			return err
		}
		return q.tell(d, d)
	}
	w := whatif.NewWorld(q.Call, v.Fork())
	for _, ch := range q.changes {
		if err := w.Make(ch); err != nil {
			return ch.Of(err)
		}
	}
	now, err := q.cycle(q.Call, v, seen)
	if err != nil {
		return err
	}
	return w.Fork.View(func(v *spool.View) error {
		after, err := q.cycle(w.Call, v, matchmaking.See(v, matchmaking.Reader(q.domain, w.Call.Config)))
		if err != nil {
			return err
		}
		return q.tell(now, after)
	})
}

// cycle computes a cycle on a snapshot of a view, under the call's configuration.
func (q inquiry) cycle(c *cmdline.Call, v *spool.View, seen lifecycle.Snapshot) (dry, error) {
	cfg, err := lifecycle.CycleConfig(c.Config)
	if err != nil {
		return dry{}, err
	}
	if cfg.Standings = len(q.changes) > 0; q.job != nil {
		cfg.Explain = q.job.Procs()
	}
	return dry{c, cycle.Outcome{View: v, Pool: seen.Pool, Plan: matchmaking.Compute(v, seen, c.Config, cfg, c.Now), Now: q.Now,
		Reserve: c.Config.Cycle.Reserve.Time, Steps: c.Config.Cycle.Steps}}, nil
}

// tell tells of the cycle as of now and the one after the changes, which is the same without any. The
// warnings of both are given once.
func (q inquiry) tell(now, after dry) error {
	if !q.quiet {
		warnOfConfig(now.Call)
	}
	for _, w := range now.Plan.Warnings {
		q.Warn("%s", w)
	}
	known := slices.Concat(now.Config.Warnings, now.Plan.Warnings)
	for _, w := range slices.Concat(after.Config.Warnings, after.Plan.Warnings) {
		if !slices.Contains(known, w) {
			q.Warn("after the changes: %s", w)
		}
	}
	if !q.quiet {
		policyFirst(q.Call, now.View, q.Now)
		notYetMade(q.Call, now.View)
	}
	s, err := q.Spool()
	if err == nil {
		err = machine.ForeseeServing(q.Call, s, now.View)
	}
	switch {
	case err != nil:
		return err
	case q.job != nil:
		return q.explain(now, after)
	case len(q.changes) > 0:
		return q.compare(now.Plan, after.Plan)
	}
	report := now.Plan.Report(q.number, q.Now)
	switch {
	case q.json:
		_, err := cmdline.Lines{Of: report}.WriteTo(q.Data())
		return err
	case q.quiet:
		return nil
	}
	return now.Foreseen(q.Stdout, report)
}

// explain prints all about the jobs that are asked about.
func (q inquiry) explain(now, after dry) error {
	e, err := q.job.Explain(now.View, after.Outcome)
	switch {
	case err != nil:
		return err
	case q.json:
		return q.JSON(e)
	}
	e.Write(q.Stdout)
	return nil
}

// compare prints the differences that the changes make.
func (q inquiry) compare(plan, after *negotiator.Plan) error {
	d := cycle.Compare(plan, after)
	if q.json {
		return q.JSON(cycle.Comparison{Now: plan.Report(q.number, q.Now), WhatIf: after.Report(q.number, q.Now), Difference: d})
	}
	texts := make([]string, len(q.changes))
	for i, ch := range q.changes {
		texts[i] = ch.Text
	}
	return d.Write(q.Stdout, q.number, texts, plan, after)
}

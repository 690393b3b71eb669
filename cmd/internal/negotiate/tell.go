package negotiate

import (
	"errors"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/config"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/report"
	"fairspool/lib/report/cycle"
	"fairspool/spool"
)

// tell writes the cycle's report to the spool and prints it. Did is what was done before
// the cycle, last the last report. Began is the cycle's beginning by the machine's clock.
func tell(c *cmdline.Call, o options, s *spool.Spool, plan *negotiator.Plan, did report.Policy, last report.Head, began time.Time) error {
	all := report.Document{Report: plan.Report(last.Cycle+1, c.Now)}
	all.Add(time.Since(began), last.Cycles)
	err := s.View(func(v *spool.View) error {
		all.Asked, all.Missed = lifecycle.AskedPilotsOf(v), lifecycle.MissedPilotsOf(v)
		return nil
	})
	if err != nil {
		return err
	}
	if len(did.Words())+len(did.PutOff) > 0 {
		all.Policy = &did
	}
	text := cmdline.Lines{Of: all}
	unkept := s.SetReport(text)
	if unkept != nil {
		c.Warn("the cycle is done, but its report could not be left in cycle.json: %v", unkept)
	}
	for _, w := range plan.Warnings {
		if !o.quiet || !slices.Contains(last.Warnings, w) { // cron need not tell of it every minute
			c.Warn("%s", w)
		}
	}
	switch {
	case o.json && unkept != nil:
		_, err := text.WriteTo(c.Data())
		return err
	case o.json:
		kept, err := s.Report()
		if err == nil {
			_, err = c.Data().Write(kept)
		}
		return err
	case o.quiet:
		return nil
	}
	return cycle.Outcome{Plan: plan, Steps: c.Config.Cycle.Steps}.Done(c.Stdout, all)
}

// cycleJSON is cycle.json.
type cycleJSON struct {
	report.Document
	Checksum string
}

func outputs() []cmdline.Output {
	return []cmdline.Output{
		{Name: "negotiate", Value: cycleJSON{}}, {Name: "negotiate-dry-run", Value: negotiator.Report{}}, {Name: "negotiate-what-if", Value: cycle.Comparison{}},
		{Name: "negotiate-explain", Value: cycle.Explanation{}}, {Name: "negotiate-health", Value: state{}},
		{Name: "negotiate-check-config", Value: cmdline.List{Member: "Settings", Of: config.Line{}}},
	}
}

// lastCycle returns the head of the last report, zero if there is none. An unreadable
// report is a warning, which ends with but.
func lastCycle(c *cmdline.Call, s *spool.Spool, but string) (last report.Head, err error) {
	b, err := s.Report()
	var damage *spool.DamageError
	switch {
	case errors.Is(err, spool.ErrOutdated):
		c.Warn("%v: cycles count from 1 again", err)
		return last, nil
	case err != nil && !errors.As(err, &damage) || err == nil && b == nil:
		return last, err
	}
	if err == nil {
		last, err = report.HeadOf(b)
	}
	if err != nil {
		c.Warn("%v: %s", err, but)
		return report.Head{}, nil
	}
	return last, nil
}

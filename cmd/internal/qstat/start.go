package qstat

import (
	"cmp"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/trial"
	"fairspool/cmd/internal/waiting"
	"fairspool/lib/policy/maui"
	"fairspool/lib/policy/sge"
	"fairspool/lib/report/queue"
	"fairspool/spool"
)

// How much is played for a forecast at most: so many cycles, and for so long.
const (
	mostCycles = 1000
	mostPlayed = 30 * time.Second
)

func outputs() []cmdline.Output {
	return []cmdline.Output{
		{Name: "qstat", Value: cmdline.Ads{}}, {Name: "qstat-j", Value: cmdline.List{Member: "Jobs", Of: queue.Explained{}}},
		{Name: "qstat-start", Value: cmdline.List{Member: "Starts", Of: queue.Forecast{}}},
		{Name: "qstat-maui", Value: cmdline.List{Member: "Jobs", Of: maui.Prioritized{}}}, {Name: "qstat-sge", Value: cmdline.List{Member: "Jobs", Of: sge.Ranked{}}},
		{Name: "qstat-wait", Value: waiting.Summary{}},
	}
}

// forecast writes when the waiting jobs among some procs start at the latest.
func (d look) forecast(jobs []spool.Run) error {
	c := d.Call
	all := d.View.Everyone()
	began, progress := time.Now(), c.Progress("playing cycles")
	starts, err := trial.Forward(c, all, d.Domain, trial.Bounds{Cycles: mostCycles, Enough: func(n int) bool {
		progress.Count(n, "cycles")
		return time.Since(began) > mostPlayed
	}})
	progress.End()
	if err != nil {
		return err
	}
	list := forecasts(starts, d.Waits(jobs))
	if d.json {
		return c.JSON(struct{ Starts []queue.Forecast }{list})
	}
	return d.Forecasts(c.Stdout, d.list.Width, list)
}

// forecasts returns the starts of the jobs in waiting: the first first, those that are not
// known last.
func forecasts(starts []trial.Start, waiting trial.ByCluster) []queue.Forecast {
	list := []queue.Forecast{}
	for _, s := range starts {
		for _, w := range waiting[s.Cluster] {
			jobs, ok := s.Intersect(w)
			if !ok {
				continue
			}
			f := queue.Forecast{Jobs: jobs, Unknown: s.Unknown}
			if !s.At.IsZero() {
				f.Start = s.At.Unix()
			}
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b queue.Forecast) int {
		known := func(f queue.Forecast) int { return len(f.Unknown) }
		return cmp.Or(cmp.Compare(min(known(a), 1), min(known(b), 1)), cmp.Compare(a.Start, b.Start), a.Jobs.Compare(b.Jobs))
	})
	return list
}

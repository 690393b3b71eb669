package qstat

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/cmd/internal/trial"
	"fairspool/lib/clean"
	"fairspool/lib/pool"
)

// startFlag is that of the forecast.
var startFlag = cmdline.Flag{Name: "start", Help: "forecast when each waiting job starts at the latest, from the time limits of the jobs before it, if no jobs are submitted"}

// How much is played for a forecast at most: so many cycles, and for so long.
const (
	mostCycles = 1000
	mostPlayed = 30 * time.Second
)

// Forecast is what -start prints with -json of jobs that start at the same time.
type Forecast struct {
	Jobs    pool.Procs
	Start   int64  `json:",omitempty"` // Unix seconds
	Unknown string `json:",omitempty"` // why Start is not known
}

// forecast writes when the waiting jobs among some procs start at the latest.
func (q queue) forecast(procs []selection.Procs) error {
	c := q.call
	all := q.view.Everyone()
	began, progress := time.Now(), c.Progress("playing cycles")
	starts, err := trial.Forward(c, all, q.spool.Domain(), trial.Bounds{Cycles: mostCycles, Enough: func(n int) bool {
		progress.Count(n, "cycles")
		return time.Since(began) > mostPlayed
	}})
	progress.End()
	if err != nil {
		return err
	}
	list := forecasts(starts, q.waits(procs))
	if c.Has("json") {
		return c.JSON(list)
	}
	return q.tellForecast(c.Stdout, list)
}

// waits returns those of the jobs that wait, for a slot or for the end of other jobs.
func (q queue) waits(procs []selection.Procs) trial.ByCluster {
	waiting := trial.ByCluster{}
	r, claims := q.reader(), claimsOf(q.view.Claims())
	for _, s := range procs {
		for part, claim := range claims.parts(s) {
			for last := part.Last; part.First <= last; part.First, part.Last = part.Last+1, last {
				r.of(part)
				idle := pool.Status(r.int(statusName)) == pool.Idle && (claim == nil || claim.State == pool.Promised)
				if r.varies {
					part.Last = part.First
				}
				if idle {
					waiting[part.Cluster] = append(waiting[part.Cluster], part.Procs)
				}
			}
		}
	}
	for cluster, jobs := range waiting {
		waiting[cluster] = pool.JoinProcs(jobs)
	}
	return waiting
}

// forecasts returns the starts of the jobs in waiting: the first first, those that are not
// known last.
func forecasts(starts []trial.Start, waiting trial.ByCluster) []Forecast {
	list := []Forecast{}
	for _, s := range starts {
		for _, w := range waiting[s.Cluster] {
			jobs, ok := s.Intersect(w)
			if !ok {
				continue
			}
			f := Forecast{Jobs: jobs, Unknown: s.Unknown}
			if !s.At.IsZero() {
				f.Start = s.At.Unix()
			}
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b Forecast) int {
		known := func(f Forecast) int { return len(f.Unknown) }
		return cmp.Or(cmp.Compare(min(known(a), 1), min(known(b), 1)), cmp.Compare(a.Start, b.Start), a.Jobs.Compare(b.Jobs))
	})
	return list
}

// tellForecast writes a line for each forecast, and below what they go by.
func (q queue) tellForecast(w io.Writer, list []Forecast) error {
	if len(list) == 0 {
		_, err := io.WriteString(w, "No job waits.\n")
		return err
	}
	rows := make([][4]string, 0, len(list)+1)
	rows = append(rows, [4]string{"job", "start at the latest", "in", "why it is not known"})
	for _, f := range list {
		r := [4]string{f.Jobs.String(), "unknown", "", clean.Line(f.Unknown)}
		if f.Unknown == "" {
			at := unix(f.Start)
			r[1], r[2] = clock(at), string(appendBriefly(nil, at.Sub(q.call.Now)))
		}
		rows = append(rows, r)
	}
	widths := [4]int{}
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b []byte
	for _, r := range rows {
		start := len(b)
		for i, cell := range r[:3] {
			b = append(pad(append(b, cell...), widths[i]-len(cell)), "  "...)
		}
		line := string(append(b[start:], r[3]...))
		if width := lineOf(q.call)(); width > 0 {
			line, _ = within(line, width)
		}
		b = append(append(b[:start], strings.TrimRight(line, " ")...), '\n')
	}
	b = append(b, "If no jobs are submitted, and each ends when its time limit is reached.\n"...)
	_, err := w.Write(b)
	return err
}

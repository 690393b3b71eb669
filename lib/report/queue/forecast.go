package queue

import (
	"io"
	"strings"

	"fairspool/lib/pool"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// Forecast is what -start prints with -json of jobs that start at the same time.
type Forecast struct {
	Jobs    pool.Procs
	Start   int64  `json:",omitempty"` // Unix seconds
	Unknown string `json:",omitempty"` // why Start is not known
}

// Waits returns the jobs that wait, for a slot or for the end of other jobs, by cluster.
func (q *Queue) Waits(procs []spool.Run) map[int][]pool.Procs {
	waiting := map[int][]pool.Procs{}
	r, claims := q.reader(), claimsOf(q.View.Claims())
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

var forecastColumns = []table.Column{{Head: "job"}, {Head: "start at the latest"}, {Head: "in"}, {Head: "why it is not known"}}

// Forecasts writes a line for each forecast, cut to width unless that is 0, and below them their
// assumptions.
func (q *Queue) Forecasts(w io.Writer, width int, list []Forecast) error {
	if len(list) == 0 {
		_, err := io.WriteString(w, "No job waits.\n")
		return err
	}
	rows := make([][]string, 0, len(list))
	for _, f := range list {
		r := []string{f.Jobs.String(), "unknown", "", f.Unknown}
		if f.Unknown == "" {
			at := unix(f.Start)
			r[1], r[2] = Clock(at), string(appendBriefly(nil, at.Sub(q.Now)))
		}
		rows = append(rows, r)
	}
	var text strings.Builder
	if err := table.Write(&text, forecastColumns, rows); err != nil {
		return err
	}
	var b []byte
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSuffix(line, "\n")
		if width > 0 {
			line, _ = table.Cut(line, width)
		}
		b = append(append(b, strings.TrimRight(line, " ")...), '\n')
	}
	b = append(b, "If no jobs are submitted, and each ends when its time limit is reached.\n"...)
	_, err := w.Write(b)
	return err
}

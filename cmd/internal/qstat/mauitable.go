package qstat

import (
	"cmp"
	"fmt"
	"strconv"

	"fairspool/lib/clean"
	"fairspool/lib/maui"
	"fairspool/lib/pool"
)

// print writes what -pri shows of the queue: the jobs that are considered, as Maui's
// diagnose -p writes them, and below them those that are not, with the reason.
func (p *mauiRanking) print(d display, q queue, rows []*row) error {
	all := p.listings(q, rows, d.single)
	if q.call.Has("json") {
		return p.json(q, all)
	}
	t := table{columns: d.columns, w: q.call.Stdout}
	diagnosis := maui.NewDiagnosis(&q.call.Config.Maui)
	n := 0
	for ; n < len(all) && all[n].blocked == ""; n++ {
		if n == 0 {
			t.b = diagnosis.Head(t.b)
		}
		j, x := all[n].priority(p, q)
		if t.b = diagnosis.Job(t.b, all[n].String(), all[n].count(), j.System != 0, &x); len(t.b) >= full && t.flush() != nil {
			return t.err
		}
	}
	if n > 0 {
		t.b = diagnosis.Foot(t.b)
	} else {
		t.b = append(t.b, maui.NothingDiagnosed...)
		if len(all) > 0 {
			t.b = append(t.b, '\n')
		}
	}
	for i, l := range all[n:] {
		if i == 0 {
			t.b = fmt.Appendf(t.b, "blocked jobs\n\n%-20s %10s   %s\n\n", "Job", "PRIORITY", "Reason")
		}
		j, x := l.priority(p, q)
		star := " "
		if j.System != 0 {
			star = "*"
		}
		t.b = fmt.Appendf(t.b, "%-20s %10s%s  %s\n", l, strconv.FormatFloat(x.Raw, 'f', 0, 64), star, clean.Line(l.blocked))
		if len(t.b) >= full && t.flush() != nil {
			return t.err
		}
	}
	return t.flush()
}

// listing is jobs that share a line of -pri: procs that follow each other and are equal.
type listing struct {
	pool.Procs
	owner   string
	place   int    // the first's, 0: it has none
	blocked string // why they are not in the queue; empty: they are
}

func (l *listing) count() int { return l.Last - l.First + 1 }

// priority returns what the policy knows of the first of the jobs, and its priority.
func (l *listing) priority(p *mauiRanking, q queue) (*maui.Job, maui.Priority) {
	return p.priority(q, pool.JobID{Cluster: l.Cluster, Proc: l.First}, nil)
}

// listings returns the jobs among rows that wait for a slot, in the order of the queue, and
// behind them those that are not in it, held ones last. Single: none share a line.
func (p *mauiRanking) listings(q queue, rows []*row, single bool) (all []*listing) {
	for _, r := range rows {
		if r.claim != nil || r.state == "z" {
			continue
		}
		blocked := ""
		if r.place == 0 {
			blocked = cmp.Or(r.why, q.notQueued(r))
		}
		for i, s := range r.ranges {
			l := &listing{s, r.owner, r.place, blocked}
			for _, before := range r.ranges[:i] {
				l.place += before.Count()
			}
			if k := len(all) - 1; !single && k >= 0 && all[k].goesOn(p, q, l) {
				all[k].Last = l.Last
				continue
			}
			all = append(all, l)
		}
	}
	return all
}

// goesOn tells whether the next jobs follow, and are equal.
func (l *listing) goesOn(p *mauiRanking, q queue, next *listing) bool {
	if l.Cluster != next.Cluster || l.Last+1 != next.First || l.blocked != next.blocked {
		return false
	}
	j, x := l.priority(p, q)
	k, y := next.priority(p, q)
	return x == y && j.System == k.System
}

// notQueued says why jobs stand in no queue that the policy does not keep out of it.
func (q queue) notQueued(r *row) string {
	run, ok := q.view.Run(r.key.ID)
	if !ok {
		return ""
	}
	if status, _ := run.Ad.EvalInt(q.context(), pool.AttrJobStatus); pool.Status(status) != pool.Held {
		return "waits for the end of other jobs"
	}
	why, _ := run.Ad.EvalString(q.context(), pool.AttrHoldReason)
	return "held: " + cmp.Or(why, "no reason was given")
}

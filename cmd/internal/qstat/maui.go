package qstat

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/jobprio"
	"fairspool/lib/maui"
	"fairspool/lib/pool"
)

// mauiRanking is the queue of JOB_PRIORITY_POLICY "maui".
type mauiRanking struct {
	*maui.Queue
	context *classad.Context
	queued  []*maui.Queued // all that were listed
}

func (p *mauiRanking) list(w jobprio.Waiting) []listed {
	places, blocked := p.Listing(w)
	p.queued = append(places, blocked...)
	all := make([]listed, len(p.queued))
	for i, s := range p.queued {
		all[i] = listed{s.Procs, s.Why}
	}
	return all
}

// last: one line has one start priority.
func (p *mauiRanking) last(in *stretch) int { return in.Last }

func (p *mauiRanking) gathers() bool { return false }

func (p *mauiRanking) behind(a, b *row) int { return cmp.Compare(b.prior, a.prior) }

// fill notes the start priority. What has ended has none.
func (p *mauiRanking) fill(m *maker, r *row, in *stretch) {
	switch {
	case in != nil:
		r.prior = p.queued[in.number].Start
	case r.state == "z":
		r.prior = 0
	default:
		_, x := p.priority(m.from, r.key.ID, r.claim)
		r.prior = x.Start
	}
}

// priority returns what the policy knows of a job of the view, and its priority. One with a
// claim counts as when it was started: what it waits for since is over.
func (p *mauiRanking) priority(q queue, id pool.JobID, claim *pool.Claim) (*maui.Job, maui.Priority) {
	if s := q.hierarchy.at(id); s != nil {
		j := p.queued[s.number].Job
		return j, p.Reckoner().Of(j)
	}
	run, ok := q.view.Run(id)
	if !ok {
		return &maui.Job{ID: id}, maui.Priority{} // it is one of the view's
	}
	s := selection.Span{Procs: pool.Only(id), Run: run}
	j := maui.JobOf(p.context, runOf(s, q.submitter(run.Ad)))
	if claim != nil {
		j.Since += p.ran(claim)
	}
	return &j, p.Reckoner().Of(&j)
}

// ran returns for how many seconds a claim has had its slot.
func (p *mauiRanking) ran(claim *pool.Claim) int64 {
	return max(int64(p.context.Now.Sub(claim.RunsFrom())/time.Second), 0)
}

// running says what the priority of a job with a claim has become, where USAGE counts.
func (p *mauiRanking) running(j maui.Job, claim *pool.Claim) []string {
	j.Since -= p.ran(claim)
	x := p.Reckoner().RunPriority(&j, claim.RunsFrom().Unix())
	if x.Parts[maui.Usage].Adds() == 0 {
		return nil
	}
	return []string{fmt.Sprintf("run priority %d, with what USAGE adds by now; nothing goes by it", x.Start)}
}

// userKey is not what Maui calls the priority.
func (p *mauiRanking) userKey() string { return "user_priority" }

// sheet writes the priority as an equation.
func (p *mauiRanking) sheet(d *sheet) {
	if d.state == "z" {
		return
	}
	j, x := p.priority(d.queue, d.key.ID, d.claim)
	lines := p.Reckoner().Equation(j, &x)
	switch {
	case d.claim != nil:
		lines = append(lines, "as of its start, but for fair share")
		lines = append(lines, p.running(*j, d.claim)...)
	case d.why != "":
		lines = append(lines, "blocked: "+d.why)
	}
	d.line("priority", lines...)
}

// Prioritized is what -pri prints with -json, and -j besides, of Count equal jobs of one
// cluster, from ProcId on. Names are those of job ads where these have the same.
type Prioritized struct {
	ClusterID  int `json:"ClusterId"`
	ProcID     int `json:"ProcId"`
	Count      int
	Owner      string
	QOS        string // that they go by
	QOSRefused bool   `json:",omitempty"` // they asked for another one, to which they have no access
	// Place is that of the first in the queue of all jobs, from 1 on; absent for one that is
	// not in it. Blocked says why it is not.
	Place   int    `json:",omitempty"`
	Blocked string `json:",omitempty"`
	// StartPriority is that by which they stand there, Priority the same with its fraction,
	// and RawPriority the weighted sum, before its bounds and SystemPriority.
	StartPriority         int64
	Priority, RawPriority float64
	SystemPriority        int64   `json:",omitempty"`
	QueueTime             float64 // seconds
	// Components are by their short names, such as SERV: those with any Subs, also ATTR and
	// USAGE, which add nothing while a job waits.
	Components map[string]PriorityComponent
}

// PriorityTerm is a term of a sum: Weight times Factor, which is Value cut to Cap, comes to
// Contribution. Percent is how much of the absolute sum of all components it is; that of a
// component's terms disregards the component's cap.
type PriorityTerm struct {
	Weight, Cap                          int64 // Cap 0: none
	Value, Factor, Contribution, Percent float64
}

// PriorityComponent is a component with its terms, by the names of their weights without
// WEIGHT. Those that have neither a weight nor a value are left out.
type PriorityComponent struct {
	PriorityTerm
	Subs map[string]PriorityTerm
}

// json writes the numbers of all jobs.
func (p *mauiRanking) json(q queue, all []*listing) error {
	return jsonList(q.call, all, func(l *listing) any {
		j, x := l.priority(p, q)
		one := prioritized(j, &x)
		one.ProcID, one.Count = l.First, l.count()
		one.Place, one.Blocked = l.place, l.blocked
		return one
	})
}

// prioritized returns the numbers of one job.
func prioritized(j *maui.Job, p *maui.Priority) *Prioritized {
	x := &Prioritized{
		ClusterID: j.ID.Cluster, ProcID: j.ID.Proc, Count: 1, Owner: j.User, QOS: p.QOS, QOSRefused: p.Refused,
		StartPriority: p.Start, Priority: p.Value, RawPriority: p.Raw, SystemPriority: j.System, QueueTime: p.Waited,
		Components: map[string]PriorityComponent{},
	}
	components, subs := p.Percents()
	term := func(t maui.Part, percent float64) PriorityTerm {
		return PriorityTerm{t.Weight, t.Cap, t.Full, t.Factor, t.Adds(), percent}
	}
	for c := range maui.Components {
		one := PriorityComponent{term(p.Parts[c], components[c]), map[string]PriorityTerm{}}
		for s := range maui.Subs {
			if t := p.Subs[s]; s.Component() == c && (t.Weight != 0 || t.Full != 0) {
				one.Subs[s.String()] = term(t, subs[s])
			}
		}
		if len(one.Subs) > 0 {
			x.Components[c.String()] = one
		}
	}
	return x
}

// explain returns the numbers of a job.
func (p *mauiRanking) explain(q queue, id pool.JobID) (numbers, course any) {
	j, x := p.priority(q, id, q.claimOf(id))
	all := prioritized(j, &x)
	all.ProcID = id.Proc
	if s := q.hierarchy.at(id); s != nil {
		all.Place, all.Blocked = s.placeOf(id.Proc), s.why
	}
	return all, nil
}

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

// goesOn reports whether the next jobs follow, and are equal.
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

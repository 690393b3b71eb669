package maui

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/maui"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
)

// Display has the list of maui's diagnose -p, by -pri.
func (Policy) Display(*config.Config) policy.Display {
	return policy.Display{PriorityKey: "user_priority", Own: func(has func(string) bool) (string, []string) {
		if !has("pri") {
			return "", nil
		}
		return "-pri", []string{"j", "long", "af", "f", "xml", "r", "urg", "ext", "w"}
	}}
}

// Listing returns the queue with all that priorities come from.
func (Policy) Listing(c *config.Config, from policy.Sources) policy.Listing {
	return &listing{Queue: queueOf(c, from), config: Settings(c), context: &classad.Context{Now: from.Now}}
}

type listing struct {
	policy.CommonListing
	*maui.Queue
	config  *maui.Config
	context *classad.Context
	queued  []*maui.Queued // all that were listed
}

func (l *listing) List(w jobprio.Waiting) []policy.Listed {
	places, blocked := l.Listing(w)
	l.queued = append(places, blocked...)
	all := make([]policy.Listed, len(l.queued))
	for i, s := range l.queued {
		all[i] = policy.Listed{Part: s.Part, Why: s.Why}
	}
	return all
}

// Show: jobs have their start priority. Those that have ended have none.
func (l *listing) Show(j policy.Job, _ policy.Options) policy.Shown {
	var start int64
	switch {
	case j.Waits:
		start = l.queued[j.Number].Start
	case j.State != "z":
		_, x := l.priority(j)
		start = x.Start
	}
	return policy.Shown{Prior: start, Behind: -start}
}

// priority returns the policy's facts on a job, and its priority. A job with a claim counts as at
// its start, when its wait ended.
func (l *listing) priority(j policy.Job) (*maui.Job, maui.Priority) {
	if j.Waits {
		facts := l.queued[j.Number].Job
		return facts, l.Reckoner().Of(facts)
	}
	facts := maui.JobOf(l.context, j.Run())
	if j.Claim != nil {
		facts.Since += l.ran(j.Claim)
	}
	return &facts, l.Reckoner().Of(&facts)
}

// ran returns for how many seconds a claim has had its slot.
func (l *listing) ran(claim *pool.Claim) int64 {
	return max(int64(l.context.Now.Sub(claim.RunsFrom())/time.Second), 0)
}

// running explains the present priority of a job with a claim, if USAGE counts.
func (l *listing) running(facts maui.Job, claim *pool.Claim) []string {
	facts.Since -= l.ran(claim)
	x := l.Reckoner().RunPriority(&facts, claim.RunsFrom().Unix())
	if x.Parts[maui.Usage].Adds() == 0 {
		return nil
	}
	return []string{fmt.Sprintf("run priority %d, with what USAGE adds by now; nothing goes by it", x.Start)}
}

// Sheet has the priority as an equation.
func (l *listing) Sheet(j policy.Job, _ iter.Seq[policy.Job]) []policy.Line {
	if j.State == "z" {
		return nil
	}
	facts, x := l.priority(j)
	lines := l.Reckoner().Equation(facts, &x)
	switch {
	case j.Claim != nil:
		lines = append(lines, "as of its start, but for fair share")
		lines = append(lines, l.running(*facts, j.Claim)...)
	case j.Why != "":
		lines = append(lines, "blocked: "+j.Why)
	}
	return []policy.Line{{Key: "priority", Values: lines}}
}

// Prioritized is the JSON of -pri, and a part of that of -j, for Count equal jobs of one
// cluster, from ProcId on. Names are those of job ads if these have the same values.
type Prioritized struct {
	ClusterID  int `json:"ClusterId"`
	ProcID     int `json:"ProcId"`
	Count      int
	Owner      string
	QOS        string // that they go by
	QOSRefused bool   `json:",omitempty"` // they asked for another one, to which they have no access
	// Place is the first job's place in the queue of all jobs, from 1 on; absent for a job
	// that is not in it. Blocked says why it is not.
	Place   int    `json:",omitempty"`
	Blocked string `json:",omitempty"`
	// StartPriority is the priority that gives that place, Priority the same with its
	// fraction, and RawPriority the weighted sum, before its bounds and SystemPriority.
	StartPriority         int64
	Priority, RawPriority float64
	SystemPriority        int64   `json:",omitempty"`
	QueueTime             float64 // seconds
	// Components are by their short names, such as SERV: those with any Subs, also ATTR and
	// USAGE, which add nothing while a job waits.
	Components map[string]PriorityComponent
}

// PriorityTerm is a term of a sum. Weight times Factor is Contribution; Factor is Value cut
// to Cap. Percent is the term's part of the absolute sum of all components; for a
// component's terms it disregards the component's cap.
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

// Explain returns the numbers of a job.
func (l *listing) Explain(j policy.Job) (numbers, course any) {
	return l.object(j, 1), nil
}

// object returns the numbers of count equal jobs; j is the first.
func (l *listing) object(j policy.Job, count int) *Prioritized {
	facts, p := l.priority(j)
	x := prioritized(facts, &p)
	x.ProcID, x.Count, x.Place, x.Blocked = j.ID.Proc, count, j.Place, j.Why
	return x
}

// Own is what diagnose -p shows of the queue: the jobs that are considered, and below them those that
// are not, with the reason. Jobs that follow each other and are equal share a line.
func (l *listing) Own(rows []policy.Row, single bool) policy.OwnForm {
	var all []policy.Row
	for _, r := range rows {
		if r.Claim != nil || r.State == "z" {
			continue
		}
		if k := len(all) - 1; !single && k >= 0 && l.goesOn(&all[k], &r) {
			all[k].Jobs.Last = r.Jobs.Last
			continue
		}
		all = append(all, r)
	}
	return policy.OwnForm{
		Count:  len(all),
		Object: func(i int) any { return l.object(all[i].Job, all[i].Jobs.Count()) },
		Print:  func(w io.Writer) error { return l.print(w, all) },
	}
}

// goesOn reports whether the next jobs follow, and are equal.
func (l *listing) goesOn(before, next *policy.Row) bool {
	if before.Jobs.Cluster != next.Jobs.Cluster || before.Jobs.Last+1 != next.Jobs.First || before.Why != next.Why {
		return false
	}
	j, x := l.priority(before.Job)
	k, y := l.priority(next.Job)
	return x == y && j.System == k.System
}

func (l *listing) print(to io.Writer, all []policy.Row) error {
	w := bufio.NewWriterSize(to, 64<<10)
	var b []byte
	diagnosis := maui.NewDiagnosis(l.config)
	n := 0
	for ; n < len(all) && all[n].Why == ""; n++ {
		if n == 0 {
			b = diagnosis.Head(b)
		}
		j, x := l.priority(all[n].Job)
		b = diagnosis.Job(b, all[n].Jobs.String(), all[n].Jobs.Count(), j.System != 0, &x)
		w.Write(b) // Flush returns the error
		b = b[:0]
	}
	if n > 0 {
		b = diagnosis.Foot(b)
	} else {
		b = append(b, maui.NothingDiagnosed...)
		if len(all) > 0 {
			b = append(b, '\n')
		}
	}
	for i, r := range all[n:] {
		if i == 0 {
			b = fmt.Appendf(b, "blocked jobs\n\n%-20s %10s   %s\n\n", "Job", "PRIORITY", "Reason")
		}
		j, x := l.priority(r.Job)
		star := " "
		if j.System != 0 {
			star = "*"
		}
		b = fmt.Appendf(b, "%-20s %10s%s  %s\n", r.Jobs, strconv.FormatFloat(x.Raw, 'f', 0, 64), star, clean.Line(r.Why))
		w.Write(b)
		b = b[:0]
	}
	w.Write(b)
	return w.Flush()
}

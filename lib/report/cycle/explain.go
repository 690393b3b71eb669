package cycle

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/spool"
)

// Asked is a cluster or a job that -explain asks about.
type Asked struct {
	written string
	id      pool.JobID
	whole   bool // all of the cluster
}

// ParseAsked reads a cluster or a job, such as 12 or 12.0.
func ParseAsked(word string) (x *Asked, err error) {
	x = &Asked{written: word}
	if x.id, x.whole, err = ReadJob(word); err != nil {
		return nil, err
	}
	return x, nil
}

// ReadJob reads a cluster or a job; the proc of a cluster is -1.
func ReadJob(word string) (id pool.JobID, whole bool, err error) {
	if cluster, err := pool.ParseCluster(word); err == nil {
		return pool.JobID{Cluster: cluster, Proc: -1}, true, nil
	}
	if id, err = pool.ParseJobID(word); err != nil {
		err = fmt.Errorf("%q: want a cluster or a job like 12.0", word)
	}
	return id, false, err
}

// String returns the cluster or job as it was written.
func (x *Asked) String() string { return x.written }

// Explanation is what -explain prints with -json.
type Explanation struct {
	Job string // the cluster or job, as it was written
	// States are the jobs' present states, without idle jobs that have no claim. Matches
	// and Rejections are the cycle's decisions on the latter; Idle are those without a
	// decision.
	States     []State
	Matches    []negotiator.ReportedMatch
	Rejections []Refusal
	Idle       []pool.Procs
	// Analyses are the analyses of jobs that would be matched.
	Analyses []Chosen
	// Reservations are the reservations that would be made for the jobs, or go on or end.
	Reservations []negotiator.ReportedReservation `json:",omitempty"`
	// Submitters are the submitters of these jobs.
	Submitters []Standing

	leaves []string // by match: which job has to leave, and why
}

// State is a state of jobs that take no part in the cycle.
type State struct {
	Jobs  []pool.Procs
	State string // of a job, or of its claim
	// Slot is the claim's slot, Since its Unix time, and Reason why a job is held, what
	// it waits for, or why it has to leave its slot.
	Slot   string `json:",omitempty"`
	Since  int64  `json:",omitempty"`
	Reason string `json:",omitempty"`
	// For is the job that a running one would have to go for, Rule why.
	For  string `json:",omitempty"`
	Rule string `json:",omitempty"`

	leaves string // the same for people
}

// leaving returns the matches that running jobs would have to go for, by these jobs.
func leaving(plan *negotiator.Plan) map[pool.JobID]negotiator.Match {
	by := map[pool.JobID]negotiator.Match{}
	for _, m := range plan.Matches {
		if m.Preempts != nil {
			by[m.Preempts.Job] = m
		}
	}
	return by
}

// Refusal is why jobs are not matched.
type Refusal struct {
	Jobs      []pool.Procs
	Submitter string
	Cause     negotiator.Cause
	Also      []negotiator.Cause `json:",omitempty"`
	Reason    string
	// Groups are the groups with quotas that leave no room.
	Groups []negotiator.FullGroup `json:",omitempty"`
	// Place and Priority are the rejected job's in the one queue of all.
	Place    int      `json:",omitempty"`
	Priority *float64 `json:",omitempty"`
	// Help is what would let the first of them run.
	Help string
	// Analysis is how far the slots of the pool are from taking one of them.
	Analysis *negotiator.Analysis `json:",omitempty"`

	standing string // in the queue
}

// Chosen is jobs of one autocluster that would be matched, and how the slots of the
// pool stand to them.
type Chosen struct {
	Jobs     []pool.Procs
	Analysis *negotiator.Analysis
	refused  bool // others of the autocluster are not, and it is printed with these
}

// Standing is a submitter's place in the order of negotiation, among Of submitters, and
// the cycle's result for it.
type Standing struct {
	Name      string
	Place, Of int // from 1; 0 under a Policy
	// Policy is the policy that puts the jobs of all submitters into one queue.
	Policy string `json:",omitempty"`
	Figures
}

// has reports whether a job is asked about.
func (x *Asked) has(id pool.JobID) bool {
	return id == x.id || x.whole && id.Cluster == x.id.Cluster
}

// within returns the procs of list that are asked about.
func (x *Asked) within(list []pool.Procs) []pool.Procs {
	var some []pool.Procs
	for _, p := range list {
		switch {
		case x.whole && p.Cluster == x.id.Cluster:
			some = append(some, p)
		case !x.whole && p.Has(x.id):
			some = append(some, pool.Only(x.id))
		}
	}
	return some
}

// Explain gathers what there is to say of the jobs after a cycle, before which changes of a view may have
// been made. Jobs that are not there are an error.
func (x *Asked) Explain(before *spool.View, d Outcome) (Explanation, error) {
	plan, e := d.Plan, Explanation{
		Job: x.written, States: []State{}, Matches: []negotiator.ReportedMatch{}, Rejections: []Refusal{},
		Idle: []pool.Procs{}, Analyses: []Chosen{}, Submitters: []Standing{},
	}
	waiting := e.states(x, d)
	eups := eupsOf(plan)
	whose := map[string]bool{}
	var settled []pool.Procs
	for _, m := range byJob(plan.Matches) {
		if x.has(m.Job) {
			e.Matches = append(e.Matches, reported(m, plan.Policy))
			e.leaves = append(e.leaves, "")
			if m.Preempts != nil {
				e.leaves[len(e.leaves)-1] = sentence(m, eups)
			}
			settled = append(settled, pool.Only(m.Job))
			whose[m.Submitter] = true
		}
	}
	matched, refused := len(settled), map[int]bool{}
	for _, r := range plan.Rejections {
		if jobs := x.within(r.Jobs); len(jobs) > 0 {
			e.Rejections = append(e.Rejections, refusal(jobs, r, plan))
			settled = append(settled, jobs...)
			whose[r.Submitter] = true
			refused[r.Autocluster] = true
		}
	}
	e.Analyses = chosen(plan, settled[:matched], refused)
	for _, r := range plan.Reservations {
		if x.has(r.Job) {
			e.Reservations = append(e.Reservations, r.Report())
		}
	}
	e.Idle = append(e.Idle, without(waiting, settled)...)
	for i, s := range plan.Submitters {
		if whose[s.Name] {
			at := Standing{Name: s.Name, Place: i + 1, Of: len(plan.Submitters), Figures: figuresOf(s)}
			if plan.Policy != "" {
				at.Place, at.Of, at.Policy = 0, 0, plan.Policy
			}
			e.Submitters = append(e.Submitters, at)
		}
	}
	if len(e.States)+len(waiting) > 0 {
		return e, nil
	}
	if cluster, ok := before.Cluster(x.id.Cluster); ok && before != d.View {
		var gone []pool.Procs
		for _, run := range cluster.Runs {
			gone = append(gone, x.within([]pool.Procs{run.Procs})...)
		}
		if len(gone) > 0 {
			e.States = append(e.States, State{Jobs: pool.JoinProcs(gone), State: pool.Removed.String()})
			return e, nil
		}
	}
	return e, absent(d.View, x)
}

// states notes what jobs are that take no part in the cycle, and returns those that do.
func (e *Explanation) states(x *Asked, d Outcome) []pool.Procs {
	plan := d.Plan
	var waiting []pool.Procs
	for _, j := range d.Pool.Jobs {
		waiting = append(waiting, x.within([]pool.Procs{j.Procs})...)
	}
	var held []pool.Procs
	leaves, eups := leaving(plan), eupsOf(plan)
	for _, cl := range d.Pool.Claims {
		if !x.has(cl.Job) || slices.ContainsFunc(plan.GiveUp, func(g pool.Claim) bool { return g.Job == cl.Job }) {
			continue
		}
		since := cl.MatchedAt
		switch cl.State {
		case pool.RunningClaim:
			since = cl.StartedAt
		case pool.Vacating:
			since = cl.VacateSince
		}
		held = append(held, pool.Only(cl.Job))
		s := State{Jobs: held[len(held)-1:], State: cl.State.String(), Slot: cl.Slot, Since: since.Unix()}
		if m, ok := leaves[cl.Job]; ok && cl.State == pool.RunningClaim {
			s.For, s.Rule = m.Job.String(), m.Reason
			s.leaves = fmt.Sprintf(" It would have to leave for %v of %s: %s", m.Job, m.Submitter, because(m, eups))
		}
		if cl.State == pool.Vacating && cl.VacateReason != "" {
			s.Reason, s.leaves = cl.VacateReason, ": "+cl.VacateReason
		}
		e.States = append(e.States, s)
	}
	if cluster, ok := d.View.Cluster(x.id.Cluster); ok {
		for _, run := range cluster.Runs {
			status, _ := run.Ad.EvalInt(&classad.Context{Now: d.Now}, pool.AttrJobStatus)
			jobs := without(x.within([]pool.Procs{run.Procs}), held)
			why := ""
			switch pool.Status(status) {
			case pool.Held:
				why, _ = run.Ad.EvalString(&classad.Context{Now: d.Now}, pool.AttrHoldReason)
			case pool.Idle:
				why = lifecycle.WaitsFor(d.View, cluster.ID, run.Ad)
			}
			if len(jobs) == 0 || pool.Status(status) == pool.Idle && why == "" {
				continue
			}
			e.States = append(e.States, State{Jobs: jobs, State: pool.Status(status).String(), Reason: why})
		}
	}
	return without(waiting, held)
}

// without returns list less other, ascending.
func without(list, other []pool.Procs) []pool.Procs {
	var rest []pool.Procs
	overlay(plain(list), plain(other), func(p pool.Procs, in, on *stretch) {
		if in != nil && on == nil {
			rest = append(rest, p)
		}
	})
	return rest
}

// plain returns procs as stretches without reasons.
func plain(list []pool.Procs) []stretch {
	var all []stretch
	for _, p := range pool.JoinProcs(list) {
		all = append(all, stretch{Procs: p})
	}
	return all
}

// Procs returns the jobs that are asked about.
func (x *Asked) Procs() []pool.Procs {
	if x.whole {
		return []pool.Procs{{Cluster: x.id.Cluster, First: 0, Last: math.MaxInt}}
	}
	return []pool.Procs{pool.Only(x.id)}
}

// Listed reports whether the queue of a view has one of the jobs.
func (x *Asked) Listed(v *spool.View) bool {
	if !x.whole {
		_, ok := v.Run(x.id)
		return ok
	}
	_, ok := v.Cluster(x.id.Cluster)
	_, late := v.Factory(x.id.Cluster)
	return ok || late
}

// chosen returns the analyses of jobs that would be matched, by autocluster; refused
// are the autoclusters of the jobs that would not.
func chosen(plan *negotiator.Plan, matched []pool.Procs, refused map[int]bool) []Chosen {
	byJob := slices.SortedFunc(slices.Values(plan.Explained), func(a, b negotiator.Explained) int { return a.Jobs.Compare(b.Jobs) })
	of := map[int]*Chosen{}
	for _, m := range matched {
		i, found := slices.BinarySearchFunc(byJob, m, func(x negotiator.Explained, m pool.Procs) int { return x.Jobs.Compare(m) })
		if !found {
			i--
		}
		if i < 0 {
			continue
		}
		k := byJob[i].Autocluster
		if of[k] == nil {
			of[k] = &Chosen{Analysis: &plan.Autoclusters[k], refused: refused[k]}
		}
		of[k].Jobs = append(of[k].Jobs, m)
	}
	list := []Chosen{}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		of[k].Jobs = pool.JoinProcs(of[k].Jobs)
		list = append(list, *of[k])
	}
	return list
}

// explain prints which slots would do, and their holders.
func (x Chosen) explain(w io.Writer) {
	if x.refused {
		return
	}
	fmt.Fprintf(w, "The slots as %s would leave them:\n", procsText(x.Jobs))
	a := *x.Analysis
	a.Nearest = nil // the jobs have a slot
	for _, l := range a.Lines() {
		fmt.Fprintln(w, "  "+l)
	}
}

// refusal returns why some of the jobs of a rejection are not matched.
func refusal(jobs []pool.Procs, r negotiator.Rejection, plan *negotiator.Plan) Refusal {
	a := plan.Autoclusters[r.Autocluster]
	x := (&negotiator.Plan{Policy: plan.Policy, Rejections: []negotiator.Rejection{r}}).Report(0, epoch).Rejections[0]
	return Refusal{Jobs: jobs, Submitter: r.Submitter, Cause: r.Cause, Also: r.Also, Reason: r.Reason, Groups: r.Groups,
		Place: x.Place, Priority: x.Priority, Help: x.Help(a), Analysis: &a, standing: x.Standing()}
}

// explain prints how far the slots of the pool are from taking a job, and what would
// help.
func (r Refusal) explain(w io.Writer) {
	if r.standing != "" {
		fmt.Fprintln(w, "  "+r.standing)
	}
	for _, l := range r.Analysis.Lines() {
		fmt.Fprintln(w, "  "+l)
	}
	fmt.Fprintf(w, "What would help: %s.\n", r.Help)
}

// Write writes the explanation for people.
func (e Explanation) Write(w io.Writer) {
	var lines []string
	for _, s := range e.States {
		lines = append(lines, s.words())
	}
	for i, m := range e.Matches {
		by := ""
		if m.Priority != nil {
			by = fmt.Sprintf(", by its priority of %s (higher goes first)", priority(m.Priority))
		}
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s would be matched with %s%s. %s", m.Job, m.Slot, by, e.leaves[i]), " "))
	}
	for _, l := range lines[:min(len(lines), mostLines)] {
		fmt.Fprintln(w, l)
	}
	if n := len(lines) - mostLines; n > 0 {
		fmt.Fprintf(w, "And so for %d more: see -json.\n", n)
	}
	for _, x := range e.Analyses {
		x.explain(w)
	}
	for _, r := range e.Rejections {
		fmt.Fprintf(w, "%s would not be matched: %s.\n", procsText(r.Jobs), r.Reason)
		if r.Analysis != nil {
			r.explain(w)
		}
	}
	for _, r := range e.Reservations {
		fmt.Fprintln(w, r.Line()+".")
	}
	if len(e.Idle) > 0 {
		fmt.Fprintf(w, "%s would not be looked at.\n", procsText(e.Idle))
	}
	for _, s := range e.Submitters {
		fmt.Fprintln(w, s.words())
	}
}

// words says what jobs are.
func (s State) words() string {
	jobs := procsText(s.Jobs)
	switch s.State {
	case "Matched":
		return fmt.Sprintf("%s is matched with %s since %s, and waits for a starter there.", jobs, s.Slot, report.Moment(time.Unix(s.Since, 0)))
	case "Running":
		return fmt.Sprintf("%s runs on %s since %s.%s", jobs, s.Slot, report.Moment(time.Unix(s.Since, 0)), s.leaves)
	case "Promised":
		return fmt.Sprintf("%s is promised %s since %s, and waits until its holder has left.", jobs, s.Slot, report.Moment(time.Unix(s.Since, 0)))
	case "Vacating":
		return fmt.Sprintf("%s is vacating %s since %s%s.", jobs, s.Slot, report.Moment(time.Unix(s.Since, 0)), s.leaves)
	}
	if s.Reason != "" {
		return fmt.Sprintf("%s: %s: %s", jobs, s.State, s.Reason)
	}
	return fmt.Sprintf("%s: %s.", jobs, s.State)
}

// words says where a submitter stands.
func (s Standing) words() string {
	if s.Policy != "" {
		return fmt.Sprintf("The policy %s has one queue for the jobs of all submitters: %d of %d idle %s of %s matched.",
			s.Policy, s.Matched, s.Idle, plural.Noun(s.Idle, "job"), s.Name)
	}
	ahead := "no submitter is"
	if s.Place > 1 {
		ahead = plural.Pick(s.Place-1, "1 submitter is", "%d submitters are")
	}
	return fmt.Sprintf("Of %d %s, %s ahead of %s, whose EUP is %.2f (lower is better): pie slice %.2f, limit %.2f, %d of %d idle %s matched.",
		s.Of, plural.Noun(s.Of, "submitter"), ahead, s.Name, s.EffectivePriority, s.PieSlice, s.Limit, s.Matched, s.Idle, plural.Noun(s.Idle, "job"))
}

// absent is the error about a cluster or a job that is not in the queue, which may
// be one that is still to come.
func absent(v *spool.View, x *Asked) error {
	f, ok := v.Factory(x.id.Cluster)
	if !ok || !x.whole && (x.id.Proc < f.Next || x.id.Proc >= f.Jobs) {
		return fmt.Errorf("%s: not in the queue", x.written)
	}
	name := f.Coming().String()
	if why, held := lifecycle.HeldBack(f); held {
		return fmt.Errorf("%s: not in the queue: %s %s held back: %s", x.written, name, plural.Pick(f.Jobs-f.Next, "is", "are"), why)
	}
	if f.Paused != "" {
		return fmt.Errorf("%s: not in the queue, as %s cannot be made: %s", x.written, name, f.Paused)
	}
	return fmt.Errorf("%s: not in the queue yet: %s %s still to come", x.written, name, plural.Pick(f.Jobs-f.Next, "is", "are"))
}

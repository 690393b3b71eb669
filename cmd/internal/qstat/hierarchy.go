package qstat

import (
	"cmp"
	"slices"
	"sort"

	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/maui"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/spool"
)

// hierarchy is the one queue of all jobs, where JOB_PRIORITY_POLICY makes one: where each
// waiting job stands in it, and what its priority comes from. Many goroutines may ask it.
type hierarchy struct {
	ranking
	barring   operation.Barring // jobs that have no place
	stretches []stretch         // of idle jobs, ascending
}

// ranking is what displays ask of the policy itself. Each has its own columns besides.
type ranking interface {
	// Attributes are the names of the attributes of jobs that it is made from.
	Attributes() []string
	// list takes all jobs, and puts those that wait in order: the first to be served first,
	// and behind them those that it leaves out. It is called once, before all that follows.
	list(w jobprio.Waiting) []listed
	// last returns the last of the procs that may share a row with the first of a stretch.
	last(in *stretch) int
	// fill notes in a row what the policy's columns show of its first job, which stands in
	// this stretch; nil for one that does not wait.
	fill(m *maker, r *row, in *stretch)
	// gathers reports whether jobs that look alike share a line wherever they stand in the
	// queue, not only as neighbours.
	gathers() bool
	// behind puts jobs that have no place in the queue into an order.
	behind(a, b *row) int
	// print writes the policy's own form of what is shown of rows.
	print(d display, q queue, rows []*row) error
	// userKey is what the priority that users give stands under in a sheet.
	userKey() string
	// sheet writes a sheet's lines of what the jobs' priority comes from.
	sheet(d *sheet)
	// explain returns the numbers of a job for JSON, and what they come from if that is more.
	explain(q queue, id pool.JobID) (numbers, course any)
}

// listed is procs that follow each other in the queue.
type listed struct {
	jobprio.Procs        // of Waiting.Idle
	why           string // the policy leaves them out; empty: it does not
}

// hierarchyOf returns the queue, without jobs so far; nil where the policy has none.
func hierarchyOf(q queue) (*hierarchy, error) {
	barring, err := operation.BarringOf(q.call.Config)
	if err != nil {
		return nil, err
	}
	switch policy := operation.Queue(q.call.Config, operation.SourcesOf(q.view, q.call.Reading())).(type) {
	case *maui.Queue:
		return &hierarchy{ranking: &mauiRanking{Queue: policy, context: q.context()}, barring: barring}, nil
	case *sge.Queue:
		return &hierarchy{ranking: &sgeRanking{Queue: policy, config: &q.call.Config.SGE}, barring: barring}, nil
	}
	return nil, nil
}

// stretch is procs that follow each other in the queue, or are left out of it together.
type stretch struct {
	pool.Procs
	number int    // in the policy's list
	place  int    // the first's: how many jobs stand before it, and one; 0: they are left out
	why    string // they are left out
}

// before reports whether the procs are all before a job.
func (s *stretch) before(id pool.JobID) bool {
	return s.Cluster < id.Cluster || s.Cluster == id.Cluster && s.Last < id.Proc
}

// reads returns the attributes of jobs that the queue is made from; ok is false where these
// may be any.
func (h *hierarchy) reads() (names []string, ok bool) {
	if h == nil {
		return nil, true
	}
	names, ok = h.barring.Reads()
	return slices.Concat(names, h.Attributes(), wordsOf(groupName)), ok
}

// rank makes the queue, of all jobs, whichever are shown.
func (h *hierarchy) rank(q queue) {
	if h == nil {
		return
	}
	c, v := q.call, q.view
	if names, ok := h.reads(); ok && q.whole == nil {
		v = v.Only(append(names, totalsNames...))
	}
	b := besides{reader: q.reader(), domain: q.spool.Domain(), groups: c.Config.Groups, barring: h.barring}
	for _, name := range h.Attributes() {
		b.names = append(b.names, classad.NewName(name))
	}
	w := b.waiting(v)
	h.take(w, c.Config.Params.Nice)
}

// take puts jobs in order. Nice users go behind all others, as in a cycle.
func (h *hierarchy) take(w jobprio.Waiting, nice func(submitter string) bool) {
	all := h.list(w)
	h.stretches = make([]stretch, 0, len(all))
	before := 0
	for _, last := range [...]bool{false, true} {
		for i, p := range all {
			if p.why == "" && nice(w.Idle[p.Run].Submitter) == last {
				h.add(w.Idle, p, i, before+1)
				before += p.Count
			}
		}
	}
	for i, p := range all {
		if p.why != "" {
			h.add(w.Idle, p, i, 0)
		}
	}
	slices.SortFunc(h.stretches, func(a, b stretch) int { return a.Compare(b.Procs) })
}

func (h *hierarchy) add(idle []jobprio.Run, p listed, number, place int) {
	run := idle[p.Run].FirstJob()
	first := run.Proc + p.From
	procs := pool.Procs{Cluster: run.Cluster, First: first, Last: first + p.Count - 1}
	h.stretches = append(h.stretches, stretch{procs, number, place, p.why})
}

// at returns the stretch that a job stands in, nil for a job that does not wait.
func (h *hierarchy) at(id pool.JobID) *stretch {
	if s := h.from(id); s != nil && s.Has(id) {
		return s
	}
	return nil
}

// from returns the stretch that a job stands in, else the next one by ID; nil for none.
func (h *hierarchy) from(id pool.JobID) *stretch {
	if h == nil {
		return nil
	}
	i := sort.Search(len(h.stretches), func(i int) bool { return !h.stretches[i].before(id) })
	if i == len(h.stretches) {
		return nil
	}
	return &h.stretches[i]
}

// span returns the stretch that the first of some procs without a claim stands in, nil for
// none, and the last of them that may share its row.
func (h *hierarchy) span(s selection.Span) (in *stretch, last int) {
	id := s.FirstJob()
	switch in = h.from(id); {
	case in == nil || in.Cluster != s.Cluster:
		return nil, s.Last
	case in.Has(id):
		return in, min(h.last(in), s.Last)
	}
	return nil, min(in.First-1, s.Last)
}

// placeOf returns where a job of the stretch stands in the queue, from 1 on; 0 for one that
// is left out of it.
func (s *stretch) placeOf(proc int) int {
	if s == nil || s.place == 0 {
		return 0
	}
	return s.place + proc - s.First
}

// compare puts jobs into the order of the queue; those that have no place there go behind.
func (h *hierarchy) compare(a, b *row) int {
	switch {
	case a.place != 0 && b.place != 0:
		return cmp.Compare(a.place, b.place)
	case a.place != 0:
		return -1
	case b.place != 0:
		return 1
	}
	return cmp.Or(h.behind(a, b), a.key.ID.Compare(b.key.ID))
}

// runOf returns some procs of a run, as the policy sees them.
func runOf(s selection.Span, submitter string) jobprio.Run {
	return jobprio.Run{
		Procs:     s.Procs,
		Submitter: submitter,
		Ad:        s.Run.Proc(s.First),
	}
}

// besides reads from a view what a queue is made of.
type besides struct {
	*reader
	domain string
	groups *accountant.Groups
	names  []*classad.Name // what the order comes from

	barring operation.Barring
}

// waiting returns the jobs of a view that wait, and those with a claim, both ascending.
func (b *besides) waiting(v *spool.View) (w jobprio.Waiting) {
	list := claimsOf(v.Claims())
	for _, cluster := range v.Clusters() {
		for _, run := range cluster.Runs {
			s := selection.Span{Procs: run.Procs, Run: run}
			for part, claim := range list.parts(s) {
				b.add(&w, part, claim)
			}
		}
	}
	return w
}

// add adds procs of a run. Where something that decides is an expression, each stands alone.
func (b *besides) add(w *jobprio.Waiting, s selection.Span, claim *pool.Claim) {
	for last := s.Last; s.First <= last; s.First, s.Last = s.Last+1, last {
		b.of(s)
		state := b.standing(claim).state()
		if b.varies || b.barring.TellsApart(s.Run) || slices.ContainsFunc(b.names, b.tellsApart) {
			s.Last = s.First
		}
		switch {
		case claim != nil:
			w.Running = append(w.Running, jobprio.Running{Run: runOf(s, claim.Submitter), Started: claim.RunsFrom()})
		case state == "qw" && !b.barring.Bars(b.context, s.Run, s.First):
			submitter := accountant.SubmitterName(b.text(ownerName), b.groups.Canonical(b.text(groupName)), b.domain)
			w.Idle = append(w.Idle, runOf(s, submitter))
		}
	}
}

// tellsApart reports whether an attribute is an expression that procs have different values of.
func (r *reader) tellsApart(n *classad.Name) bool {
	_, e, ok := r.span.Run.Ad.Get(n)
	return ok && e != nil && r.span.Run.TellsApart(e)
}

// Explained is what -j prints of jobs with the numbers of the first one's priority.
type Explained struct {
	Waiting
	Priority any `json:",omitempty"` // a *Prioritized or a *Ranked, by the policy
	Course   any `json:",omitempty"` // a *sge.Course under that policy, of jobs that take part
}

// explained adds priorities to what -j prints of jobs that have not ended, where all stand in
// one queue.
func (q queue) explained(list []Waiting) any {
	if q.hierarchy == nil {
		return list
	}
	all := make([]Explained, len(list))
	for i, w := range list {
		all[i].Waiting = w
		if w.State == "" || w.State == "z" || len(w.Jobs) == 0 {
			continue
		}
		all[i].Priority, all[i].Course = q.hierarchy.explain(q, pool.JobID{Cluster: w.Jobs[0].Cluster, Proc: w.Jobs[0].First})
	}
	return all
}

// claimOf returns a job's claim, nil for none.
func (q queue) claimOf(id pool.JobID) *pool.Claim {
	if c, ok := q.view.Claim(id); ok {
		return &c
	}
	return nil
}

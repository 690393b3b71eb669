package queue

import (
	"cmp"
	"slices"
	"sort"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/jobprio"
	"fairspool/lib/lifecycle"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// hierarchy is the one queue of all jobs, where JOB_PRIORITY_POLICY makes one: where each
// waiting job stands in it, and what its priority comes from. Many goroutines may ask it.
type hierarchy struct {
	policy.Listing
	display policy.Display
	barring lifecycle.Barring // jobs that have no place
	waiting []placed          // the idle jobs, ascending
}

// hierarchyOf returns the queue, without jobs so far; nil where the policy has none.
func hierarchyOf(q *Queue) (*hierarchy, error) {
	c := q.Config
	barring, err := lifecycle.BarringOf(c)
	if err != nil {
		return nil, err
	}
	p := registry.Of(c)
	list := p.Listing(c, lifecycle.SourcesOf(q.View, q.Now))
	if list == nil {
		return nil, nil
	}
	return &hierarchy{Listing: list, display: p.Display(c), barring: barring}, nil
}

// placed are procs with consecutive places in the queue, or that are left out of it for one reason.
type placed struct {
	pool.Procs
	run    int    // the last proc of their run
	number int    // in the policy's list
	place  int    // the first's: how many jobs stand before it, and one; 0: they are left out
	why    string // they are left out
}

// before reports whether the procs are all before a job.
func (s *placed) before(id pool.JobID) bool {
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
func (h *hierarchy) rank(q *Queue) {
	if h == nil {
		return
	}
	v := q.View
	if names, ok := h.reads(); ok && q.Whole == nil {
		v = v.Only(append(names, totalsNames...))
	}
	b := besides{reader: q.reader(), domain: q.Domain, groups: q.Config.Groups, barring: h.barring}
	for _, name := range h.Attributes() {
		b.names = append(b.names, classad.NewName(name))
	}
	w := b.waiting(v)
	h.take(w, q.Config.Params.Nice)
}

// take puts jobs in order. Nice users go behind all others, as in a cycle.
func (h *hierarchy) take(w jobprio.Waiting, nice func(submitter string) bool) {
	all := h.List(w)
	h.waiting = make([]placed, 0, len(all))
	before := 0
	for _, last := range [...]bool{false, true} {
		for i, p := range all {
			if p.Why == "" && nice(w.Idle[p.Run].Submitter) == last {
				h.add(w.Idle, p, i, before+1)
				before += p.Count()
			}
		}
	}
	for i, p := range all {
		if p.Why != "" {
			h.add(w.Idle, p, i, 0)
		}
	}
	slices.SortFunc(h.waiting, func(a, b placed) int { return a.Compare(b.Procs) })
}

func (h *hierarchy) add(idle []jobprio.Run, p policy.Listed, number, place int) {
	h.waiting = append(h.waiting, placed{p.Procs, idle[p.Run].Last, number, place, p.Why})
}

// at returns the procs that a job is one of, nil for a job that does not wait.
func (h *hierarchy) at(id pool.JobID) *placed {
	if s := h.from(id); s != nil && s.Has(id) {
		return s
	}
	return nil
}

// from returns the procs that a job is one of, else the next ones by ID; nil for none.
func (h *hierarchy) from(id pool.JobID) *placed {
	if h == nil {
		return nil
	}
	i := sort.Search(len(h.waiting), func(i int) bool { return !h.waiting[i].before(id) })
	if i == len(h.waiting) {
		return nil
	}
	return &h.waiting[i]
}

// among returns the procs that the first of some procs without a claim is one of, nil for
// none, and the last of them that may share its row.
func (h *hierarchy) among(s spool.Run) (in *placed, last int) {
	id := s.FirstJob()
	switch in = h.from(id); {
	case in == nil || in.Cluster != s.Cluster:
		return nil, s.Last
	case in.Has(id):
		if h.display.Arrays {
			return in, min(in.run, s.Last)
		}
		return in, min(in.Last, s.Last)
	}
	return nil, min(in.First-1, s.Last)
}

// placeOf returns the place of a job in the queue, from 1 on; 0 for one that
// is left out of it.
func (s *placed) placeOf(proc int) int {
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
	return cmp.Or(cmp.Compare(a.shown.Behind, b.shown.Behind), a.key.ID.Compare(b.key.ID))
}

// jobOf returns a job as the policy's methods take it. It waits among in, or does not wait if in is nil.
func jobOf(id pool.JobID, claim *pool.Claim, state string, in *placed, run func() jobprio.Run) policy.Job {
	j := policy.Job{ID: id, Claim: claim, State: state, Run: run}
	if in != nil {
		j.Waits, j.Number, j.Task, j.Place, j.Why = true, in.number, id.Proc-in.First, in.placeOf(id.Proc), in.why
	}
	return j
}

// known returns a job of the view as the policy's methods take it.
func (q *Queue) known(id pool.JobID, claim *pool.Claim) policy.Job {
	var in *placed
	if claim == nil {
		in = q.hierarchy.at(id)
	}
	run, ok := q.View.Run(id)
	if !ok { // it is one of the view's
		return jobOf(id, claim, "", in, func() jobprio.Run { return jobprio.Run{Procs: pool.Only(id), Ad: classad.New()} })
	}
	s := run
	s.Procs = pool.Only(id)
	read := q.reader()
	read.of(s)
	j := jobOf(id, claim, read.standing(claim).state(), in, func() jobprio.Run { return runOf(s, q.submitter(run.Ad)) })
	j.Owner, j.QDate = read.text(ownerName), read.int(qdateName)
	return j
}

// fill notes in a row the policy's values for its first job.
func (h *hierarchy) fill(m *maker, r *row, in *placed) {
	s := m.procs
	j := jobOf(r.key.ID, r.claim, r.state, in, func() jobprio.Run { return runOf(s, m.from.submitter(s.Ad)) })
	j.Owner, j.QDate = r.owner, r.key.QDate
	x := h.Show(j, m.Options.Options)
	r.shown, r.prior, r.alike = &x, x.Prior, x.Alike
	if x.Slots > 0 {
		r.slots = x.Slots
	}
	if x.Aside {
		r.aside, r.place = true, 0
	}
	if c := x.Credentials; c != nil {
		if m.Urg {
			r.deadline = c.Deadline
		}
		if m.Ext {
			r.project, r.department = clean.Line(c.Project), clean.Line(c.Department)
		}
	}
	if m.Requests {
		r.asked.Requests = h.Requests(j, r.asked.hard)
	}
}

// sheet writes the policy's explanation of the jobs' priority.
func (h *hierarchy) sheet(d *sheet) {
	alike := func(yield func(policy.Job) bool) {
		for _, s := range d.ranges {
			for id := range s.Jobs() {
				if !yield(d.known(id, d.claim)) {
					return
				}
			}
		}
	}
	for _, l := range h.Sheet(d.known(d.key.ID, d.claim), alike) {
		d.line(l.Key, l.Values...)
	}
}

// Own returns the policy's own form of jobs; it is for a policy that has one.
func (l Listing) Own() policy.OwnForm {
	var list []policy.Row
	for _, r := range l.rows(l.columns(l.Options)) {
		place := r.place
		for _, s := range r.ranges {
			j := l.known(s.FirstJob(), r.claim)
			if j.Place = place; place == 0 && r.claim == nil {
				j.Why = cmp.Or(r.why, l.notQueued(r))
			} else {
				place += s.Count()
			}
			list = append(list, policy.Row{Job: j, Jobs: s, Each: func(yield func(policy.Job) bool) {
				for id := range s.Jobs() {
					if !yield(l.known(id, r.claim)) {
						return
					}
				}
			}})
		}
	}
	return l.hierarchy.Own(list, l.Single)
}

// notQueued says why jobs stand in no queue that the policy does not keep out of it.
func (q *Queue) notQueued(r *row) string {
	run, ok := q.View.Run(r.key.ID)
	if !ok {
		return ""
	}
	if status, _ := run.Ad.EvalInt(q.context(), pool.AttrJobStatus); pool.Status(status) != pool.Held {
		return "waits for the end of other jobs"
	}
	why, _ := run.Ad.EvalString(q.context(), pool.AttrHoldReason)
	return "held: " + cmp.Or(why, "no reason was given")
}

// runOf returns some procs of a run, as the policy sees them.
func runOf(s spool.Run, submitter string) jobprio.Run {
	return jobprio.Run{
		Procs:     s.Procs,
		Submitter: submitter,
		Ad:        s.Proc(s.First),
	}
}

// besides reads the parts of a queue from a view.
type besides struct {
	*reader
	domain string
	groups *accountant.Groups
	names  []*classad.Name // attributes that the order is computed from

	barring lifecycle.Barring
}

// waiting returns the jobs of a view that wait, and those with a claim, both ascending.
func (b *besides) waiting(v *spool.View) (w jobprio.Waiting) {
	list := claimsOf(v.Claims())
	for _, cluster := range v.Clusters() {
		for _, run := range cluster.Runs {
			for part, claim := range list.parts(run) {
				b.add(&w, part, claim)
			}
		}
	}
	return w
}

// add adds procs of a run. Where something that decides is an expression, each stands alone.
func (b *besides) add(w *jobprio.Waiting, s spool.Run, claim *pool.Claim) {
	if claim != nil && s.First == s.Last {
		w.Running = append(w.Running, jobprio.Running{Run: runOf(s, claim.Submitter), Started: claim.RunsFrom()})
		return
	}
	for last := s.Last; s.First <= last; s.First, s.Last = s.Last+1, last {
		b.of(s)
		state := b.standing(claim).state()
		if b.varies || b.barring.TellsApart(s) || slices.ContainsFunc(b.names, b.tellsApart) {
			s.Last = s.First
		}
		switch {
		case claim != nil:
			w.Running = append(w.Running, jobprio.Running{Run: runOf(s, claim.Submitter), Started: claim.RunsFrom()})
		case state == "qw" && !b.barring.Bars(b.context, s, s.First):
			submitter := accountant.SubmitterName(b.text(ownerName), b.groups.Canonical(b.text(groupName)), b.domain)
			w.Idle = append(w.Idle, runOf(s, submitter))
		}
	}
}

// tellsApart reports whether an attribute is an expression that procs have different values of.
func (r *reader) tellsApart(n *classad.Name) bool {
	_, e, ok := r.procs.Ad.Get(n)
	return ok && e != nil && r.procs.TellsApart(e)
}

// Explained is what -j prints of jobs with the numbers of the first one's priority.
type Explained struct {
	Waiting
	Priority any `json:",omitempty"` // the policy's numbers
	Course   any `json:",omitempty"` // how they are computed, if the policy says more
}

// Explained adds priorities to what -j prints of jobs that have not ended, where all stand in
// one queue.
func (q *Queue) Explained(list []Waiting) any {
	if q.hierarchy == nil {
		return list
	}
	all := make([]Explained, len(list))
	for i, w := range list {
		all[i].Waiting = w
		if w.State == "" || w.State == "z" || len(w.Jobs) == 0 {
			continue
		}
		all[i].Priority, all[i].Course = q.hierarchy.Explain(q.known(w.Jobs[0].FirstJob(), q.claimOf(w.Jobs[0].FirstJob())))
	}
	return all
}

// claimOf returns a job's claim, nil for none.
func (q *Queue) claimOf(id pool.JobID) *pool.Claim {
	if c, ok := q.View.Claim(id); ok {
		return &c
	}
	return nil
}

package maui

import (
	"strconv"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/lib/radix"
)

// Queue is Maui's policy as a negotiation cycle asks for it.
type Queue struct {
	config   *Config
	world    World
	reckoner *Reckoner
}

var _ jobprio.Queue = (*Queue)(nil)

// NewQueue returns the queue by a configuration, which must not change while it is used.
func NewQueue(c *Config, w World) *Queue { return &Queue{c, w, NewReckoner(c, w)} }

// Queued are equal jobs in the queue.
type Queued struct {
	jobprio.Part // of Waiting.Idle
	// Job is what Start comes from: the facts of the first of their run, with the clock as
	// it counts from now on, and, if that has a weight, whether a soft limit is in their way.
	Job   *Job
	Start int64   // Of(Job).Start
	QOS   string  // that they go by
	PE    float64 // processor equivalents of one of them
	Why   string  // why they are not considered, such as "negative priority"; empty: they are

	submitter string
	common    *profile
	stored    clock
}

// Name is what JOB_PRIORITY_POLICY calls the policy.
func (q *Queue) Name() string { return "maui" }

// Attributes are the names of the attributes of jobs that the order is made from.
func (q *Queue) Attributes() []string { return Attributes() }

// LooksAtHeld reports whether Order asks for Waiting.Held: with JOBPRIOACCRUALPOLICY
// FULLPOLICY the clocks of jobs that are held or wait for others stand.
func (q *Queue) LooksAtHeld() bool { return q.config.accrual() == FullPolicy }

// Order puts jobs in order.
//
// Considered are all jobs but those that asked for a QOS to which they have no access, those
// that would go beyond a fair share quota (FSTARGET with ^ or %), those of negative priority
// with REJECTNEGPRIOJOBS, and those for which a limit on what waits (MAXIJOB and the like) has
// no room left. These limits are given out in the order of the queue, to as many as fit.
// Only their hard values count, as in Maui; soft ones say nothing that this queue could use.
//
// A place's priority is the start priority; jobs whose clock stops with this very order
// have that of no queue time.
func (q *Queue) Order(w jobprio.Waiting) jobprio.Order {
	limits := q.newLimits(w.Running)
	places, blocked := q.line(w.Idle, limits)
	o := jobprio.Order{
		Places:      make([]jobprio.Place, len(places)),
		Clocks:      q.clocks(places, blocked, w.Held),
		CountPassed: q.config.countsService(Bypass),
	}
	for i, s := range places {
		o.Places[i] = jobprio.Place{Part: s.Part, Priority: float64(s.Start), QOS: s.QOS, PE: s.PE}
	}
	for _, s := range blocked {
		o.Blocked = append(o.Blocked, jobprio.Blocked{Part: s.Part, Priority: float64(s.Start), Why: s.Why})
	}
	if limits != nil {
		o.Limits = limits
	}
	return o
}

// Listing is Order for people: the jobs that are considered, the first to be served first,
// and those that are not, by priority and ID, each with all that its priority comes from.
func (q *Queue) Listing(w jobprio.Waiting) (places, blocked []*Queued) {
	return q.line(w.Idle, q.newLimits(w.Running))
}

func (q *Queue) line(idle []jobprio.Run, limits *limits) (places, blocked []*Queued) {
	all := q.look(idle)
	quotas := quotas{queue: q}
	for _, s := range all {
		s.Why = q.refusal(s, &quotas)
		q.setClock(s, q.limited(s, limits))
	}
	q.reckoner.starts(all)
	for _, s := range all {
		if s.Why == "" && s.Start < 0 && q.config.RejectNegative {
			q.block(s, "negative priority", FullPolicy)
		}
	}
	places, blocked = q.admit(inOrder(all))
	return places, inOrder(blocked)
}

// limited reports whether a hard limit on what runs is in the way of jobs now, if that counts
// for anything, and notes whether a soft one is.
func (q *Queue) limited(s *Queued, limits *limits) bool {
	soft, hard := q.config.countsService(SPViolation) && !q.config.Compatible, q.config.accrual() == FullPolicy
	if limits == nil || !soft && !hard {
		return false
	}
	breaksSoft, breaksHard := limits.breaks(s)
	s.Job.SoftViolation = soft && breaksSoft
	return hard && breaksHard
}

// countsService reports whether a subcomponent of SERVICE makes a difference.
func (c *Config) countsService(s Sub) bool {
	return c.Subs[s].Weight != 0 && c.Components[Service].Weight != 0
}

// look finds the facts of jobs.
func (q *Queue) look(runs []jobprio.Run) []*Queued {
	all, queued, jobs := make([]*Queued, len(runs)), make([]Queued, len(runs)), make([]Job, len(runs))
	parallel.Parts(parallel.Bounds(len(runs), manyRuns), func(_, from, to int) {
		c := &classad.Context{Now: q.world.Now}
		for i := from; i < to; i++ {
			jobs[i] = JobOf(c, runs[i])
			queued[i] = Queued{Part: jobprio.Part{Run: i, Procs: runs[i].Procs}, Job: &jobs[i],
				PE: q.reckoner.PE(&jobs[i]), submitter: runs[i].Submitter, stored: jobs[i].clock()}
			all[i] = &queued[i]
		}
	})
	q.reckoner.profiles(all)
	return all
}

// credentials returns the names that limits and quotas of jobs go by.
func (s *Queued) credentials() [Kinds]string {
	return [Kinds]string{s.Job.User, s.Job.Group, s.Job.Account, s.QOS, s.Job.Class}
}

// wclimit returns the seconds for which one of the jobs may run.
func (s *Queued) wclimit() float64 { return s.common.limit(s.Job) }

// refusal says why jobs cannot be considered, whatever their priority and whatever other
// jobs wait; empty: they can.
func (q *Queue) refusal(s *Queued, quotas *quotas) string {
	if s.common.refused {
		return "QOS " + s.Job.QOS + " is not allowed for user " + s.Job.User
	}
	return quotas.exceeded(s)
}

// block leaves jobs out. Their clock stops if the accrual policy is stops or goes beyond
// it, and stands if it did before.
func (q *Queue) block(s *Queued, why string, stops Accrual) {
	s.Why = why
	policy := q.config.accrual()
	if policy == Always || policy < stops && !s.stored.stopped || s.Job.Stopped {
		return
	}
	j := *s.Job
	j.Stopped = true
	s.Job, s.Start = &j, q.reckoner.start(s.common, &j)
}

// admit parts those who are considered from those who are not. They come in order, and in
// that order the limits on what waits are given out. All is used up.
func (q *Queue) admit(all []*Queued) (places, blocked []*Queued) {
	waiting := newThrottle(q.config, true)
	places = all[:0]
	for _, s := range all {
		switch {
		case s.Why != "":
			blocked = append(blocked, s)
		case waiting == nil:
			places = append(places, s)
		default:
			head, rest := q.fit(waiting, s)
			if head != nil {
				places = append(places, head)
			}
			if rest != nil {
				blocked = append(blocked, rest)
			}
		}
	}
	return places, blocked
}

// fit parts those of some equal jobs for which limits have room from those for which they
// have none; nil where there are none of either.
func (q *Queue) fit(waiting *throttle, s *Queued) (head, rest *Queued) {
	limits, takes := waiting.ceilingsOf(s), s.takes(s.wclimit())
	head, rest = s.cut(limits.fit(&takes, s.Count()))
	if head != nil {
		limits.take(&takes, head.Count())
	}
	if rest != nil {
		c, l := limits.broken(&takes, true)
		q.block(rest, waiting.tell(c, l, &takes, true), QueuePolicy)
	}
	return head, rest
}

// clock is what queue time counts from.
type clock struct {
	stopped bool
	since   int64
}

func (j *Job) clock() clock { return clock{j.Stopped, j.Since} }

// set makes the job go by a clock.
func (j *Job) set(c clock) { j.Stopped, j.Since = c.stopped, c.since }

// from returns a clock that runs. Nothing began before 1970, and 0 would be a clock that
// stands.
func from(since int64) clock { return clock{since: max(1, since)} }

// accrual returns the accrual policy. With USESYSTEMQUEUETIME off nothing stops a clock.
func (c *Config) accrual() Accrual {
	if !c.UseSystemQueueTime {
		return Always
	}
	return c.Accrual
}

// setClock sets the clock of jobs before their priority is known. ALWAYS counts all time
// since submission, whatever another policy made of it before. Otherwise a clock that stood
// begins anew when the job is considered; FULLPOLICY stops that of jobs that are not, or are
// kept by a limit on what runs.
func (q *Queue) setClock(s *Queued, limited bool) {
	switch policy := q.config.accrual(); {
	case policy == Always:
		s.Job.set(from(s.Job.Submitted))
	case policy == FullPolicy && (limited || s.Why != ""):
		s.Job.Stopped = true
	case s.Job.Stopped && s.Why == "":
		s.Job.set(from(q.world.Now.Unix()))
	}
}

// clocks returns those that differ from what the jobs' ads have.
func (q *Queue) clocks(places, blocked []*Queued, held []jobprio.Run) (changed []jobprio.Clock) {
	note := func(p jobprio.Part, held bool, stored, now clock) {
		switch {
		case now.stopped && !stored.stopped:
			changed = append(changed, jobprio.Clock{Part: p, Held: held})
		case !now.stopped && now != stored:
			changed = append(changed, jobprio.Clock{Part: p, Held: held, Since: now.since})
		}
	}
	for _, all := range [...][]*Queued{places, blocked} {
		for _, s := range all {
			note(s.Part, false, s.stored, s.Job.clock())
		}
	}
	c := &classad.Context{Now: q.world.Now}
	for i, r := range held {
		if q.stopsHeld(c, r) {
			j := JobOf(c, r)
			note(jobprio.Part{Run: i, Procs: r.Procs}, true, j.clock(), clock{stopped: true})
		}
	}
	return changed
}

// stopsHeld reports whether the clock of jobs stands while they are held or wait for others.
// Maui 3.3.1 never looks so far at jobs that are held (observed).
func (q *Queue) stopsHeld(c *classad.Context, r jobprio.Run) bool {
	if q.config.accrual() != FullPolicy {
		return false
	}
	status, _ := r.Ad.EvalInt(c, pool.AttrJobStatus)
	return !q.config.Compatible || pool.Status(status) != pool.Held
}

// quotas are the fair share targets that keep jobs out (FSTARGET with ^ or %), by
// credential, as far as somebody asked.
type quotas struct {
	queue *Queue
	of    [Kinds]map[string]*quota // nil: there is none
}

// quota is a target in the units of FSPOLICY, and what is used of it.
type quota struct {
	used, most float64
	text       string // such as "FSTARGET 5000^ of user alice: 3600 used"
	total      string // with %: what it is a part of
}

// exceeded says which quota a job would exceed: one that is smaller than what was used and
// what the job may use together (manual, 6.3). Empty: none.
func (q *quotas) exceeded(s *Queued) string {
	c := q.queue.config
	if c.FSPolicy == NoFairShare {
		return ""
	}
	asked := float64(s.Job.Procs())
	if c.FSPolicy == DedicatedPES && !c.Compatible { // which always asks for processors
		asked = s.PE
	}
	asked *= s.wclimit()
	for k, name := range s.credentials() {
		if f := q.quota(Kind(k), name); f != nil && f.used+asked > f.most {
			return f.text + ", " + rounded(asked) + " asked for" + f.total
		}
	}
	return ""
}

func (q *quotas) quota(k Kind, name string) *quota {
	f, known := q.of[k][name]
	if !known {
		if q.of[k] == nil {
			q.of[k] = map[string]*quota{}
		}
		f = q.queue.quota(k, name)
		q.of[k][name] = f
	}
	return f
}

// quota returns the quota of a credential; nil for none. While nobody has used anything, a
// part of that bounds nothing: no job would ever be the first. None is with Maui 3.3.1.
func (q *Queue) quota(k Kind, name string) *quota {
	target, mode := q.config.FairShareTarget(k, name)
	used := q.world.Used
	if name == "" || target == 0 || mode != FSQuota && mode != FSRelative || mode == FSRelative && !(used.Total > 0) && !q.config.Compatible {
		return nil
	}
	f := &quota{used: used.Of[k][name], most: target}
	f.text = "FSTARGET " + strconv.FormatFloat(target, 'f', -1, 64) + string(mode) + " of " + k.word() + " " + name + ": " + rounded(f.used) + " used"
	if mode == FSRelative {
		f.most = used.Total / 100 * target
		f.total = ", of " + rounded(used.Total) + " in all"
	}
	return f
}

func rounded(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

// inOrder returns jobs as they stand in the queue: higher priority first, and of equal ones
// the first by ID. Of those, the jobs of one submitter exchange the places that they have among
// themselves: higher JobPrio first. Jobs are taken out of runs where that is needed; all is used up.
func inOrder(all []*Queued) []*Queued {
	sorted := sortedQueue(all)
	if !differ(all) {
		return sorted
	}
	turns, parties := turnsOf(sorted)
	type head struct{ turn, used int } // who of a party goes next, and how many of these went
	heads := make([]head, len(sorted))
	for i := len(turns) - 1; i >= 0; i-- {
		heads[parties[turns[i]]].turn = i
	}
	places := make([]*Queued, 0, len(sorted)+len(sorted)/8)
	for i := range sorted {
		for left := sorted[i].Count(); left > 0; {
			h := &heads[parties[i]]
			_, s := sorted[turns[h.turn]].cut(h.used)
			some, rest := s.cut(left)
			left -= some.Count()
			if h.used += some.Count(); rest == nil {
				*h = head{turn: h.turn + 1}
			}
			places = behind(places, some)
		}
	}
	return places
}

// differ reports whether jobs have another JobPrio than others.
func differ(all []*Queued) bool {
	for i := range all {
		if all[i].Job.JobPrio != all[0].Job.JobPrio {
			return true
		}
	}
	return false
}

// turnsOf tells in which order sorted jobs go among the party that they exchange places with:
// the jobs of the same submitter and priority. Turns has jobs, each party's together; parties has
// the party of each job.
func turnsOf(sorted []*Queued) (turns, parties []int) {
	known := map[string]int{}
	whose := make([]int, len(sorted))
	for i := range sorted {
		name := sorted[i].submitter
		one, ok := known[name]
		if !ok {
			one = len(known)
			known[name] = one
		}
		whose[i] = one
	}
	order := radix.Ordered(len(sorted), func(i int) uint64 { return ^radix.Ascending(sorted[i].Start) },
		func(i int) uint64 { return uint64(whose[i]) }, func(i int) uint64 { return ^radix.Ascending(sorted[i].Job.JobPrio) })
	turns, parties = make([]int, len(order)), make([]int, len(order))
	party := 0
	for i, e := range order {
		if i > 0 && (whose[e.At] != whose[order[i-1].At] || sorted[e.At].Start != sorted[order[i-1].At].Start) {
			party++
		}
		turns[i], parties[e.At] = e.At, party
	}
	return turns, parties
}

// sortedQueue returns jobs by priority and ID.
func sortedQueue(all []*Queued) []*Queued {
	type key struct{ start, cluster, proc uint64 }
	keys, byID := make([]key, len(all)), true
	for i := range all {
		id := all[i].FirstJob()
		k := key{^radix.Ascending(all[i].Start), radix.Ascending(int64(id.Cluster)), radix.Ascending(int64(id.Proc))}
		keys[i] = k
		byID = byID && (i == 0 || keys[i-1].cluster < k.cluster || keys[i-1].cluster == k.cluster && keys[i-1].proc < k.proc)
	}
	by := []func(int) uint64{
		func(i int) uint64 { return keys[i].start },
		func(i int) uint64 { return keys[i].cluster },
		func(i int) uint64 { return keys[i].proc },
	}
	if byID { // as Ordered leaves those who are equal
		by = by[:1]
	}
	sorted := make([]*Queued, len(all))
	for i, e := range radix.Ordered(len(all), by...) {
		sorted[i] = all[e.At]
	}
	return sorted
}

// cut parts the first n jobs from the others; nil where there are none of either.
func (s *Queued) cut(n int) (head, rest *Queued) {
	switch {
	case n <= 0:
		return nil, s
	case n >= s.Count():
		return s, nil
	}
	one, other := *s, *s
	one.Last = s.First + n - 1
	other.First = s.First + n
	return &one, &other
}

// behind appends jobs; those of one run that follow each other stay together.
func behind(places []*Queued, s *Queued) []*Queued {
	if n := len(places); n > 0 {
		if last := places[n-1]; last.Run == s.Run && last.Last+1 == s.First && last.Why == s.Why {
			both := *last
			both.Last = s.Last
			places[n-1] = &both
			return places
		}
	}
	return append(places, s)
}

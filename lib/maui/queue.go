package maui

import (
	"strconv"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/lib/radix"
)

// Queue is Maui's policy for a negotiation cycle.
type Queue struct {
	config   *Config
	world    World
	reckoner *Reckoner
}

var _ jobprio.Queue = (*Queue)(nil)

// NewQueue returns the queue of a configuration, which must not change while the queue is used.
func NewQueue(c *Config, w World) *Queue { return &Queue{c, w, NewReckoner(c, w)} }

// Queued are equal jobs in the queue.
type Queued struct {
	jobprio.Part // of Waiting.Idle
	// Job are the inputs of Start: the facts of the first proc of the run, with the clock that counts
	// from now on and, if that has a weight, whether a soft limit is in the way.
	Job   *Job
	Start int64   // Of(Job).Start
	QOS   string  // that applies to them
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

// LooksAtHeld reports whether Order uses Waiting.Held: with JOBPRIOACCRUALPOLICY
// FULLPOLICY the clocks of jobs that are held or wait for others stop.
func (q *Queue) LooksAtHeld() bool { return q.config.accrual() == FullPolicy }

// Order puts jobs in order.
//
// It considers all jobs except those that ask for a QOS without access to it, that would exceed a
// fair share quota (FSTARGET with ^ or %), that have a negative priority with REJECTNEGPRIOJOBS, and
// for which a limit on waiting jobs (MAXIJOB and the like) has no room left. These limits are filled
// in the order of the queue. Only their hard values count, as in Maui; the queue has no use for soft
// ones.
//
// A place's priority is the start priority, without queue time for jobs with a clock that this order
// stops.
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

// Listing is Order for people: the jobs that are considered, in order of service,
// and those that are not, by priority and ID, each with the facts that its priority is computed from.
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

// limited reports whether a hard limit on running jobs is in the way of jobs now, if that has an
// effect, and notes whether a soft one is.
func (q *Queue) limited(s *Queued, limits *limits) bool {
	soft, hard := q.config.countsService(SPViolation) && !q.config.Compatible, q.config.accrual() == FullPolicy
	if limits == nil || !soft && !hard {
		return false
	}
	breaksSoft, breaksHard := limits.breaks(s)
	s.Job.SoftViolation = soft && breaksSoft
	return hard && breaksHard
}

// countsService reports whether a subcomponent of SERVICE has a weight.
func (c *Config) countsService(s Sub) bool {
	return c.Subs[s].Weight != 0 && c.Components[Service].Weight != 0
}

// look returns jobs with their facts.
func (q *Queue) look(runs []jobprio.Run) []*Queued {
	all, queued, jobs := make([]*Queued, len(runs)), make([]Queued, len(runs)), make([]Job, len(runs))
	parallel.Parts(parallel.Bounds(len(runs), manyRuns), func(_, from, to int) {
		c, names := &classad.Context{Now: q.world.Now}, newReader()
		for i := from; i < to; i++ {
			jobs[i] = names.job(c, runs[i])
			queued[i] = Queued{Part: jobprio.Part{Run: i, Procs: runs[i].Procs}, Job: &jobs[i],
				PE: q.reckoner.PE(&jobs[i]), submitter: runs[i].Submitter, stored: jobs[i].clock()}
			all[i] = &queued[i]
		}
	})
	q.reckoner.profiles(all)
	return all
}

// credentials returns the names of a job that limits and quotas are by.
func (s *Queued) credentials() [Kinds]string {
	return [Kinds]string{s.Job.User, s.Job.Group, s.Job.Account, s.QOS, s.Job.Class}
}

// wclimit returns the seconds for which one of the jobs may run.
func (s *Queued) wclimit() float64 { return s.common.limit(s.Job) }

// refusal returns why jobs cannot be considered, whatever their priority and the other waiting
// jobs; empty: they can.
func (q *Queue) refusal(s *Queued, quotas *quotas) string {
	if s.common.refused {
		return "QOS " + s.Job.QOS + " is not allowed for user " + s.Job.User
	}
	return quotas.exceeded(s)
}

// block leaves jobs out. It stops their clock if the accrual policy is stops or stricter, and a clock that
// was stopped stays so.
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

// admit separates the considered jobs from the others. all is in the order in which admit fills the
// limits on waiting jobs. all must not be used afterwards.
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

// fit separates the first of some equal jobs, for which limits have room, from the rest; nil for no jobs.
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

// clock is the beginning of queue time.
type clock struct {
	stopped bool
	since   int64
}

func (j *Job) clock() clock { return clock{j.Stopped, j.Since} }

// set sets the clock of the job.
func (j *Job) set(c clock) { j.Stopped, j.Since = c.stopped, c.since }

// from returns a running clock. It begins at 1 at the earliest, as 0 is a stopped clock.
func from(since int64) clock { return clock{since: max(1, since)} }

// accrual returns the accrual policy. With USESYSTEMQUEUETIME off nothing stops a clock.
func (c *Config) accrual() Accrual {
	if !c.UseSystemQueueTime {
		return Always
	}
	return c.Accrual
}

// setClock sets the clock of jobs before their priority is known. ALWAYS counts all time
// since submission, whatever another policy has noted. Otherwise a stopped clock
// begins anew when the job is considered; FULLPOLICY stops the clocks of jobs that are not considered,
// or that a limit on running jobs keeps waiting.
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

// clocks returns the clocks that differ from those in the jobs' ads.
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

// stopsHeld reports whether the clock of jobs stops while they are held or wait for others.
// Maui 3.3.1 does not stop the clock of held jobs (observed).
func (q *Queue) stopsHeld(c *classad.Context, r jobprio.Run) bool {
	if q.config.accrual() != FullPolicy {
		return false
	}
	status, _ := r.Ad.EvalInt(c, pool.AttrJobStatus)
	return !q.config.Compatible || pool.Status(status) != pool.Held
}

// quotas are the fair share targets that keep jobs out (FSTARGET with ^ or %), by
// credential, computed when first needed.
type quotas struct {
	queue *Queue
	of    [Kinds]map[string]*quota // nil: there is none
}

// quota is a target in the units of FSPOLICY, with its usage.
type quota struct {
	used, most float64
	text       string // such as "FSTARGET 5000^ of user alice: 3600 used"
	total      string // with %: the whole
}

// exceeded returns the quota that a job would exceed: a quota below the sum of its usage and
// the job's possible usage (manual, 6.3). Empty: none.
func (q *quotas) exceeded(s *Queued) string {
	c := q.queue.config
	if c.FSPolicy == NoFairShare {
		return ""
	}
	asked := float64(s.Job.Procs())
	if c.FSPolicy == DedicatedPES && !c.Compatible { // a job always asks for processors
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

// quota returns the quota of a credential; nil for none. A quota in percent does not count as long as
// there is no usage: otherwise no job would ever be the first. With Maui 3.3.1 no job is.
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

// inOrder returns jobs in the order of the queue: by priority, the highest first, and by ID. The jobs
// of one submitter with equal priority exchange their places among themselves by JobPrio, the highest
// first. It divides runs if necessary. all must not be used afterwards.
func inOrder(all []*Queued) []*Queued {
	sorted := sortedQueue(all)
	if !differ(all) {
		return sorted
	}
	turns, parties := turnsOf(sorted)
	type head struct{ turn, used int } // the next of a party, and how many of its jobs have their place
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

// differ reports whether jobs differ in JobPrio.
func differ(all []*Queued) bool {
	for i := range all {
		if all[i].Job.JobPrio != all[0].Job.JobPrio {
			return true
		}
	}
	return false
}

// turnsOf returns the order of sorted jobs within the parties that exchange places:
// the jobs of one submitter with equal priority. turns has the jobs, each party's together; parties has
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
	if byID { // radix.Ordered keeps the order of equal keys
		by = by[:1]
	}
	sorted := make([]*Queued, len(all))
	for i, e := range radix.Ordered(len(all), by...) {
		sorted[i] = all[e.At]
	}
	return sorted
}

// cut separates the first n jobs from the rest; nil for no jobs.
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

// behind appends jobs, and joins consecutive jobs of one run.
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

package replay

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/launch"
	"fairspool/lib/lifecycle"
	"fairspool/lib/matchmaking"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shares"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/lib/workload"
	"fairspool/spool"
)

// Settings are what a workload is run with.
type Settings struct {
	Config *config.Config
	// Spool has the slots, and no jobs; see spool.InMemory. All events go to it.
	Spool *spool.Spool
	// Interval is the time between two cycles, of which the first is at the start of the workload. At least a second.
	Interval time.Duration
	// Watched are the users whose Result.Course is gathered; nil: none is.
	Watched []string
	// Events are what else happens, ascending.
	Events []Event
	// Told, unless nil, is called now and then with the number of jobs that have ended
	// and the number of all jobs. An error ends the replay.
	Told func(ended, all int) error
}

// Event is a change of the pool at a time in seconds after the workload's start. Of one second it comes first, except that slots go
// after jobs have ended.
type Event struct {
	At     int64
	Do     func(*spool.Tx) error
	Takers *Takers // if not nil, in place of Do
}

// Fate is what became of a job. Times are in seconds after the workload's start.
type Fate struct {
	Submit     int64 // -1: it was not submitted, as a job that it follows did not end
	Start, End int64 // of its last attempt; -1: it did not start, or did not end
	First      int64 // when its first attempt started; -1: it did not
	Starts     int   // attempts
	Lost       int64 // seconds that attempts ran which had to leave
	Submitter  string
}

// Result is what became of a workload.
type Result struct {
	Fates  []Fate // as the workload's jobs
	Cores  int64  // of all slots, the most at once
	Cycles int    // that were made; none is, while no job waits
	// Unfair is the share error: half the sum of the differences between what submitters hold and what they are entitled to,
	// over the pool, as the mean over the time from the first submission to the last, from 0 to 1. No error is counted while
	// no job waits.
	Unfair float64
	// Busy is the utilisation: the part of the pool's cores that jobs had over the same time, which leaves the drain out.
	Busy float64
	// Idle is the loss of capacity: the part of the cores, over the same time, that were idle while jobs waited that asked for as many.
	Idle float64
	// Surplus is by submitter, in core seconds: what it held beyond what it was entitled to while jobs waited, less what it lacked.
	Surplus map[string]float64
	Course  *Course // see Settings.Watched
	Changes Changes // of the slots
}

// Changes are how often slots came, changed and went, and how often machines were drained.
type Changes struct{ Came, Changed, Went, Drained int }

type kind int

const (
	ends   kind = iota // the job's program ends
	leaves             // the job leaves its slot, as it was told to
)

// event is what happens to an attempt at a time.
type event struct {
	at int64
	pool.Attempt
	kind
}

type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	a, b := &e[i], &e[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Job.Cluster, b.Job.Cluster), cmp.Compare(a.Job.Proc, b.Job.Proc), cmp.Compare(a.kind, b.kind)) < 0
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }

func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// replay is a workload under way.
type replay struct {
	Settings
	*workload.Workload
	Result
	cycle        negotiator.Config
	retirement   *classad.Expr
	answers      lifecycle.Answers
	index        map[pool.JobID]int // of jobs in the queue
	coming       events
	reader       *lifecycle.Reader
	learned      negotiator.Learned
	claimed      map[string]int64 // when the chain of jobs on a slot began
	submitted    map[submission]submitted
	among        *classad.Interner // their ads
	held         map[string]int64  // cores, by submitter
	used, wanted int64             // cores that jobs have, and that those ask for that wait
	waiting      int               // jobs without a slot
	ended        int
	arrivals     *arrivals
	first, last  int64           // submissions; the last one so far
	progress     int64           // when a job was submitted or ended last, or the pool changed
	patience     int64           // for how long there may be no progress, while jobs preempt each other
	error        area            // cores
	busy, idle   area            // cores
	cores        int64           // of all slots
	capacity     area            // cores
	going        map[string]bool // slots that go when their jobs have ended
	course       *recorder
}

// area is the integral over time of what was last set.
type area struct {
	value, sum float64
	since      int64
	submitted  float64 // its sum at the last submission
}

// set makes the value one from a time on.
func (a *area) set(at int64, value float64) {
	a.sum += a.value * float64(at-a.since)
	a.value, a.since = value, at
}

// Run runs a workload. Jobs that no slot takes have not started in the result. Those that preempt each other again and again do not end
// in it: Run gives them up when for a day and ten times the longest run time nothing has happened beside that.
func Run(w *workload.Workload, s Settings) (*Result, error) {
	r := &replay{Settings: s, Workload: w, index: map[pool.JobID]int{}, claimed: map[string]int64{},
		submitted: map[submission]submitted{}, among: classad.NewInterner(), held: map[string]int64{}, going: map[string]bool{}}
	r.reader = matchmaking.Reader(s.Spool.Domain(), s.Config)
	r.Surplus = map[string]float64{}
	var err error
	if r.cycle, err = lifecycle.CycleConfig(s.Config); err != nil {
		return nil, err
	}
	r.cycle.NoReasons = true
	if r.retirement, err = s.Config.Expr("MAXJOBRETIREMENTTIME"); err != nil {
		return nil, err
	}
	if err := s.Spool.View(func(v *spool.View) error {
		slots, _ := v.Slots()
		for _, slot := range slots {
			r.cores += cpus(slot.Ad)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	r.Cores = r.cores
	r.Fates = make([]Fate, len(w.Jobs))
	for i := range r.Fates {
		r.Fates[i] = Fate{Submit: -1, Start: -1, End: -1, First: -1}
	}
	for _, j := range w.Jobs {
		r.patience = max(r.patience, 10*j.Run+day)
	}
	r.arrivals = newArrivals(w)
	r.first = r.arrivals.at()
	r.error.since, r.busy.since, r.idle.since = r.first, r.first, r.first
	r.capacity.since, r.capacity.value = r.first, float64(r.cores)
	r.course = r.record()
	if err := r.all(); err != nil {
		return nil, err
	}
	r.Course = r.course.course()
	if r.last > r.first && r.capacity.submitted > 0 {
		mean := r.capacity.submitted / float64(r.last-r.first)
		r.Unfair = r.error.submitted / float64(r.last-r.first) / mean
		r.Busy = r.busy.submitted / float64(r.last-r.first) / mean
		r.Idle = r.idle.submitted / float64(r.last-r.first) / mean
	}
	return &r.Result, nil
}

// time returns a time of the workload.
func (r *replay) time(at int64) time.Time { return r.Start.Add(time.Duration(at) * time.Second) }

// account runs a transaction at a time.
func (r *replay) account(at int64, do func(*spool.Tx) error) error {
	r.Spool.At(r.time(at))
	return r.answers.Account(r.Spool, accountant.Reading{Now: r.time(at)}, do)
}

// all plays the workload from the first submission to the last end.
func (r *replay) all() error {
	interval := max(int64(r.Interval/time.Second), 1)
	cycle, idled := int64(0), false
	for {
		at := r.arrivals.at()
		if len(r.coming) > 0 {
			at = min(at, r.coming[0].at)
		}
		if len(r.Events) > 0 && (at != never || r.waiting > 0) {
			at = min(at, r.Events[0].At)
		}
		switch {
		case r.waiting > 0 && cycle < at:
			if at == never && idled { // nothing more comes, and nothing was matched
				later, err := r.later(cycle - interval)
				if err != nil || later == never {
					return err
				}
				cycle += max(later-cycle+interval-1, 0) / interval * interval
				r.progress = cycle
			}
			if cycle-r.progress > r.patience && r.arrivals.at() == never {
				return nil
			}
			matched, err := r.negotiate(cycle)
			if err != nil {
				return err
			}
			idled = matched == 0
			cycle += interval
			continue
		case at == never:
			return nil
		case r.waiting == 0:
			if cycle < at {
				cycle += (at - cycle + interval - 1) / interval * interval
			}
		}
		idled = false
		if err := r.happens(at, false); err != nil {
			return err
		}
		for len(r.coming) > 0 && r.coming[0].at == at {
			if err := r.happen(heap.Pop(&r.coming).(event)); err != nil {
				return err
			}
		}
		if err := r.happens(at, true); err != nil {
			return err
		}
		for jobs := r.arrivals.take(at); len(jobs) > 0; {
			n := 1
			for n < len(jobs) && submissionOf(&r.Jobs[jobs[0]], 1) == submissionOf(&r.Jobs[jobs[n]], 1) {
				n++
			}
			if err := r.submit(at, jobs[:n]); err != nil {
				return err
			}
			jobs = jobs[n:]
		}
	}
}

// later returns when the pool changes by itself, behind a time: a lease or a maintenance ends.
func (r *replay) later(than int64) (at int64, err error) {
	at = never
	err = r.Spool.View(func(v *spool.View) error {
		ends := func(t time.Time) {
			if n := int64(math.Ceil(t.Sub(r.Start).Seconds())); !t.IsZero() && n > than {
				at = min(at, n)
			}
		}
		for _, m := range lifecycle.Maintenances(v) {
			ends(m.End)
		}
		for _, s := range v.Submitters() {
			ends(s.FactorLease.Until)
			ends(s.CeilingLease.Until)
			ends(s.FloorLease.Until)
		}
		return nil
	})
	return at, err
}

// submission is what tells apart what users submit, but for the time.
type submission struct {
	user, group   string
	cores         int
	memory, limit int64
	jobs          int
}

// submissionOf returns the submission of so many jobs like one: those that are submitted at once can be procs of one cluster.
func submissionOf(j *workload.Job, jobs int) submission {
	return submission{j.User, j.Group, j.Cores, j.Memory, j.Limit, jobs}
}

// describe describes jobs for submit. Their group counts where the configuration has an accounting group of that name.
func (r *replay) describe(s submission) string {
	var b strings.Builder
	fmt.Fprintf(&b, "executable = /bin/true\ntransfer_executable = false\nrequest_cpus = %d\n", s.cores)
	if s.memory > 0 {
		fmt.Fprintf(&b, "request_memory = %d\n", s.memory)
	}
	if s.limit > 0 {
		fmt.Fprintf(&b, "wall_time = %d\n", s.limit)
	}
	if _, ok := r.Config.Groups.Find(s.group); ok && s.group != accountant.RootGroup {
		fmt.Fprintf(&b, "accounting_group = %s\n", s.group)
	}
	fmt.Fprintf(&b, "queue %d\n", s.jobs)
	return b.String()
}

// submitted is what a submission was found to be.
type submitted struct {
	jobs   *jobad.Jobs
	rights policy.Rights
}

// mostSubmitted bounds how many submissions are remembered.
const mostSubmitted = 5000

// submit puts jobs that are alike into the queue.
func (r *replay) submit(at int64, list []int) (err error) {
	j := &r.Jobs[list[0]]
	s := submissionOf(j, len(list))
	r.Spool.At(r.time(at))
	is, known := r.submitted[s]
	if !known {
		d, _, err := submitfile.Parse(r.describe(s), "job "+j.Name, submitfile.Options{})
		if err != nil {
			return err
		}
		if is.jobs, _, err = jobad.New(d, jobad.Options{
			Owner: j.User, Domain: r.Spool.Domain(), Dir: "/", Now: r.time(at), NiceGroup: r.Config.NiceGroup, Groups: r.Config.Groups,
			AppendRequirements: r.Config.Text("APPEND_REQUIREMENTS"), AppendRank: r.Config.Text("APPEND_RANK"),
		}); err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
		is.rights = policy.RightsOf(registry.Of(r.Config), r.Config, j.User, true, j.User, func(string) ([]string, error) { return nil, nil })
		if len(r.submitted) >= mostSubmitted {
			clear(r.submitted)
		}
		r.submitted[s] = is
	}
	is.jobs.Again(r.time(at), r.among)
	id := 0
	if err := lifecycle.Update(r.Spool, func(tx *spool.Tx) (err error) {
		tx.Op("submit")
		id, _, err = lifecycle.Submit(tx, is.jobs, is.rights)
		if c, ok := tx.Cluster(id); ok && r.course != nil {
			r.course.knows(lifecycle.Submitter(c.Runs[0].Ad, r.Spool.Domain(), r.Config.Groups), j.User)
		}
		return err
	}); err != nil {
		return fmt.Errorf("job %s of %s: %w", j.Name, j.User, err)
	}
	for proc, i := range list {
		r.index[pool.JobID{Cluster: id, Proc: proc}] = i
		r.Fates[i].Submit = at
	}
	r.wait(at, len(list), *j)
	r.last, r.progress = at, at
	for _, a := range []*area{&r.error, &r.busy, &r.idle, &r.capacity} {
		a.set(at, a.value)
		a.submitted = a.sum
	}
	return nil
}

// start records that an attempt runs.
func (r *replay) start(tx *spool.Tx, c pool.Claim, at int64) error {
	return lifecycle.Begin(tx, c.Job, c.Attempt, r.time(at), 1, "", r.cycle.Params)
}

// started notes that an attempt runs.
func (r *replay) started(c pool.Claim, at int64) {
	i := r.index[c.Job]
	f := &r.Fates[i]
	if f.Starts++; f.First < 0 {
		f.First = at
	}
	f.Start, f.Submitter = at, c.Submitter
	heap.Push(&r.coming, event{at + r.Jobs[i].Run, pool.Attempt{Job: c.Job, Number: c.Attempt}, ends})
	r.hold(at, c.Submitter, int64(r.Jobs[i].Cores))
	r.wait(at, -1, r.Jobs[i])
}

// wait notes that n more jobs wait, all like one.
func (r *replay) wait(at int64, n int, j workload.Job) {
	r.waiting += n
	r.wanted += int64(n) * int64(j.Cores)
	r.note(at)
}

// hold notes that a submitter has so many cores more.
func (r *replay) hold(at int64, submitter string, cores int64) {
	r.held[submitter] += cores
	r.used += cores
	r.course.hold(at, submitter, cores)
	r.note(at)
}

// note measures what is in use and idle from a time on.
func (r *replay) note(at int64) {
	r.course.note(at, r.used, r.wanted, r.waiting)
	r.busy.set(at, float64(r.used))
	r.idle.set(at, float64(max(min(r.wanted, r.cores-r.used), 0)))
}

// happen has an attempt end, if it has not ended yet.
func (r *replay) happen(e event) error {
	i, there := r.index[e.Job]
	if !there {
		return nil
	}
	f := &r.Fates[i]
	ran := time.Duration(e.at-f.Start) * time.Second
	how := pool.Ending{Wall: ran, UserCPU: ran}
	var ended, next pool.Claim
	goesOn, cores := false, int64(0)
	err := r.account(e.at, func(tx *spool.Tx) error {
		var ok bool
		if ended, ok = tx.Claim(e.Job); !ok || ended.Attempt != e.Number || e.kind == leaves && ended.State != pool.Vacating {
			ended = pool.Claim{}
			return nil
		}
		if e.kind == leaves {
			how.Lost, how.VacateCode, how.VacateSubcode = cmp.Or(ended.VacateReason, "it had to leave"), ended.VacateCode, ended.VacateSubcode
		}
		ad, _ := tx.Job(e.Job)
		tickets := lifecycle.TicketsOf(ad)
		if err := lifecycle.Finish(tx, e.Job, e.Number, r.time(e.at), how, r.cycle.Params); err != nil {
			return err
		}
		if next, goesOn = tx.Claim(ended.PromisedTo); goesOn && next.State == pool.Matched {
			return r.start(tx, next, e.at)
		}
		if cores = r.leave(tx, ended.SlotAd()); cores > 0 || r.going[ended.SlotAd()] {
			goesOn = false
			return nil
		}
		if goesOn = lifecycle.MayGoOn(how, r.worked(ended, e.at), r.Config.ClaimWorklife); !goesOn {
			return nil
		}
		if next, goesOn = lifecycle.Successor(tx, ended, ad, r.Spool.Domain(), r.time(e.at), &r.cycle); !goesOn {
			return nil
		}
		lifecycle.Succeed(tx, next, tickets, r.time(e.at), r.cycle.Params)
		return r.start(tx, next, e.at)
	})
	if err != nil || ended.Attempt == 0 {
		return err
	}
	r.hold(e.at, ended.Submitter, -int64(r.Jobs[i].Cores))
	if r.resize(e.at, -cores); cores > 0 {
		delete(r.going, ended.SlotAd())
	}
	if how.Lost != "" {
		f.Lost += e.at - f.Start
		r.wait(e.at, 1, r.Jobs[i])
	} else {
		f.End, r.progress = e.at, e.at
		delete(r.index, e.Job)
		r.ended++
		r.arrivals.ended(i, e.at)
	}
	if !goesOn || next.Slot != ended.Slot {
		delete(r.claimed, ended.Slot)
	}
	if goesOn {
		r.started(next, e.at)
	}
	if r.Told != nil && r.ended%100 == 0 {
		return r.Told(r.ended, len(r.Jobs))
	}
	return nil
}

// worked returns for how long the slot of a claim has had jobs one after the other.
func (r *replay) worked(c pool.Claim, at int64) time.Duration {
	since, ok := r.claimed[c.Slot]
	if !ok {
		since = r.Fates[r.index[c.Job]].Start
		r.claimed[c.Slot] = since
	}
	return time.Duration(at-since) * time.Second
}

// negotiate makes a cycle, and returns how many jobs it matched.
func (r *replay) negotiate(at int64) (matched int, err error) {
	now := r.time(at)
	r.Cycles++
	var plan *negotiator.Plan
	var seen lifecycle.Snapshot
	if err := r.Spool.View(func(v *spool.View) error {
		seen = matchmaking.See(v, r.reader)
		seen.Pool.Learned = &r.learned
		plan = matchmaking.Compute(v, seen, r.Config, r.cycle, now)
		return nil
	}); err != nil {
		return 0, err
	}
	var made []negotiator.Match
	var begun []pool.Claim
	var told []event
	err = r.account(at, func(tx *spool.Tx) error {
		made = lifecycle.Match(tx, plan, seen, now, r.cycle.Params)
		begun, told = make([]pool.Claim, 0, len(made)), nil
		lifecycle.KeepPutOff(tx, nil, plan.PutOff)
		for _, m := range made {
			c, _ := tx.Claim(m.Job)
			if c.State == pool.Matched {
				begun = append(begun, c)
				if err := r.start(tx, c, at); err != nil {
					return err
				}
			} else if m.Preempts != nil {
				if victim, ok := tx.Claim(m.Preempts.Job); ok && victim.State == pool.Vacating {
					told = append(told, event{at + r.retires(tx, victim, now), pool.Attempt{Job: victim.Job, Number: victim.Attempt}, leaves})
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, e := range told {
		heap.Push(&r.coming, e)
	}
	for _, c := range begun {
		r.started(c, at)
	}
	r.measure(at, plan)
	return len(made), nil
}

// retires returns after how many seconds the job of a claim is told to leave its slot, when it ends.
func (r *replay) retires(tx *spool.Tx, c pool.Claim, now time.Time) int64 {
	slot, ad := lifecycle.SlotOf(&tx.View, c), (*classad.Ad)(nil)
	if ad, _ = tx.Job(c.Job); slot == nil || ad == nil || !lifecycle.LetsRetire(pool.Reason{Code: c.VacateCode, Subcode: c.VacateSubcode}) {
		return 0
	}
	allowed := launch.Retirement(&classad.Context{Now: now}, r.retirement, slot, ad)
	wait, _ := launch.Retiring(ad, r.Config.MachineMaxVacateTime, allowed, now.Sub(c.StartedAt))
	return int64((wait + time.Second - 1) / time.Second)
}

// measure notes how fair the pool is behind a cycle.
func (r *replay) measure(at int64, plan *negotiator.Plan) {
	claimants := make([]shares.Claimant, len(plan.Submitters))
	for i, s := range plan.Submitters {
		c := &claimants[i]
		c.EUP, c.Demand = s.EffectivePriority, float64(r.held[s.Name])
		if s.Idle > 0 {
			c.Demand += s.Demand * float64(s.Idle-s.Matched) / float64(s.Idle)
		}
	}
	off := 0.0
	divide := r.cycle.Division
	if divide == nil {
		divide = shares.Targets
	}
	all := divide(float64(r.cores), claimants)
	r.course.entitle(at, plan.Submitters, all)
	for i, entitled := range all {
		name := plan.Submitters[i].Name
		beyond := float64(r.held[name]) - entitled
		off += max(beyond, -beyond) / 2
		r.Surplus[name] += beyond * r.Interval.Seconds()
	}
	if r.waiting == 0 { // nobody lacks anything until the next cycle
		off = 0
	}
	r.error.set(at, off)
}

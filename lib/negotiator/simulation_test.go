package negotiator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// simulation plays cycles over policy time. Claims begin at the cycle that makes them, end
// when their jobs have run, or vacate when they are preempted, and are charged meanwhile
// in its accounts.
type simulation struct {
	cfg     Config
	slots   []pool.Slot
	users   []*simUser
	now     time.Time
	vacates time.Duration // how long a preempted job takes to leave
	claims  []*simClaim   // by the time when they began
	records map[string]accountant.Record
	still   map[string]float64 // RUPs that never change, if any
	ousted  []ousting
	samples []sample
	waves   []map[string]int // matches by submitter, of the cycles that made some
}

// simUser is a submitter that has always another job to run between from and until, or as
// long as it has any.
type simUser struct {
	name        string
	ad          *classad.Ad // of proc 0
	cluster     int
	most        int                          // jobs that there are; 0: no end of them
	length      func(proc int) time.Duration // of a job
	from, until time.Time                    // zero: always
	next        int                          // the first proc that never ran
	back        []int                        // procs that were preempted, which begin anew
}

// simClaim is a claim and when its job is done, or has left.
type simClaim struct {
	pool.Claim
	ends time.Time
}

// ousting is a preemption.
type ousting struct {
	at            time.Time
	winner, loser string
	slot, reason  string
	ran           time.Duration
}

// sample is what was held after a cycle.
type sample struct {
	at   time.Time
	held map[string]float64
	eups map[string]float64
}

// simulate returns a simulation of so many equal slots that begins now.
func simulate(t testing.TB, cfg Config, slots int) *simulation {
	return &simulation{cfg: cfg, slots: equal(t, slots, ""), now: now, records: map[string]accountant.Record{}}
}

// add adds a user whose jobs run for the same time, and that has so much of a factor.
func (s *simulation) add(t testing.TB, name string, factor float64, length time.Duration) *simUser {
	t.Helper()
	u := &simUser{name: name, cluster: len(s.users) + 1, length: func(int) time.Duration { return length }}
	u.ad = aJob(t, u.cluster, 1, name, "").Ad
	s.users = append(s.users, u)
	s.records[name] = accountant.Record{Name: name, Factor: factor}
	return u
}

// The accounts.

func (s *simulation) Submitter(name string) (accountant.Record, bool) {
	r, ok := s.records[name]
	if !ok {
		r.Name = name
	}
	return r, ok
}

func (s *simulation) PutSubmitter(r accountant.Record) { s.records[r.Name] = r }

func (s *simulation) Tally(k accountant.Key) (accountant.Tally, bool) {
	return accountant.Tally{Key: k}, false
}

func (s *simulation) PutTally(accountant.Tally) {}

func chargeOf(c pool.Claim) accountant.Charge {
	return accountant.Charge{Submitter: c.Submitter, Weight: c.Weight}
}

// play plays a cycle every so often until a time.
func (s *simulation) play(t testing.TB, every time.Duration, until time.Time) {
	t.Helper()
	for !s.now.After(until) {
		s.cycle(t)
		s.pass(s.now.Add(every))
	}
}

// pass lets time pass: jobs end, and others leave for those that their slots were promised
// to, one after the other.
func (s *simulation) pass(to time.Time) {
	for {
		var first *simClaim
		for _, c := range s.claims {
			if c.State != pool.Promised && !c.ends.After(to) && (first == nil || c.ends.Before(first.ends)) {
				first = c
			}
		}
		if first == nil {
			s.now = to
			return
		}
		s.now = first.ends
		s.end(first)
	}
}

// end ends a claim whose job is done or has left.
func (s *simulation) end(c *simClaim) {
	s.claims = slices.DeleteFunc(s.claims, func(o *simClaim) bool { return o == c })
	if c.State == pool.RunningClaim {
		chargeOf(c.Claim).End(s, c.MatchedAt, s.now, s.cfg.Params)
		return
	}
	u := s.userOf(c.Submitter)
	u.back = append(u.back, c.Job.Proc)
	for _, o := range s.claims {
		if c.Promises(o.Claim) {
			s.start(o)
		}
	}
}

// start starts the job of a claim.
func (s *simulation) start(c *simClaim) {
	c.State, c.StartedAt = pool.RunningClaim, s.now
	c.ends = s.now.Add(s.userOf(c.Submitter).length(c.Job.Proc))
}

func (s *simulation) userOf(name string) *simUser {
	return s.users[slices.IndexFunc(s.users, func(u *simUser) bool { return u.name == name })]
}

// jobs returns what a user has waiting.
func (u *simUser) jobs(now time.Time, slots int) (list []jobprio.Run) {
	if !u.from.IsZero() && now.Before(u.from) || !u.until.IsZero() && !now.Before(u.until) {
		return nil
	}
	for _, proc := range u.back {
		list = append(list, jobprio.Run{Procs: pool.Procs{Cluster: u.cluster, First: proc, Last: proc}, Submitter: u.name, Ad: procAd(u.ad, proc)})
	}
	count := slots + 1
	if u.most > 0 {
		count = min(count, u.most-u.next)
	}
	if count > 0 {
		list = append(list, jobprio.Run{Procs: pool.Procs{Cluster: u.cluster, First: u.next, Last: u.next + count - 1}, Submitter: u.name, Ad: procAd(u.ad, u.next)})
	}
	return list
}

// take takes a job out of those that wait.
func (u *simUser) take(proc int) {
	if i := slices.Index(u.back, proc); i >= 0 {
		u.back = slices.Delete(u.back, i, i+1)
	}
	u.next = max(u.next, proc+1)
}

// cycle plays a cycle, and does what it decides.
func (s *simulation) cycle(t testing.TB) {
	t.Helper()
	p := Pool{Slots: s.slots}
	for _, c := range s.claims {
		p.Claims = append(p.Claims, c.Claim)
	}
	for _, u := range s.users {
		p.Jobs = append(p.Jobs, u.jobs(s.now, len(s.slots))...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.records)) {
		r := s.records[name]
		if rup, is := s.still[name]; is {
			r.Priority, r.At = rup, s.now
		}
		p.Submitters = append(p.Submitters, r)
	}
	plan := Cycle(p, s.cfg, s.now)
	if len(plan.GiveUp)+len(plan.Warnings) > 0 {
		t.Fatalf("a cycle gives up %v and warns %q, want neither", plan.GiveUp, plan.Warnings)
	}
	for _, m := range plan.Matches {
		s.apply(t, m)
	}
	if len(plan.Matches) > 0 {
		s.waves = append(s.waves, matched(plan))
	}
	s.sample()
}

// apply does what a match says.
func (s *simulation) apply(t testing.TB, m Match) {
	t.Helper()
	c := &simClaim{Claim: pool.Claim{Job: m.Job, Attempt: 1, Slot: m.Slot, Submitter: m.Submitter, State: pool.Promised, Weight: m.Weight,
		Rank: m.Rank, MatchedAt: s.now}}
	s.userOf(m.Submitter).take(m.Job.Proc)
	at := slices.IndexFunc(s.claims, func(o *simClaim) bool { return o.Slot == m.Slot })
	switch {
	case m.Preempts == nil && at >= 0:
		t.Fatalf("%v: match %+v of a slot that runs %v", s.now, m, s.claims[at].Job)
	case m.Preempts != nil && (at < 0 || s.claims[at].Job != m.Preempts.Job || s.claims[at].State != pool.RunningClaim):
		t.Fatalf("%v: match %+v preempts what does not run there", s.now, m)
	}
	chargeOf(c.Claim).Begin(s, s.now, s.cfg.Params)
	s.claims = append(s.claims, c)
	if m.Preempts == nil {
		s.start(c)
		return
	}
	old := s.claims[at]
	s.ousted = append(s.ousted, ousting{s.now, m.Submitter, old.Submitter, m.Slot, m.Reason, s.now.Sub(old.StartedAt)})
	chargeOf(old.Claim).End(s, old.MatchedAt, s.now, s.cfg.Params)
	old.State, old.VacateSince, old.PromisedTo, old.ends = pool.Vacating, s.now, m.Job, s.now.Add(s.vacates)
}

// sample notes what is held, and EUPs.
func (s *simulation) sample() {
	held := map[string]float64{}
	for _, c := range s.claims {
		if c.State.Charged() {
			held[c.Submitter] += c.Weight.Float()
		}
	}
	eups := map[string]float64{}
	for _, u := range s.users {
		eups[u.name] = s.records[u.name].Effective(s.now, s.cfg.Params)
	}
	s.samples = append(s.samples, sample{s.now, held, eups})
}

// mean returns what a user held from a time on, on average.
func (s *simulation) mean(name string, from time.Time) float64 {
	sum, n := 0.0, 0
	for _, x := range s.samples {
		if !x.at.Before(from) {
			sum += x.held[name]
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// eupAt returns a user's EUP in the last cycle before a time.
func (s *simulation) eupAt(name string, at time.Time) (eup float64) {
	for _, x := range s.samples {
		if x.at.Before(at) {
			eup = x.eups[name]
		}
	}
	return eup
}

// oustings returns the preemptions from a time on.
func (s *simulation) oustings(from time.Time) []ousting {
	at, _ := slices.BinarySearchFunc(s.ousted, from, func(o ousting, t time.Time) int { return cmp.Compare(o.at.Unix(), t.Unix()) })
	return s.ousted[at:]
}

func (o ousting) String() string {
	return fmt.Sprintf("%s: %s takes %s from %s after %v", o.at.Format("02 15:04:05"), o.winner, o.slot, o.loser, o.ran)
}

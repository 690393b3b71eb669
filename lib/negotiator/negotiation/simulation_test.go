package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// simulation plays cycles over policy time. Claims begin at the cycle that makes them, end
// when their jobs have run, or vacate when they are preempted, and are charged meanwhile
// in its accounts.
type simulation struct {
	cfg     negotiator.Config
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
func simulate(t testing.TB, cfg negotiator.Config, slots int) *simulation {
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
	p := negotiator.Pool{Slots: s.slots}
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
func (s *simulation) apply(t testing.TB, m negotiator.Match) {
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

// randomSimulation returns a small pool whose users come one after the other, are worth
// different parts of it and have always more jobs; and for how long and how often it is to
// be played.
func randomSimulation(t *testing.T, seed uint64) (s *simulation, length, every time.Duration) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	cfg := preempting(t)
	cfg.Params.HalfLife = time.Duration(math.Exp(r.Float64()*math.Log(150)) * float64(10*time.Minute)).Round(time.Minute) // to 25 h
	s = simulate(t, cfg, 5+r.IntN(36))
	s.vacates = time.Duration(r.IntN(2)) * time.Minute
	for i := range 2 + r.IntN(3) {
		runs := time.Duration(math.Exp(r.Float64()*math.Log(100)) * float64(3*time.Hour)) // to 300 h
		u := s.add(t, fmt.Sprintf("u%d@x", i), []float64{1, 1, 2, 4, 9}[r.IntN(5)], runs)
		u.length = func(proc int) time.Duration { return runs * time.Duration(80+proc*37%41) / 100 }
		if i > 0 {
			u.from = s.now.Add(time.Duration(r.IntN(6*60)) * time.Minute)
		}
	}
	return s, time.Duration(3+r.IntN(4)) * 24 * time.Hour, time.Duration(12+r.IntN(9)) * time.Minute
}

// fixedPoint returns what users with always more jobs hold in the end: usages in the
// inverse ratio of the EUPs that they lead to. That is the ratio of the roots of the
// inverse factors, as long as nobody's RUP stays at its least.
func (s *simulation) fixedPoint() map[string]float64 {
	held, parts := map[string]float64{}, map[string]float64{}
	for range 200 {
		sum := 0.0
		for _, u := range s.users {
			parts[u.name] = 1 / (s.records[u.name].Factor * math.Max(held[u.name], accountant.MinPriority))
			sum += parts[u.name]
		}
		for name, part := range parts {
			held[name] = (held[name] + part/sum*float64(len(s.slots))) / 2
		}
	}
	return held
}

func TestFixedPoint(t *testing.T) {
	s := simulate(t, defaults(t), 30)
	s.add(t, "alice@x", 1, time.Hour)
	s.add(t, "bob@x", 4, time.Hour)
	if held := s.fixedPoint(); math.Abs(held["alice@x"]-20) > 1e-6 || math.Abs(held["bob@x"]-10) > 1e-6 {
		t.Errorf("fixed point = %v, want 20 and 10: factors of 1 and 4 are worth 2 and 1", held)
	}
}

// TestSharesOverDays plays some of the pools that TestSoakSharesOverDays draws.
func TestSharesOverDays(t *testing.T) {
	for _, seed := range []uint64{0, 1, 2, 6} {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			playDays(t, seed)
		})
	}
}

// TestSoakSharesOverDays plays pools for so long.
func TestSoakSharesOverDays(t *testing.T) {
	length, seed := testenv.Soak(t)
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { playDays(t, seed) })
	}
}

// playDays plays a pool in which everybody has always more jobs, and is preempted after an
// hour at the earliest. After some days everybody holds what its factor is worth, within two
// slots, and almost nobody is preempted any more.
func playDays(t *testing.T, seed uint64) {
	s, length, every := randomSimulation(t, seed)
	s.play(t, every, now.Add(length))
	late := now.Add(length / 2)
	for name, want := range s.fixedPoint() {
		if got := s.mean(name, late); math.Abs(got-want) > 2 {
			t.Errorf("%s holds %.2f of %d slots, want %.2f within 2", name, got, len(s.slots), want)
		}
		if least := s.least(name, late); want >= 2 && least < 1 {
			t.Errorf("%s holds %v slots at times, want 1 at least of %.2f", name, least, want)
		}
	}
	s.checkOustings(t)
	// Holdings are rounded to whole slots; the RUP follows the holdings, and the share the RUP.
	// It takes many half-lives until that is worth another slot.
	most := len(s.users) * (1 + int(length/2/(12*s.cfg.Params.HalfLife)))
	if got := s.oustings(late); len(got) > most {
		t.Errorf("in the second half of %v, with a half-life of %v, %d preemptions, want %d at most: %v",
			length, s.cfg.Params.HalfLife, len(got), most, got)
	}
}

// checkOustings checks what is true of preemption for priority, whoever the users are: a
// job has run for longer than PREEMPTION_REQUIREMENTS asks for, so that no two jobs
// take a slot from each other within that time; and nobody loses a slot in the cycle in
// which it takes one from somebody.
func (s *simulation) checkOustings(t *testing.T) {
	t.Helper()
	last := map[string]time.Time{}
	sides := map[time.Time]map[string]bool{} // whether a user is a winner of a cycle
	for _, o := range s.ousted {
		if o.ran <= time.Hour || o.at.Sub(last[o.slot]) <= time.Hour {
			t.Errorf("%v, the slot was taken before at %v, want more than an hour in between", o, last[o.slot])
		}
		last[o.slot] = o.at
		if sides[o.at] == nil {
			sides[o.at] = map[string]bool{}
		}
		for user, wins := range map[string]bool{o.winner: true, o.loser: false} {
			if won, known := sides[o.at][user]; known && won != wins {
				t.Errorf("%v, and %s is on the other side in the same cycle", o, user)
			}
			sides[o.at][user] = wins
		}
	}
}

// least returns the least that a user held from a time on.
func (s *simulation) least(name string, from time.Time) float64 {
	least := math.Inf(1)
	for _, x := range s.samples {
		if !x.at.Before(from) {
			least = math.Min(least, x.held[name])
		}
	}
	return least
}

// TestEqualUsersKeepTheirSlots has two equal users whose jobs never end. In a pool that can be
// halved nobody is preempted any more in the end; of an odd slot the two take turns, each
// when its RUP has come as near to what it holds as numbers are told apart.
func TestEqualUsersKeepTheirSlots(t *testing.T) {
	const length = 6 * 24 * time.Hour
	for _, c := range []struct {
		slots    int
		halfLife time.Duration
	}{{10, 24 * time.Hour}, {10, 4 * time.Hour}, {10, 15 * time.Minute}, {11, 24 * time.Hour}, {11, 4 * time.Hour}, {11, 15 * time.Minute}} {
		t.Run(fmt.Sprintf("%d slots, half-life %v", c.slots, c.halfLife), func(t *testing.T) {
			t.Parallel()
			cfg := preempting(t)
			cfg.Params.HalfLife = c.halfLife
			s := simulate(t, cfg, c.slots)
			s.vacates = time.Minute
			s.add(t, "alice@x", 1, 1e4*time.Hour)
			s.add(t, "bob@x", 1, 1e4*time.Hour).from = now.Add(2 * time.Hour)
			s.play(t, 20*time.Minute, now.Add(length))
			s.checkOustings(t)
			most := 0
			if c.slots%2 > 0 {
				most = 1 + int(length/2/(25*c.halfLife))
			}
			if got := s.oustings(now.Add(length / 2)); len(got) > most {
				t.Errorf("%d preemptions in the last days, want %d at most: %v", len(got), most, got)
			}
			held := s.samples[len(s.samples)-1].held
			if a, b := held["alice@x"], held["bob@x"]; a+b != float64(c.slots) || math.Abs(a-b) > 1 {
				t.Errorf("alice and bob hold %v and %v in the end, want halves", a, b)
			}
		})
	}
}

// TestQuotasOverDays plays a pool of 20 slots and two groups with quotas of 12 and 8: astro
// has always more jobs, bio in the second and third day.
func TestQuotasOverDays(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name         string
		surplus      bool
		requirements string
		length       time.Duration
		early, then  string // what is held six hours after bio came, and a day
		preempted    bool
	}{
		{"surplus comes back by preemption", true, "(time() - EnteredCurrentState) > 3600", 1e4 * time.Hour, "astro:12 bio:8", "astro:12 bio:8", true},
		{"or as jobs end", true, "false", 20 * time.Hour, "astro:20", "astro:12 bio:8", false},
		{"or not at all", true, "false", 1e4 * time.Hour, "astro:20", "astro:20", false},
		{"without surplus", false, "(time() - EnteredCurrentState) > 3600", 1e4 * time.Hour, "astro:12 bio:8", "astro:12 bio:8", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := quotas(t, accountant.Group{Name: "astro", Quota: 12, AcceptSurplus: c.surplus}, accountant.Group{Name: "bio", Quota: 8, AcceptSurplus: c.surplus})
			cfg.Preemption = preempting(t).Preemption
			cfg.Preemption.Requirements = expr(t, c.requirements)
			cfg.Params.HalfLife = 6 * time.Hour
			s := simulate(t, cfg, 20)
			s.vacates = time.Minute
			s.add(t, "astro.alice@x", 1, c.length)
			bio := s.add(t, "bio.bob@x", 1, min(c.length, 10*time.Hour))
			bio.from, bio.until = now.Add(day), now.Add(3*day)
			s.play(t, 20*time.Minute, now.Add(4*day))
			s.checkOustings(t)
			alone := "astro:20"
			if !c.surplus {
				alone = "astro:12"
			}
			for _, at := range []struct {
				after time.Duration
				want  string
			}{{12 * time.Hour, alone}, {day + 6*time.Hour, c.early}, {2*day + 6*time.Hour, c.then}, {4 * day, alone}} {
				if got := s.groupsAt(now.Add(at.after)); got != at.want {
					t.Errorf("after %v hold %s, want %s", at.after, got, at.want)
				}
			}
			if got := len(s.ousted); got > 0 != c.preempted {
				t.Errorf("%d preemptions: %v, want some: %v", got, s.ousted, c.preempted)
			}
		})
	}
}

// groupsAt tells what groups held at a time, as name:slots, by name.
func (s *simulation) groupsAt(at time.Time) string {
	held := map[string]float64{}
	for _, x := range s.samples {
		if x.at.After(at) {
			break
		}
		clear(held)
		for name, n := range x.held {
			held[s.cfg.Params.Groups.NameOf(name)] += n
		}
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(held)) {
		text += fmt.Sprintf(" %s:%v", name, held[name])
	}
	return text[min(1, len(text)):]
}

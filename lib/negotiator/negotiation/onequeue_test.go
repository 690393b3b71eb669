package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// byPrio is the policy of these tests: JobPrio orders jobs, of equal ones the lower ID goes
// first, those below 0 are blocked, and those that say so. User bounds the jobs of one submitter: soft, hard.
type byPrio struct{ user []int }

func (q byPrio) Name() string         { return "byPrio" }
func (q byPrio) Attributes() []string { return []string{"JobPrio", "Blocked"} }

func (q byPrio) Order(w jobprio.Waiting) (o jobprio.Order) {
	prio := func(r jobprio.Run) int64 { n, _ := r.Ad.EvalInt(nil, "JobPrio"); return n }
	for i, r := range w.Idle {
		all := jobprio.Part{Run: i, Procs: r.Procs}
		blocked, _ := r.Ad.EvalBool(nil, "Blocked")
		if n := prio(r); n < 0 || blocked {
			o.Blocked = append(o.Blocked, jobprio.Blocked{Part: all, Priority: float64(n), Why: "negative priority"})
		} else {
			o.Places = append(o.Places, jobprio.Place{Part: all, Priority: float64(n), QOS: "q", PE: 1})
		}
	}
	slices.SortFunc(o.Places, func(a, b jobprio.Place) int {
		if a.Priority != b.Priority {
			return int(b.Priority - a.Priority)
		}
		return w.Idle[a.Run].FirstJob().Compare(w.Idle[b.Run].FirstJob())
	})
	o.CountPassed = true
	if q.user != nil {
		l := &userLimits{most: q.user, used: map[string]int{}}
		for _, r := range w.Running {
			l.used[r.Submitter]++
		}
		o.Limits = l
	}
	return o
}

type userLimits struct {
	most  []int
	users []string
	used  map[string]int
}

func (l *userLimits) Attributes() []string { return []string{"Owner"} }

func (l *userLimits) Kind(r jobprio.Run) int {
	l.users = append(l.users, r.Submitter)
	return len(l.users) - 1
}

func (l *userLimits) Refuses(kind int, hard bool) string {
	if most, n := l.bound(hard), l.used[l.users[kind]]; n >= most {
		return fmt.Sprintf("MAXJOB %d of user %s: %d in use", most, l.users[kind], n)
	}
	return ""
}

func (l *userLimits) Admits(kind int, ended []int, hard bool) bool {
	n := l.used[l.users[kind]]
	for _, e := range ended {
		if l.users[e] == l.users[kind] {
			n--
		}
	}
	return n < l.bound(hard)
}

func (l *userLimits) bound(hard bool) int {
	if hard {
		return l.most[1]
	}
	return l.most[0]
}

func (l *userLimits) Take(kind int)    { l.used[l.users[kind]]++ }
func (l *userLimits) Lasting(int) bool { return true }

// ran counts what claims run for a policy.
func ran(claims []pool.Claim, t testing.TB) (list []jobprio.Running) {
	for _, cl := range claims {
		list = append(list, jobprio.Running{Run: jobprio.Run{Procs: pool.Only(cl.Job), Submitter: cl.Submitter, Ad: aJob(t, 1, 1, cl.Submitter, "").Ad}, Started: cl.StartedAt})
	}
	return list
}

func TestOneQueue(t *testing.T) {
	prefers := "Rank = TARGET.JobPrio"
	for _, c := range []struct {
		name  string
		slots []pool.Slot
		jobs  []jobprio.Run
		users []accountant.Record
		runs  []pool.Claim
		user  []int // limits
		want  string
	}{
		{name: "no shares: whoever is first has all", slots: equal(t, 3, ""), users: []accountant.Record{record("alice@x", 1), record("bob@x", 1000)},
			jobs: []jobprio.Run{aJob(t, 1, 3, "alice@x", "JobPrio = 1"), aJob(t, 2, 3, "bob@x", "JobPrio = 2")}, want: "2.0>slot1 2.1>slot2 2.2>slot3"},
		{name: "submitters take turns as their jobs stand", slots: equal(t, 4, ""),
			jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "JobPrio = 9"), aJob(t, 2, 2, "bob@x", "JobPrio = 8"), aJob(t, 3, 3, "alice@x", "JobPrio = 7")}, want: "1.0>slot1 2.0>slot2 2.1>slot3 3.0>slot4"},
		{name: "passed over, but first where it can", slots: append(equal(t, 1, ""), aSlot(t, "big", "Memory = 4096")),
			jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", "JobPrio = 9; RequestMemory = 2048"), aJob(t, 2, 2, "bob@x", "JobPrio = 8")}, want: "1.0>big 2.0>slot1"},
		{name: "blocked", slots: equal(t, 2, ""), jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "JobPrio = -1"), aJob(t, 2, 1, "alice@x", "")}, want: "2.0>slot1"},
		{name: "nice users behind all others", slots: equal(t, 3, ""),
			jobs: []jobprio.Run{aJob(t, 1, 9, "nice-user.alice@x", "JobPrio = 9"), aJob(t, 2, 2, "bob@x", "")}, want: "2.0>slot1 2.1>slot2 1.0>slot3"},
		{name: "and behind those beyond soft limits", slots: equal(t, 3, ""), user: []int{1, 2},
			jobs: []jobprio.Run{aJob(t, 1, 9, "nice-user.alice@x", "JobPrio = 9"), aJob(t, 2, 3, "bob@x", "")}, want: "2.0>slot1 2.1>slot2 1.0>slot3"},
		{name: "soft limits first, then hard ones", slots: equal(t, 6, ""), user: []int{1, 3},
			jobs: []jobprio.Run{aJob(t, 1, 9, "alice@x", "JobPrio = 9"), aJob(t, 2, 2, "bob@x", "")}, want: "1.0>slot1 2.0>slot2 1.1>slot3 1.2>slot4 2.1>slot5"},
		{name: "what runs counts", slots: equal(t, 4, ""), user: []int{2, 2}, runs: runs(7, "alice@x", 1, 1, time.Minute),
			jobs: []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, want: "1.0>slot2"},
		{name: "ceilings", slots: equal(t, 4, ""), users: []accountant.Record{bounded("alice@x", 1, 2, 0)},
			jobs: []jobprio.Run{aJob(t, 1, 9, "alice@x", "JobPrio = 9"), aJob(t, 2, 1, "bob@x", "")}, want: "1.0>slot1 1.1>slot2 2.0>slot3"},
		{name: "floors do not count", slots: equal(t, 2, ""), users: []accountant.Record{bounded("alice@x", 1, 9, 2)},
			jobs: []jobprio.Run{aJob(t, 1, 9, "alice@x", ""), aJob(t, 2, 9, "bob@x", "JobPrio = 9")}, want: "2.0>slot1 2.1>slot2"},
		{name: "nobody is preempted for a priority", slots: equal(t, 2, ""), users: []accountant.Record{record("alice@x", 1), record("bob@x", 1000)},
			runs: runs(7, "bob@x", 1, 2, 9*time.Hour), jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", "JobPrio = 9")}},
		{name: "but where a slot prefers the job", slots: []pool.Slot{aSlot(t, "slot1", ""), aSlot(t, "slot2", prefers)}, users: []accountant.Record{record("alice@x", 1000)},
			runs: runs(7, "bob@x", 1, 2, time.Minute), jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", "JobPrio = 9")}, want: "1.0>slot2"},
		{name: "whose holder may use more then, and goes first",
			slots: []pool.Slot{aSlot(t, "slot1", prefers), aSlot(t, "slot2", ""), aSlot(t, "slot3", "")}, users: []accountant.Record{bounded("bob@x", 1, 1, 0)},
			runs: runs(7, "bob@x", 1, 1, time.Minute), jobs: []jobprio.Run{aJob(t, 1, 2, "bob@x", "JobPrio = 9; Requirements = TARGET.SlotID == 1 && TARGET.Name != \"slot1\""),
				aJob(t, 2, 1, "alice@x", "JobPrio = 8; Rank = TARGET.Name == \"slot1\""), aJob(t, 3, 2, "alice@x", "JobPrio = 7")}, want: "2.0>slot1 1.0>slot2 3.0>slot3"},
	} {
		cfg := defaults(t)
		cfg.Queue = byPrio{c.user}
		cfg.PreJobRank, cfg.PostJobRank = nil, nil
		cfg.Preemption = negotiator.Preemption{Consider: true, Requirements: expr(t, "true")}
		p := negotiator.Pool{Slots: c.slots, Jobs: c.jobs, Submitters: c.users, Claims: c.runs, Running: ran(c.runs, t)}
		plan := Cycle(p, cfg, now)
		if got := pairs(plan); got != c.want {
			t.Errorf("%s: Cycle matches %s, want %s", c.name, got, c.want)
		}
		for _, m := range plan.Matches {
			if m.QOS != "q" || m.PE != 1 {
				t.Errorf("%s: match %+v, want the QOS q and a PE of 1, as its place says", c.name, m)
			}
		}
	}
}

// What a cycle passes over is counted by the matches of jobs behind it.
func TestPassed(t *testing.T) {
	cfg := defaults(t)
	cfg.Queue = byPrio{}
	p := negotiator.Pool{Slots: equal(t, 3, ""), Jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", "JobPrio = 9; RequestCpus = 2"), aJob(t, 2, 1, "bob@x", "JobPrio = 8"),
		aJob(t, 3, 1, "carol@x", "JobPrio = 7; RequestCpus = 3"), aJob(t, 4, 3, "bob@x", "JobPrio = 6"), aJob(t, 5, 1, "bob@x", "JobPrio = -1")}}
	want := []negotiator.Passed{{Procs: pool.Procs{Cluster: 1, First: 0, Last: 1}, Times: 3}, {Procs: pool.Procs{Cluster: 3, First: 0, Last: 0}, Times: 2}}
	if got := Cycle(p, cfg, now).Passed; !slices.Equal(got, want) {
		t.Errorf("Passed = %+v, want %+v", got, want)
	}
}

// Nice users are served last, and that is where they stand: nobody else has passed them, and
// the reasons tell their places behind all others.
func TestPlacesOfNiceUsers(t *testing.T) {
	cfg := defaults(t)
	cfg.Queue = byPrio{}
	plan := Cycle(negotiator.Pool{Slots: equal(t, 1, ""), Jobs: []jobprio.Run{aJob(t, 1, 2, "nice-user.alice@x", "JobPrio = 9"), aJob(t, 2, 2, "bob@x", "")}}, cfg, now)
	if len(plan.Passed) != 0 {
		t.Errorf("Passed = %+v, want nobody", plan.Passed)
	}
	places := map[string]int{}
	for _, r := range plan.Rejections {
		places[r.Submitter] = r.Place
	}
	if want := map[string]int{"bob@x": 1, "nice-user.alice@x": 2}; !maps.Equal(places, want) {
		t.Errorf("places %v, want %v", places, want)
	}
}

// Quotas bound groups, and the queue goes on inside of them and between them.
func TestQuotasInOneQueue(t *testing.T) {
	static := func(name string, quota float64) accountant.Group { return accountant.Group{Name: name, Quota: quota} }
	accepts, regroups := static("chem", 2), static("chem", 2)
	accepts.AcceptSurplus, regroups.Autoregroup = true, true
	for _, c := range []struct {
		name   string
		slots  int
		groups []accountant.Group
		loose  bool
		wants  string // group:jobs:JobPrio
		want   string
	}{
		{"the first in the queue, up to its quota", 6, []accountant.Group{static("phys", 4), static("chem", 2)}, false, "chem:9:9 phys:9:1", "chem:2 phys:4"},
		{"what a group leaves goes to nobody's", 6, []accountant.Group{static("phys", 4), static("chem", 2)}, false, "chem:9:9 phys:1:1 <none>:9:0", "<none>:3 chem:2 phys:1"},
		{"or to one that accepts surplus", 6, []accountant.Group{static("phys", 4), accepts}, false, "chem:9:0 phys:1:9 <none>:9:9", "chem:5 phys:1"},
		{"who regroups comes behind all groups", 6, []accountant.Group{static("phys", 4), regroups}, false, "chem:9:9 phys:9:1", "chem:2 phys:4"},
		{"and among nobody's as it stands in the queue", 8, []accountant.Group{static("phys", 4), regroups}, false, "chem:9:9 phys:1:1 <none>:9:5", "chem:7 phys:1"},
		{"as all of those", 8, []accountant.Group{static("phys", 4), regroups}, false, "chem:9:5 phys:1:1 <none>:3:9", "<none>:3 chem:4 phys:1"},
		{"a subgroup below one that does not accept surplus", 8, []accountant.Group{static("a", 4), {Name: "a.x", Quota: 1, AcceptSurplus: true}, static("b", 2)}, false, "a.x:9:9 b:9:9", "a.x:4 b:2"},
		{"whole slots of fractions", 10, []accountant.Group{{Name: "a", Quota: .25, Dynamic: true, AcceptSurplus: true}, {Name: "b", Quota: .75, Dynamic: true, AcceptSurplus: true}}, false, "a:9:1 b:9:9", "a:2 b:8"},
		{"quotas that are too large for the pool", 4, []accountant.Group{static("a", 4), static("b", 4)}, true, "a:9:1 b:9:9", "b:4"},
	} {
		cfg := quotas(t, c.groups...)
		cfg.Queue = byPrio{}
		cfg.Quotas.Strict = !c.loose
		p := negotiator.Pool{Slots: equal(t, c.slots, "")}
		for i, one := range strings.Fields(c.wants) {
			parts := strings.Split(one, ":")
			n := 0
			fmt.Sscan(parts[1], &n)
			who := parts[0] + ".alice@x"
			if parts[0] == "<none>" {
				who = "zoe@x"
			}
			p.Jobs = append(p.Jobs, aJob(t, i+1, n, who, "JobPrio = "+parts[2]))
		}
		if got := inGroups(Cycle(p, cfg, now), cfg); got != c.want {
			t.Errorf("%s: matches %s, want %s", c.name, got, c.want)
		}
	}
}

// A slot is reserved for the first wide job in the queue, whatever shares would say, but not for
// one that a limit of the policy keeps from running.
func TestReservationsInOneQueue(t *testing.T) {
	for _, c := range []struct {
		name string
		user []int
		want string
	}{
		{"in the order of the queue", nil, "slot1@n1 for 4.0"},
		{"limits", []int{1, 1}, "slot1@n1 for 3.0"},
	} {
		cfg := defaults(t)
		cfg.Queue, cfg.Reserve = byPrio{c.user}, negotiator.Reserve{Fraction: 0.4, Time: time.Hour}
		p := negotiator.Pool{Slots: []pool.Slot{aNode(t, "slot1@n1", ""), aNode(t, "slot1@n2", "")}, Submitters: []accountant.Record{record("bob@x", 1000)},
			Jobs: []jobprio.Run{aJob(t, 3, 1, "alice@x", "JobPrio = 5; RequestCpus = 8"), aJob(t, 4, 1, "bob@x", "JobPrio = 8; RequestCpus = 8")}}
		for i := range 14 {
			who := "carol@x"
			if i == 0 {
				who = "bob@x"
			}
			p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 9, Proc: i}, Attempt: 1, Slot: pool.DynamicName(fmt.Sprintf("slot1@n%d", i%2+1), i/2+1), Submitter: who,
				Piece: pool.Piece{Of: fmt.Sprintf("slot1@n%d", i%2+1), Takes: "Cpus=1 Memory=128"}, State: pool.RunningClaim, Weight: accountant.One, MatchedAt: now, StartedAt: now})
		}
		p.Running = ran(p.Claims, t)
		plan := Cycle(p, cfg, now)
		var got []string
		for _, r := range plan.Reservations {
			got = append(got, fmt.Sprintf("%s for %s", r.Slot, r.Job))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: reserved %v, want %s", c.name, got, c.want)
		}
	}
}

// inTurns is a policy that costs next to nothing: the runs of all submitters by ID, with a limit
// that bounds nobody.
type inTurns struct{}

func (inTurns) Name() string         { return "in turns" }
func (inTurns) Attributes() []string { return []string{"QDate"} }

func (inTurns) Order(w jobprio.Waiting) jobprio.Order {
	o := jobprio.Order{Limits: noLimits{}, CountPassed: true, Places: make([]jobprio.Place, len(w.Idle))}
	for i, r := range w.Idle {
		o.Places[i] = jobprio.Place{Part: jobprio.Part{Run: i, Procs: r.Procs}}
	}
	slices.SortFunc(o.Places, func(a, b jobprio.Place) int {
		x, y := w.Idle[a.Run].FirstJob(), w.Idle[b.Run].FirstJob()
		return cmp.Or(cmp.Compare(x.Proc, y.Proc), cmp.Compare(x.Cluster, y.Cluster))
	})
	return o
}

type noLimits struct{}

func (noLimits) Attributes() []string         { return []string{"JobPrio"} }
func (noLimits) Kind(jobprio.Run) int         { return 0 }
func (noLimits) Refuses(int, bool) string     { return "" }
func (noLimits) Admits(int, []int, bool) bool { return true }
func (noLimits) Take(int)                     {}
func (noLimits) Lasting(int) bool             { return true }

// BenchmarkOneQueue deals by one queue and, to compare, by shares. Runs is how many there are of
// each shape: their procs come in turns, so that the next job is always another submitter's.
func BenchmarkOneQueue(b *testing.B) {
	for _, c := range []struct{ jobs, shapes, runs, slots, kinds int }{
		{100_000, 100, 1, 1_000, 25},
		{100_000, 100, 1_000, 1_000, 25},
		{1_000_000, 100, 1, 10_000, 100},
		{1_000_000, 100, 100, 10_000, 100},
	} {
		p := bigPool(b, c.jobs, c.shapes, c.slots, c.kinds)
		var cut []jobprio.Run
		for _, j := range p.Jobs {
			each := j.Count() / c.runs
			for i := range c.runs {
				ad := classad.New().Chain(j.Ad)
				ad.SetInt(pool.AttrProcID, int64(i*each))
				cut = append(cut, jobprio.Run{Procs: pool.Procs{Cluster: j.Cluster, First: i * each, Last: i*each + each - 1}, Submitter: j.Submitter, Ad: ad})
			}
		}
		p.Jobs = cut
		for _, policy := range []jobprio.Queue{nil, inTurns{}} {
			b.Run(fmt.Sprintf("jobs=%d/runs=%d/slots=%d/one=%v", c.jobs, len(p.Jobs), c.slots, policy != nil), func(b *testing.B) {
				cfg := defaults(b)
				cfg.Queue = policy
				b.ReportAllocs()
				for b.Loop() {
					if plan := Cycle(p, cfg, now); len(plan.Matches) != c.slots {
						b.Fatalf("%d matches, want %d", len(plan.Matches), c.slots)
					}
				}
			})
		}
	}
}

package sge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

func runOf(t testing.TB, cluster, count int, text string) jobprio.Run {
	t.Helper()
	return jobprio.Run{Procs: pool.Procs{Cluster: cluster, First: 0, Last: count - 1}, Submitter: "someone@example.org", Ad: adOf(t, text)}
}

func runningOf(t testing.TB, cluster int, text string) jobprio.Running {
	t.Helper()
	return jobprio.Running{Run: runOf(t, cluster, 1, text), Started: time.Unix(noon, 0)}
}

var queueWorld = World{Now: time.Unix(noon, 0), FreeSlots: 2}

// shared is a functional policy of users only, which is all that has tickets.
func shared() *Config {
	return &Config{
		WeightPriority: 1, WeightTicket: 0.01, TicketsFunctional: 1_000_000, WeightUser: 1, ShareFunctional: true, MaxFunctional: 200, MaxPendingTasks: 50,
		ReportPending: true, Users: map[string]Object{"alice": {FShare: 100}, "bob": {FShare: 300}, "carol": {FShare: 50}},
	}
}

// TestQueueOrder: the spec's worked example of functional users, as a queue; the fourth of
// alice's procs is not counted with two slots free.
func TestQueueOrder(t *testing.T) {
	w := jobprio.Waiting{Idle: []jobprio.Run{
		runOf(t, 1, 4, `Owner = "alice"; QDate = 900`), runOf(t, 2, 2, `Owner = "bob"; QDate = 900`), runOf(t, 3, 1, `Owner = "carol"; QDate = 900`),
		runOf(t, 4, 1, `Owner = "dave"; QDate = 800`), runOf(t, 5, 1, `Owner = "dave"; QDate = 850; JobPrio = -5`),
	}}
	q := NewQueue(shared(), queueWorld)
	told := func() (list []string) {
		for _, p := range q.Order(w).Places {
			list = append(list, fmt.Sprintf("%d.%d x%d %.6f %v", p.Cluster, p.First, p.Count(), p.Priority, p.Tickets))
		}
		return list
	}
	want := []string{"2.0 x1 0.510000 0", "2.1 x1 0.505000 0", "1.0 x1 0.502500 0", "1.1 x1 0.501250 0", "3.0 x1 0.501111 0", "1.2 x1 0.500741 0",
		"4.0 x1 0.500000 0", "1.3 x1 0.500000 0", "5.0 x1 0.497559 0"}
	if got := told(); !slices.Equal(got, want) {
		t.Errorf("the order is\n%q, want\n%q", got, want)
	}
	if o := q.Order(w); o.Tickets != nil || o.Limits != nil || o.Blocked != nil || o.Clocks != nil || o.CountPassed {
		t.Errorf("the order has more than places: %+v", o)
	}
	q.KeepTickets(true)
	want = []string{"2.0 x1 0.510000 1e+06", "2.1 x1 0.505000 500000", "1.0 x1 0.502500 250000", "1.1 x1 0.501250 125000", "3.0 x1 0.501111 111111", "1.2 x1 0.500741 74074",
		"4.0 x1 0.500000 0", "1.3 x1 0.500000 0", "5.0 x1 0.497559 0"}
	if got := told(); !slices.Equal(got, want) {
		t.Errorf("with tickets the order is\n%q, want\n%q", got, want)
	}
	if q.Name() != "sge" || !slices.Contains(q.Attributes(), pool.AttrJobPrio) {
		t.Errorf("the queue is called %s, made from %v", q.Name(), q.Attributes())
	}
}

// TestQueueTickets: jobs that run have theirs; one that is suspended keeps those that it has,
// and takes no part.
func TestQueueTickets(t *testing.T) {
	w := jobprio.Waiting{
		Idle: []jobprio.Run{runOf(t, 9, 3, `Owner = "carol"; QDate = 900`)},
		Running: []jobprio.Running{
			runningOf(t, 1, `Owner = "alice"; JobStatus = 2; QDate = 900`), runningOf(t, 2, `Owner = "carol"; JobStatus = 7; QDate = 900`),
			runningOf(t, 3, `Owner = "bob"; JobStatus = 1; QDate = 900`), runningOf(t, 4, `Owner = "dave"; JobStatus = 5; QDate = 900`),
		},
	}
	q := NewQueue(shared(), queueWorld)
	q.KeepTickets(true)
	o := q.Order(w)
	if want := []float64{250000, -1, 750000, 0}; !slices.Equal(o.Tickets, want) {
		t.Errorf("the tickets are %v, want %v", o.Tickets, want)
	}
	q.SpareRunning(true)
	if o := q.Order(w); !slices.Equal(o.Tickets, []float64{-1, -1, -1, -1}) || o.Places[0].Tickets == 0 {
		t.Errorf("jobs that run are told to have %v, places %+v", o.Tickets, o.Places)
	}
	l := q.Listing(w)
	for i, want := range []struct {
		index int
		ok    bool
	}{{0, true}, {0, false}, {1, true}, {2, true}} {
		index, job, ok := l.Running(i)
		if index != want.index || ok != want.ok || ok && job.ID != w.Running[i].FirstJob() {
			t.Errorf("Running(%d) = %d, %+v, %v, want %+v", i, index, job, ok, want)
		}
	}
	if got := l.Job(0).User; got != "carol" {
		t.Errorf("the first job that waits is %s's, want carol's", got)
	}
	// Without a weight of tickets places are parted all the same where they differ.
	c := shared()
	c.WeightTicket = 0
	q = NewQueue(c, queueWorld)
	if n := len(q.Order(w).Places); n != 1 {
		t.Errorf("%d places of equal priority, want 1", n)
	}
	q.KeepTickets(true)
	var got []string
	for _, p := range q.Order(w).Places {
		got = append(got, fmt.Sprint(p.First, " ", p.Count(), " ", p.Tickets))
	}
	if want := []string{"0 1 111111", "1 1 55555", "2 1 37037"}; !slices.Equal(got, want) {
		t.Errorf("places by tickets are %q, want %q", got, want)
	}
}

// TestUserLimit follows maxujobs; suspended jobs count, those of nobody do not.
func TestUserLimit(t *testing.T) {
	c := shared()
	c.MaxUserJobs = 2
	w := jobprio.Waiting{Running: []jobprio.Running{runningOf(t, 1, `Owner = "alice"; JobStatus = 7`), runningOf(t, 2, ""), runningOf(t, 3, ""), runningOf(t, 4, "")}}
	l := NewQueue(c, queueWorld).Order(w).Limits
	alice, bob, nobody := l.Kind(runOf(t, 5, 1, `Owner = "alice"`)), l.Kind(runOf(t, 6, 1, `Owner = "bob"`)), l.Kind(runOf(t, 7, 1, ""))
	if alice == bob || bob == nobody || l.Kind(runOf(t, 8, 3, `Owner = "alice"; JobPrio = 3`)) != alice {
		t.Errorf("the kinds of alice, bob and nobody are %d, %d, %d", alice, bob, nobody)
	}
	refused := func() string {
		return fmt.Sprintf("%s|%s|%s", l.Refuses(alice, false), l.Refuses(bob, true), l.Refuses(nobody, true))
	}
	if got := refused(); got != "||" {
		t.Errorf("with one of alice's in use: %s", got)
	}
	l.Take(alice)
	if got, want := refused(), "maxujobs 2 of user alice: 2 in use||"; got != want {
		t.Errorf("with two of them: %s, want %s", got, want)
	}
	if l.Admits(alice, nil, true) || l.Admits(alice, []int{bob, nobody}, true) || !l.Admits(alice, []int{bob, alice}, true) || !l.Admits(bob, nil, false) || !l.Admits(nobody, nil, true) {
		t.Error("who is admitted is not who has fewer than two")
	}
	if l.Refuses(alice, true) != l.Refuses(alice, false) || !l.Lasting(alice) || !slices.Equal(l.Attributes(), []string{pool.AttrOwner}) {
		t.Error("there is a soft limit, or one that does not last, or one not by Owner")
	}
}

// single is what an order says of one proc.
type single struct {
	id            pool.JobID
	prio, tickets float64
}

func singles(w jobprio.Waiting, o jobprio.Order) (list []single) {
	for _, p := range o.Places {
		for id := range p.Jobs() {
			list = append(list, single{id, p.Priority, p.Tickets})
		}
	}
	return list
}

func drawnConfig(t *rapid.T) *Config {
	c := known()
	c.WeightPriority, c.WeightUrgency, c.WeightTicket = 1, 0.1, rapid.SampledFrom([]float64{0, 0.01, 1}).Draw(t, "weight_ticket")
	c.WeightWaitingTime, c.WeightDeadline = 1, 3600000
	c.WeightUser, c.WeightProject, c.WeightDepartment, c.WeightJob = 1, 1, 1, 1
	c.TicketsFunctional, c.TicketsShare = rapid.SampledFrom([]float64{0, 1000}).Draw(t, "F"), rapid.SampledFrom([]float64{0, 1000}).Draw(t, "T")
	c.ShareFunctional, c.ShareOverride = rapid.Bool().Draw(t, "share F"), rapid.Bool().Draw(t, "share O")
	c.MaxFunctional, c.MaxPendingTasks = rapid.IntRange(0, 9).Draw(t, "most F"), rapid.IntRange(1, 4).Draw(t, "most tasks")
	c.Hierarchy = rapid.SampledFrom([][]TicketPolicy{nil, {Override, Functional, ShareTree}, {ShareTree}}).Draw(t, "hierarchy")
	c.Users = map[string]Object{"alice": {FShare: 3, OTicket: 50}, "bob": {FShare: 1}}
	c.Tree = &Node{Name: "Root", Shares: 1, Children: []*Node{{Name: "alice", Shares: 2}, {Name: DefaultNode, Shares: 1}}}
	c.MaxUserJobs = rapid.IntRange(0, 3).Draw(t, "maxujobs")
	return c
}

func drawnWaiting(t *rapid.T, outer testing.TB) (w jobprio.Waiting) {
	pick := func(of string, from ...string) string { return rapid.SampledFrom(from).Draw(t, of) }
	attributes := func() string {
		return pick("user", `Owner = "alice"; `, `Owner = "bob"; `, `Owner = "carol"; `, "") + pick("project", `Project = "pb"; `, "", "") + pick("prio", "JobPrio = 3; ", "", "") +
			pick("lic", "RequestLic = 2; ", "", "") + pick("share", "JobShare = 5; ", "") + pick("slots", `ParallelSlots = "2-4"; `, "", "") + pick("tickets", "OverrideTickets = 70; ", "", "") +
			pick("deadline", fmt.Sprintf("Deadline = %d; ", noon+100), "", "") + pick("date", "QDate = 900", "QDate = 901")
	}
	for i := range rapid.IntRange(0, 7).Draw(t, "idle") {
		r := runOf(outer, 1+i, rapid.IntRange(1, 5).Draw(t, "count"), attributes())
		proc := rapid.IntRange(0, 3).Draw(t, "proc")
		r.First, r.Last = proc, proc+r.Last
		w.Idle = append(w.Idle, r)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "running") {
		w.Running = append(w.Running, runningOf(outer, 101+i, attributes()+pick("status", "; JobStatus = 2", "; JobStatus = 7")))
	}
	return w
}

// Every job that waits stands in one place, and places descend.
func TestEveryJobHasOnePlace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, q := drawnWaiting(rt, t), NewQueue(drawnConfig(rt), queueWorld)
		q.KeepTickets(rapid.Bool().Draw(rt, "keep tickets"))
		o := q.Order(w)
		seen, n := map[pool.JobID]bool{}, 0
		got := singles(w, o)
		for i, s := range got {
			if seen[s.id] || i > 0 && s.prio > got[i-1].prio {
				rt.Fatalf("%+v stands there twice, or goes behind %+v", s, got[i-1])
			}
			seen[s.id] = true
		}
		for _, r := range w.Idle {
			n += r.Count()
		}
		if len(got) != n || len(o.Blocked) > 0 {
			rt.Fatalf("%d of %d jobs have places, %d are left out", len(got), n, len(o.Blocked))
		}
	})
}

// However jobs are listed, and cut into runs, the order is the same.
func TestQueueInputMeansNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, q := drawnWaiting(rt, t), NewQueue(drawnConfig(rt), queueWorld)
		q.KeepTickets(true)
		var other jobprio.Waiting
		for _, r := range w.Idle {
			for r.Count() > 0 {
				head := r
				head.Last = rapid.IntRange(r.First, r.Last).Draw(rt, "cut")
				other.Idle = append(other.Idle, head)
				r.First = head.Last + 1
			}
		}
		other.Idle = rapid.Permutation(other.Idle).Draw(rt, "idle")
		other.Running = rapid.Permutation(w.Running).Draw(rt, "running")
		o, p := q.Order(w), q.Order(other)
		if a, b := singles(w, o), singles(other, p); !slices.Equal(a, b) {
			rt.Fatalf("the order is\n%v, of the same jobs otherwise\n%v", a, b)
		}
		for i, r := range w.Running {
			j := slices.IndexFunc(other.Running, func(x jobprio.Running) bool { return x.FirstJob() == r.FirstJob() })
			if o.Tickets[i] != p.Tickets[j] {
				rt.Fatalf("tickets of %v are %v, and otherwise %v", r.FirstJob(), o.Tickets[i], p.Tickets[j])
			}
		}
	})
}

// TestUsedOf: tallies of Grid Engine's kinds count, decayed and weighted; those of Maui's do not.
func TestUsedOf(t *testing.T) {
	at := time.Unix(noon, 0)
	d := accountant.DecayParams{HalfTime: time.Hour, CPU: accountant.UsageParams{Weight: 3}, IO: accountant.UsageParams{Weight: 1, Own: true}}
	tally := func(k accountant.Key) accountant.Tally {
		return accountant.Tally{Key: k, At: at.Add(-time.Hour), Decayed: accountant.Recent{CPU: 800, Memory: 1e9, IO: 40}}
	}
	u := UsedOf([]accountant.Tally{
		tally(accountant.Key{Kind: accountant.KindOwn, Name: "alice"}), tally(accountant.Key{Kind: accountant.KindProject, Name: "pa"}),
		tally(accountant.Within("bob", "p/a")), tally(accountant.Key{Kind: accountant.KindUser, Name: "alice"}),
	}, d, at)
	const want = 400*0.75 + 40*0.25
	for what, got := range map[string]float64{"alice's own": u.Own["alice"], "the project's": u.Project["pa"], "bob's within": u.Within[[2]string{"bob", "p/a"}]} {
		if got < want-1 || got > want+1 {
			t.Errorf("%s usage is %v, want %v", what, got, want)
		}
	}
	if len(u.Own)+len(u.Project)+len(u.Within) != 3 {
		t.Errorf("usage is %+v, want three", u)
	}
}

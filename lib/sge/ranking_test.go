package sge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/pool"
)

// TestNormalPOSIX: on a scale of its own, from just above 0 to 1.
func TestNormalPOSIX(t *testing.T) {
	for posix, want := range map[int64]float64{0: 0.5, 1: 1025. / 2048, -1023: 1. / 2048, 1024: 1, -1024: 1. / 2048, 1025: 1, math.MinInt64: 1. / 2048, math.MaxInt64: 1} {
		job := Job{Count: 1, POSIX: posix}
		r := Rank(&Config{WeightPriority: 2}, World{}, []Job{job}, []Job{job})
		for _, got := range []Numbers{r.Pending(0, 0), r.Running(0)} {
			if got.NPPrior != want || got.Prio != 2*want {
				t.Errorf("POSIX priority %d: npprior %v and prio %v, want %v and %v", posix, got.NPPrior, got.Prio, want, 2*want)
			}
		}
	}
}

// TestUnreported: what has no weight and is not shown is not reckoned.
func TestUnreported(t *testing.T) {
	c := urgencyConfig()
	c.WeightUrgency = 0
	job := requesting(4)
	job.POSIX = 100
	if got := Rank(c, World{}, []Job{job, requesting(1)}, nil).Pending(0, 0); got.NUrg != 1 || got.Urg != 4000 || got.NPPrior != 1124./2048 {
		t.Errorf("reported: %+v, want urgency 4000, the greatest, and npprior of 100", got)
	}
	c.ReportPending = false
	if got := Rank(c, World{}, []Job{job, requesting(1)}, nil).Pending(0, 0); got != (Numbers{NPPrior: 0.5, NUrg: 0.5, NTckts: 0.5}) {
		t.Errorf("not reported: %+v, want half of each", got)
	}
}

// functionalExample is the one with alice, bob and carol who have 100, 300 and 50 shares; dave has
// none.
func functionalExample() (*Config, []Job) {
	c := &Config{WeightTicket: 1, WeightUser: 1, TicketsFunctional: 1e6, ShareFunctional: true, ShareOverride: true, MaxFunctional: 200, MaxPendingTasks: 50,
		Hierarchy: []TicketPolicy{Override, Functional, ShareTree},
		Users:     map[string]Object{"alice": {FShare: 100}, "bob": {FShare: 300}, "carol": {FShare: 50}}}
	return c, jobsOf("alice", "alice", "alice", "bob", "bob", "carol", "alice", "dave")
}

func wantFunctional(t *testing.T, name string, r *Ranking, want ...float64) {
	t.Helper()
	for i, x := range want {
		if got := math.Trunc(r.Pending(i, 0).FTckt); math.Abs(got-x) > 1 {
			t.Errorf("%s: job %d has %v functional tickets, want %v", name, i, got, x)
		}
	}
}

func TestFunctional(t *testing.T) {
	c, jobs := functionalExample()
	wantFunctional(t, "shared", Rank(c, World{}, jobs, nil), 250000, 125000, 74074, 1e6, 500000, 111111, 55555, 0)
	c.ShareFunctional = false
	wantFunctional(t, "not shared", Rank(c, World{}, jobs, nil), 142857, 125000, 111111, 1e6, 500000, 47619, 100000, 0)
	c.TicketsFunctional = 0
	wantFunctional(t, "no pool", Rank(c, World{}, jobs, nil), 0, 0, 0, 0, 0, 0, 0, 0)
	c.TicketsFunctional, c.WeightUser = 1e6, 0
	wantFunctional(t, "no weights", Rank(c, World{}, jobs, nil), 0, 0, 0, 0, 0, 0, 0, 0)
}

// TestFunctionalLimit: those whose turn does not come keep what they would have got in the last
// one; those behind the one that won it, what that one would have got.
func TestFunctionalLimit(t *testing.T) {
	c, jobs := functionalExample()
	for limit, want := range map[int][]float64{
		0:  {0, 0, 0, 0, 0, 0, 0, 0},
		-1: {0, 0, 0, 0, 0, 0, 0, 0},
		// Nobody was active before: 0.001 shares are.
		1: {100 / 0.001 * 1e6, 100 / 0.001 * 1e6, 100 / 0.001 * 1e6, 1e6, 300 / 0.001 * 1e6, 50 / 0.001 * 1e6, 100 / 0.001 * 1e6, 0},
		// After two of bob's, alice would get 100 of 300, and then gets 100 of 400.
		3: {250000, 333332, 333332, 1e6, 500000, 166666, 333332, 0},
		6: {250000, 125000, 74074, 1e6, 500000, 111111, 74073, 0},
		7: {250000, 125000, 74074, 1e6, 500000, 111111, 55555, 0},
		8: {250000, 125000, 74074, 1e6, 500000, 111111, 55555, 0},
	} {
		c.MaxFunctional = limit
		wantFunctional(t, fmt.Sprint("at most ", limit), Rank(c, World{}, jobs, nil), want...)
	}
}

// TestCounted: of a cluster the lowest procs count, as many as slots are free and one more, in
// whichever order its stretches come.
func TestCounted(t *testing.T) {
	stretch := func(cluster, proc, count int) Job {
		return Job{ID: pool.JobID{Cluster: cluster, Proc: proc}, Count: count, User: "alice", Slots: 1, LeastSlots: 1}
	}
	jobs := []Job{stretch(1, 5, 10), stretch(2, 0, 3), stretch(1, 0, 2), stretch(1, 2, 1), stretch(3, 0, 0), stretch(3, 1, -1)}
	for _, c := range []struct {
		free int64
		most int
		want string // counted procs of each stretch
	}{
		{0, 50, "[0 1 1 0 0 0]"}, {-5, 50, "[0 1 1 0 0 0]"}, {1, 50, "[0 2 2 0 0 0]"}, {4, 50, "[2 3 2 1 0 0]"}, {100, 4, "[1 3 2 1 0 0]"},
		{100, 0, "[0 1 1 0 0 0]"}, {math.MaxInt64, math.MaxInt, "[10 3 2 1 0 0]"},
	} {
		config, _ := functionalExample()
		config.MaxPendingTasks = c.most
		r := Rank(config, World{FreeSlots: c.free}, jobs, nil)
		counted := make([]int, len(jobs))
		for i := range jobs {
			for task := range max(jobs[i].Count, 0) {
				n := r.Pending(i, task)
				if !n.Uncounted {
					counted[i]++
				}
				if n.Uncounted != (n.FTckt == 0) || n.Uncounted != (n.NTckts == 0) || n.Uncounted && task < counted[i] {
					t.Errorf("%d free: proc %d of stretch %d: %+v", c.free, task, i, n)
				}
			}
		}
		if got := fmt.Sprint(counted); got != c.want {
			t.Errorf("%d slots free, %d at most: %s count, want %s", c.free, c.most, got, c.want)
		}
		if none := (Numbers{}); r.Pending(0, 10) != none || r.Pending(0, -1) != none || r.Pending(-1, 0) != none || r.Pending(6, 0) != none || r.Pending(4, 0) != none || r.Running(0) != none || r.Running(-1) != none {
			t.Errorf("jobs that are not there have numbers")
		}
	}
}

// TestScale: the most that any has is the scale, and without tickets all have half.
func TestScale(t *testing.T) {
	c := &Config{WeightTicket: 1, ShareOverride: true, MaxPendingTasks: 50, Users: map[string]Object{"alice": {OTicket: 1200}, "bob": {OTicket: 300}}}
	running, pending := jobsOf("alice", "bob", "bob"), jobsOf("", "", "", "alice", "alice", "alice", "bob")[3:]
	pending[0].OverrideTickets = 100
	r := Rank(c, World{}, pending, running)
	for i, want := range []float64{700, 400, 300, 100} {
		if got := r.Pending(i, 0); got.OTckt != want || got.Tckts != want || got.NTckts != want/1200 || got.Share != want/1500 {
			t.Errorf("job %d that waits: %+v, want %v tickets of 1200, and of 1500 in all", i, got, want)
		}
	}
	for i, want := range []float64{1200, 150, 150} {
		if got := r.Running(i); got.OTckt != want || got.NTckts != want/1200 || got.Share != want/1500 {
			t.Errorf("job %d that runs: %+v, want %v tickets of 1200, and of 1500 in all", i, got, want)
		}
	}
	if got := r.tickets; got.most != 1200 || got.pendingSum != 1500 || got.runningSum != 1500 {
		t.Errorf("at most %v, %v wait and %v run, want 1200, 1500 and 1500", got.most, got.pendingSum, got.runningSum)
	}
	c.Users = nil
	pending[0].OverrideTickets = 0
	if got := Rank(c, World{}, pending, running).Running(0); got.NTckts != 0.5 || got.Share != 0 {
		t.Errorf("nobody has tickets: %+v, want half of the scale", got)
	}
}

// places shows places as job+procs:prio.
func places(r *Ranking) string {
	var b strings.Builder
	for _, p := range r.Places() {
		fmt.Fprintf(&b, "%d+%d-%d:%.3g ", p.Job, p.From, p.From+p.Count-1, p.Prio)
	}
	return strings.TrimSpace(b.String())
}

// TestPlaces: higher priority first, then the first submitted, then by ID; equal neighbours of
// a stretch are one place.
func TestPlaces(t *testing.T) {
	c, _ := functionalExample()
	stretch := func(cluster, proc, count int, user string, submitted int64) Job {
		return Job{ID: pool.JobID{Cluster: cluster, Proc: proc}, Count: count, User: user, Submitted: submitted}
	}
	for _, x := range []struct {
		name string
		free int64
		jobs []Job
		want string
	}{
		{"none", 0, nil, ""},
		{"by submission, then ID", 0, []Job{stretch(3, 0, 2, "dave", 5), stretch(2, 1, 1, "dave", 5), stretch(4, 0, 1, "dave", 4), stretch(2, 0, 1, "dave", 5)},
			"2+0-0:0.5 3+0-0:0.5 1+0-0:0.5 0+0-1:0.5"},
		{"procs that get less", 2, []Job{stretch(1, 0, 5, "alice", 5), stretch(2, 0, 1, "bob", 5)}, "1+0-0:1 0+0-0:0.25 0+1-1:0.125 0+2-2:0.0833 0+3-4:0"},
		{"no slots free", 0, []Job{stretch(1, 0, 5, "alice", 5), stretch(2, 0, 5, "bob", 5)}, "1+0-0:1 0+0-0:0.25 0+1-4:0 1+1-4:0"},
		{"all alike", 10, []Job{stretch(1, 0, 5, "dave", 5)}, "0+0-4:0.5"},
	} {
		if got := places(Rank(c, World{FreeSlots: x.free, Now: time.Unix(10, 0)}, x.jobs, nil)); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

// TestHierarchy: a policy in the hierarchy goes by what the ones before it gave.
func TestHierarchy(t *testing.T) {
	for _, c := range []struct {
		hierarchy []TicketPolicy
		want      []float64 // functional tickets
	}{
		{[]TicketPolicy{Override, Functional}, []float64{500000, 333333, 1e6}}, // its own tickets bring the third to the front
		{[]TicketPolicy{Functional, Override}, []float64{1e6, 500000, 333333}},
		{nil, []float64{1e6, 500000, 333333}},
		{[]TicketPolicy{Override}, []float64{1e6, 500000, 333333}},
		{[]TicketPolicy{7, Functional, Override, Functional}, []float64{1e6, 500000, 333333}},
	} {
		config, _ := functionalExample()
		config.Hierarchy = c.hierarchy
		jobs := jobsOf("alice", "alice", "alice")
		jobs[2].OverrideTickets = 5
		r := Rank(config, World{}, jobs, nil)
		wantFunctional(t, fmt.Sprint(c.hierarchy), r, c.want...)
		if got := r.Pending(2, 0).OTckt; got != 5 {
			t.Errorf("%v: %v override tickets, want 5", c.hierarchy, got)
		}
	}
	if got, dependent := (&Config{Hierarchy: []TicketPolicy{ShareTree, 9, ShareTree}}).policies(); !slices.Equal(got, []TicketPolicy{ShareTree, Override, Functional}) || dependent != 1 {
		t.Errorf("policies %v, %d of them dependent", got, dependent)
	}
}

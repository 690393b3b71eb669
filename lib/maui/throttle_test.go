package maui

import (
	"math"
	"slices"
	"testing"
	"time"

	"fairspool/lib/jobprio"
)

// running returns jobs of ann that run since so many minutes.
func running(t *testing.T, minutes, count int, attributes string) jobprio.Running {
	return jobprio.Running{Run: runOf(t, 100+minutes, count, minutesAgo("ann", 600)+attributes), Started: queueNow.Add(-time.Duration(minutes) * time.Minute)}
}

// limitsOf returns the limits of users by a configuration that has one.
func limitsOf(l Limit, b Bound, run ...jobprio.Running) jobprio.Limits {
	c := Default()
	var of [Limits]Bound
	of[l] = b
	c.Credentials[User] = map[string]Credential{DefaultName: {Limits: of}}
	return NewQueue(&c, queueWorld).Order(jobprio.Waiting{Running: run}).Limits
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name       string
		limit      Limit
		bound      Bound
		running    []jobprio.Running
		job        string
		soft, hard string // what refuses the second of two such jobs
		lasting    bool
	}{
		{"MAXJOB", MaxJob, bound(3, 4), []jobprio.Running{running(t, 10, 2, "")}, "", "MAXJOB 3 of user ann: 3 in use", "", true},
		{"MAXJOB, hard", MaxJob, bound(1, 3), []jobprio.Running{running(t, 10, 2, "")}, "", "MAXJOB 1 of user ann: 3 in use", "MAXJOB 3 of user ann: 3 in use", true},
		{"MAXPROC", MaxProc, bound(10, 13), []jobprio.Running{running(t, 10, 2, "RequestCpus = 3")}, "ParallelSlots = 2; RequestCpus = 2",
			"MAXPROC 10 of user ann: 10 in use, 4 asked for", "MAXPROC 13 of user ann: 10 in use, 4 asked for", true},
		{"MAXPS counts what is left", MaxPS, bound(9000, 9600), []jobprio.Running{running(t, 40, 2, "")}, "",
			"MAXPS 9000 of user ann: 6000 in use, 3600 asked for", "", false},
		{"MAXPS of jobs beyond their time", MaxPS, bound(7199, 7199), []jobprio.Running{running(t, 90, 2, "")}, "",
			"MAXPS 7199 of user ann: 3600 in use, 3600 asked for", "MAXPS 7199 of user ann: 3600 in use, 3600 asked for", false},
		{"MAXWC", MaxWC, bound(3600, 9600), []jobprio.Running{running(t, 40, 2, "RequestCpus = 9")}, "RequestCpus = 9",
			"MAXWC 3600 of user ann: 6000 in use, 3600 asked for", "", false},
		{"MAXPE", MaxPE, bound(7, 8), []jobprio.Running{running(t, 40, 2, "RequestMemory = 2048")}, "RequestMemory = 2048",
			"MAXPE 7 of user ann: 6 in use, 2 asked for", "", true},
		{"MAXNODE", MaxNode, bound(5, 5), []jobprio.Running{running(t, 40, 2, "RequestNodes = 2")}, "",
			"MAXNODE 5 of user ann: 5 in use, 1 asked for", "MAXNODE 5 of user ann: 5 in use, 1 asked for", true},
		{"MAXMEM", MaxMem, bound(100, 100.5), []jobprio.Running{running(t, 40, 1, "RequestMemory = 99.9; ParallelSlots = 1")}, "RequestMemory = 0.3",
			"MAXMEM 100 of user ann: 100.2 in use, 0.3 asked for", "", true},
		{"no limits of others", MaxJob, bound(0, 1), []jobprio.Running{running(t, 40, 5, `Owner = "bob"`)}, `Owner = "cid"`,
			"MAXJOB 0 of user cid: 1 in use", "MAXJOB 1 of user cid: 1 in use", true},
		{"no user, no limit", MaxJob, bound(0, 0), nil, `Owner = undefined`, "", "", true},
		{"soft above hard", MaxJob, bound(9, 1), nil, "", "MAXJOB 1 of user ann: 1 in use", "MAXJOB 1 of user ann: 1 in use", true},
		{"endless", MaxPS, bound(math.Inf(1), math.Inf(1)), []jobprio.Running{running(t, 0, 1000, "WallTimeLimit = 9223372036854775807; RequestCpus = 1000000")},
			"WallTimeLimit = 9223372036854775807; RequestCpus = 1000000", "", "", false},
	} {
		l := limitsOf(c.limit, c.bound, c.running...)
		kind := l.Kind(runOf(t, 1, 2, minutesAgo("ann", 1)+c.job))
		l.Take(kind)
		if soft, hard := l.Refuses(kind, false), l.Refuses(kind, true); soft != c.soft || hard != c.hard {
			t.Errorf("%s: the second job is refused by %q, hard %q, want %q, hard %q", c.name, soft, hard, c.soft, c.hard)
		}
		if got := l.Lasting(kind); got != c.lasting {
			t.Errorf("%s: Lasting() = %v, want %v", c.name, got, c.lasting)
		}
	}
}

// What is said of a limit has the numbers of now.
func TestLimitsTellNumbers(t *testing.T) {
	l := limitsOf(MaxProc, bound(1, 9))
	kind := l.Kind(runOf(t, 1, 9, minutesAgo("ann", 1)))
	l.Take(kind)
	for _, want := range []string{"MAXPROC 1 of user ann: 1 in use, 1 asked for", "MAXPROC 1 of user ann: 2 in use, 1 asked for"} {
		for range 2 {
			if got := l.Refuses(kind, false); got != want {
				t.Errorf("refused by %q, want %q", got, want)
			}
		}
		l.Take(kind)
	}
}

func TestNoLimits(t *testing.T) {
	for _, b := range []Bound{{}, bound(-1, -1), bound(math.NaN(), 5)} {
		if l := limitsOf(MaxJob, b); l != nil {
			t.Errorf("Limits of %+v = %v, want none", b, l)
		}
	}
}

// An own limit, however large, takes one out of what all have.
func TestLimitsExempt(t *testing.T) {
	c := Default()
	c.Credentials[User] = map[string]Credential{
		DefaultName: {Limits: [Limits]Bound{MaxJob: bound(0, 0), MaxProc: bound(2, 2)}},
		"ann":       {Limits: [Limits]Bound{MaxJob: bound(math.Inf(1), math.Inf(1))}},
	}
	l := NewQueue(&c, queueWorld).Order(jobprio.Waiting{}).Limits
	if got := l.Refuses(l.Kind(runOf(t, 1, 1, minutesAgo("ann", 1))), false); got != "" {
		t.Errorf("refused by %q", got)
	}
	if got := l.Refuses(l.Kind(runOf(t, 1, 1, minutesAgo("ann", 1)+"RequestCpus = 3")), false); got != "MAXPROC 2 of user ann: 0 in use, 3 asked for" {
		t.Errorf("refused by %q, want by all's MAXPROC", got)
	}
}

func TestLimitKinds(t *testing.T) {
	c := Default()
	c.Credentials[User] = map[string]Credential{"ann": {Limits: [Limits]Bound{MaxProc: bound(5, 5)}}}
	l := NewQueue(&c, queueWorld).Order(jobprio.Waiting{}).Limits
	kind := func(user, more string) int { return l.Kind(runOf(t, 1, 1, minutesAgo(user, 1)+more)) }
	if got, want := l.Attributes(), []string{"Owner", "ParallelSlots", "RequestCpus"}; !slices.Equal(got, want) {
		t.Errorf("Attributes() = %v, want %v", got, want)
	}
	if kind("ann", "") != kind("ann", "RequestMemory = 7; WallTimeLimit = 5; Class = \"c\"") {
		t.Error("what no limit counts makes kinds differ")
	}
	if kind("ann", "") == kind("ann", "RequestCpus = 2") || kind("ann", "") == kind("bob", "") {
		t.Error("jobs that limits treat differently are of one kind")
	}
}

func TestSoftViolation(t *testing.T) {
	c := Default()
	c.Subs[SPViolation].Weight = -50
	c.EnableNegative = true
	c.Credentials[User] = map[string]Credential{"ann": {Limits: [Limits]Bound{MaxJob: bound(2, 9)}}}
	w := jobprio.Waiting{
		Idle:    []jobprio.Run{runOf(t, 1, 1, minutesAgo("ann", 10)), runOf(t, 2, 1, minutesAgo("bob", 5))},
		Running: []jobprio.Running{running(t, 1, 2, "")},
	}
	compareOrder(t, "beyond", c, w, "2.0 5", "1.0 -40")
	c.Compatible = true
	compareOrder(t, "as Maui 3.3.1 has it", c, w, "1.0 10", "2.0 5")
	c.Compatible, w.Running = false, nil
	compareOrder(t, "within", c, w, "1.0 10", "2.0 5")
}

// Every fact that limits count has attributes.
func TestLimitFacts(t *testing.T) {
	known := map[string]bool{}
	for _, f := range Facts {
		known[f.Name] = true
	}
	for _, names := range append(limitFacts[:], kindFacts[:]...) {
		for _, n := range names {
			if !known[n] {
				t.Errorf("no fact is called %q", n)
			}
		}
	}
}

// TestTellAgain: what is said of a limit is made anew when something of it has changed, and not
// for each job.
func TestTellAgain(t *testing.T) {
	cfg := Default()
	cfg.Credentials[User] = map[string]Credential{"ann": {Limits: [Limits]Bound{MaxProc: bound(2, 4), MaxPE: bound(4, 4)}}}
	th := newThrottle(&cfg, false)
	c := th.ceiling(User, "ann")
	var asks quantities
	tell := func(l Limit, asked quantity, hard bool) string {
		asks[l] = asked
		return th.tell(c, l, &asks, hard)
	}
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	want(tell(MaxProc, 5, true), "MAXPROC 4 of user ann: 0 in use, 5 asked for")
	want(tell(MaxProc, 5, false), "MAXPROC 2 of user ann: 0 in use, 5 asked for")
	want(tell(MaxProc, 6, false), "MAXPROC 2 of user ann: 0 in use, 6 asked for")
	c.used[MaxProc] = 1
	want(tell(MaxProc, 6, false), "MAXPROC 2 of user ann: 1 in use, 6 asked for")
	want(tell(MaxPE, 6, false), "MAXPE 4 of user ann: 0 in use, 0.000006 asked for")
	if n := testing.AllocsPerRun(10, func() { tell(MaxPE, 6, false) }); n > 0 {
		t.Errorf("%v allocations to say the same again, want none", n)
	}
}

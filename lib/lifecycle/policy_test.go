package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func (b bench) policies(now time.Time) (o Outlook) {
	b.t.Helper()
	b.view(func(v *spool.View) { o = Policies(v, now, Look{}) })
	return o
}

// dueText words what is due.
func dueText(list []Due) string {
	names := map[Measure]string{HoldThem: "hold", ReleaseThem: "release", RemoveThem: "remove", VacateThem: "vacate", LetThemGo: "go", LetThemRun: "run"}
	var parts []string
	for _, d := range list {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %v", names[d.What], d.Procs)))
	}
	return strings.Join(parts, ", ")
}

func (b bench) follow(o Outlook, now time.Time) (text string) {
	b.t.Helper()
	b.update(func(tx *spool.Tx) error {
		tx.Op("follow")
		done, err := o.Follow(tx, now, params)
		var list []Due
		for _, f := range done {
			list = append(list, f.Due)
		}
		text = dueText(list)
		return err
	})
	return text
}

// with adds a cluster of idle jobs of alice.
func (b bench) with(jobs int, attrs ...string) (id int) {
	b.t.Helper()
	b.update(func(tx *spool.Tx) error {
		tx.Op("submit")
		ad, err := classad.ParseAd(`[Owner = "alice"; JobStatus = 1; Requirements = true; ` + strings.Join(attrs, "; ") + "]")
		if err != nil {
			b.t.Fatal(err)
		}
		id = tx.AddCluster(ad, []spool.NewRun{{Count: jobs}})
		return nil
	})
	return id
}

func TestPolicies(t *testing.T) {
	later := noon.Add(time.Hour)
	for _, c := range []struct {
		name  string
		attrs []string
		want  string
	}{
		{"nothing", nil, ""},
		{"nothing true", []string{"PeriodicHold = false", "PeriodicRemove = undefined", "LeaveJobInQueue = true"}, ""},
		{"hold all", []string{"PeriodicHold = true"}, "hold 2.0-3"},
		{"hold some", []string{"PeriodicHold = ProcId % 3 == 0"}, "hold 2.0, hold 2.3"},
		{"hold some, by another attribute", []string{"PeriodicHold = Odd", "Odd = ProcId >= 2"}, "hold 2.2-3"},
		{"hold some, by the subcode", []string{"PeriodicHold = true", "PeriodicHoldSubCode = ProcId / 2"}, "hold 2.0-1, hold 2.2-3"},
		{"remove some, by the reason", []string{"PeriodicRemove = true", `PeriodicRemoveReason = strcat("half ", ProcId / 2)`}, "remove 2.0-1, remove 2.2-3"},
		{"release some, by the reason", []string{"JobStatus = 5", "PeriodicRelease = true", `PeriodicReleaseReason = strcat("half ", ProcId / 2)`}, "release 2.0-1, release 2.2-3"},
		{"time", []string{fmt.Sprintf("PeriodicRemove = time() > %d", noon.Unix())}, "remove 2.0-3"},
		{"time to come", []string{fmt.Sprintf("PeriodicRemove = time() > %d", later.Unix())}, ""},
		{"release", []string{"JobStatus = 5", "PeriodicRelease = true"}, "release 2.0-3"},
		{"release of what hangs on others", []string{"JobStatus = 5", "HoldReasonCode = 1000", "PeriodicRelease = true"}, ""},
		{"removal of what hangs on others", []string{"JobStatus = 5", "HoldReasonCode = 1000", "PeriodicRelease = true", "PeriodicRemove = true"}, "remove 2.0-3"},
		{"vacate without a claim", []string{"JobStatus = 2", "PeriodicVacate = true"}, ""},
		{"present run", []string{"JobStatus = 2", fmt.Sprintf("JobCurrentStartDate = %d", noon.Unix()-100), "RemoteWallClockTime = 3.5", "PeriodicHold = RemoteWallClockTime == 3703.5"}, "hold 2.0-3"},
		{"present run, partly reported", []string{"JobStatus = 2", fmt.Sprintf("JobCurrentStartDate = %d", noon.Unix()-100), "RemoteWallClockTime = 63.5", "WallClockCheckpoint = 60.0", "PeriodicHold = RemoteWallClockTime == 3703.5"}, "hold 2.0-3"},
		{"past run", []string{"JobStatus = 1", fmt.Sprintf("JobCurrentStartDate = %d", noon.Unix()-100), "RemoteWallClockTime = 3.5", "PeriodicHold = RemoteWallClockTime == 3.5"}, "hold 2.0-3"},
		{"ended", []string{"JobStatus = 4", "LeaveJobInQueue = false"}, "go 2.0-3"},
		{"ended, kept", []string{"JobStatus = 4", "LeaveJobInQueue = ProcId == 1"}, "go 2.0, go 2.2-3"},
		{"removed", []string{"JobStatus = 3", fmt.Sprintf("LeaveJobInQueue = time() < %d", noon.Unix())}, "go 2.0-3"},
		{"waits", []string{`AfterAny = "1"`}, ""},
		{"waits for what comes later", []string{`AfterAny = "2"`}, "hold 2.0-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.with(4, c.attrs...)
			before := b.states()
			o := b.policies(later)
			if got := dueText(o.Due); got != c.want {
				t.Fatalf("Policies = %s, want %s", got, c.want)
			}
			if got := b.follow(o, later); got != c.want {
				t.Errorf("Follow = %s, want %s", got, c.want)
			}
			if got := b.follow(o, later); got != "" {
				t.Errorf("the second Follow = %s, want nothing", got)
			}
			if got := b.states(); got != before {
				t.Errorf("other jobs are %s, want %s as before", got, before)
			}
		})
	}
}

// A job that changed since is judged as it is.
func TestFollowLooksAgain(t *testing.T) {
	b := newBench(t)
	b.with(3, "PeriodicHold = Bad =?= true", "Bad = true")
	due := b.policies(noon)
	b.update(func(tx *spool.Tx) error {
		tx.Op("set")
		tx.SetRange(pool.Procs{Cluster: 2, First: 1, Last: 1}, "Bad", classad.Literal(classad.Bool(false)))
		tx.LeaveRange(pool.Procs{Cluster: 2, First: 2, Last: 2}, noon)
		return nil
	})
	if got := b.follow(due, noon); got != "hold 2.0" {
		t.Errorf("Follow = %s, want hold 2.0", got)
	}
	if got := b.attribute(pool.JobID{Cluster: 2}, pool.AttrHoldReasonCode); got != "3" {
		t.Errorf("HoldReasonCode = %s, want 3", got)
	}
}

// A running job that is to leave its slot is told once.
func TestFollowVacates(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, 1, "", params) })
	b.set("PeriodicVacate", "true")
	due := b.policies(noon)
	if got := dueText(due.Due); got != "vacate 1.0" {
		t.Fatalf("Policies = %s, want vacate 1.0", got)
	}
	if got, again := b.follow(due, noon), b.follow(due, noon); got != "vacate 1.0" || again != "" {
		t.Errorf("Follow = %s, then %s, want it once", got, again)
	}
	b.view(func(v *spool.View) {
		if c, _ := v.Claim(first); c.State != pool.Vacating || c.VacateReason == "" {
			t.Errorf("the claim is %+v, want Vacating for a reason", c)
		}
	})
}

// doubling are attributes A0 to A60, of which each takes twice the steps of the one before.
func doubling() (attrs []string) {
	attrs = append(attrs, "A0 = 1")
	for i := range 60 {
		attrs = append(attrs, fmt.Sprintf("A%d = MY.A%d + MY.A%d", i+1, i, i))
	}
	return attrs
}

// TestPoliciesKeepToTheBudget holds that jobs whose expressions have no end take what their
// owner has and no more, that this is nothing to others, and that all of them have their
// turn in one look or another.
func TestPoliciesKeepToTheBudget(t *testing.T) {
	b := newBench(t)
	const jobs, steps = 100, 3 * classad.UsualSteps
	b.with(2, "PeriodicHold = true") // cluster 2, of alice
	bob := b.with(jobs, append(doubling(), `Owner = "bob"`, "PeriodicHold = MY.A60 > 0 && ProcId >= 0", fmt.Sprintf("PeriodicRemove = ProcId == %d", jobs-1))...)
	var from map[string]pool.JobID
	looks, removed := 0, false
	for !removed {
		looks++
		budgets := classad.NewBudgets(steps)
		var o Outlook
		b.view(func(v *spool.View) { o = Policies(v, noon, Look{Budgets: budgets, From: from}) })
		if took := budgets.Taken()["bob"]; took > steps+classad.UsualSteps {
			t.Fatalf("look %d took %d steps, want %d at most", looks, took, steps)
		}
		if looks == 1 {
			if len(o.PutOff) != 1 || o.PutOff[0].Owner != "bob" || o.PutOff[0].First.Cluster != bob || o.PutOff[0].Jobs < jobs/2 {
				t.Fatalf("PutOff = %v, want most of the %d jobs of bob", o.PutOff, jobs)
			}
			if got := dueText(o.Due); !strings.Contains(got, "hold 2.0-1") {
				t.Errorf("Policies = %s, want the jobs of alice held", got)
			}
		}
		removed = strings.Contains(dueText(o.Due), fmt.Sprintf("remove %d.%d", bob, jobs-1))
		from = map[string]pool.JobID{}
		for _, p := range o.PutOff {
			from[p.Owner] = p.First
		}
		if looks > jobs {
			t.Fatalf("the last job was not looked at in %d looks", looks)
		}
	}
	if looks < 10 {
		t.Errorf("all jobs were looked at in %d looks of %d steps each", looks, steps)
	}
}

// TestTooSmallABudget holds that each look gets somewhere, however little there is.
func TestTooSmallABudget(t *testing.T) {
	b := newBench(t)
	const jobs = 4
	b.with(jobs, "Some = ProcId + 1", "PeriodicHold = Some > 3 && Some > 2 && Some > 1")
	from := map[string]pool.JobID{}
	for range jobs {
		var o Outlook
		b.view(func(v *spool.View) { o = Policies(v, noon, Look{Budgets: classad.NewBudgets(1), From: from}) })
		if len(o.PutOff) != 1 || o.PutOff[0].Jobs != jobs-1 {
			t.Fatalf("PutOff = %v, want %d jobs of alice", o.PutOff, jobs-1)
		}
		if next := (from["alice"].Proc + 1) % jobs; o.PutOff[0].First.Proc != next {
			t.Fatalf("PutOff = %v, want %d next", o.PutOff, next)
		}
		from["alice"] = o.PutOff[0].First
	}
}

// TestPoliciesWithinTheBudget holds that a budget that is enough changes nothing.
func TestPoliciesWithinTheBudget(t *testing.T) {
	b := newBench(t)
	b.with(4, "PeriodicHold = ProcId % 2 == 0")
	b.with(4, "PeriodicRemove = time() > 5")
	var with, without Outlook
	from := map[string]pool.JobID{"alice": {Cluster: 2, Proc: 2}}
	b.view(func(v *spool.View) {
		without, with = Policies(v, noon, Look{}), Policies(v, noon, Look{Budgets: classad.NewBudgets(10_000), From: from})
	})
	if got, want := dueText(with.Due), dueText(without.Due); got != want || len(with.PutOff) > 0 {
		t.Errorf("Policies with a budget = %s (%v put off), want %s", got, with.PutOff, want)
	}
}

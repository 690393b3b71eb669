package operation

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
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, 1, params) })
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

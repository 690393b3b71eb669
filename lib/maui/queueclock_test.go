package maui

import (
	"fmt"
	"testing"
	"time"

	"fairspool/lib/jobprio"
)

// since is the attribute of a clock that began so many minutes ago.
func since(minutes int) string {
	return fmt.Sprintf("EligibleSince = %d; ", queueNow.Unix()-60*int64(minutes))
}

func TestClocks(t *testing.T) {
	const stands = "EligibleSince = 0; "
	one := [Limits]Bound{MaxJob: bound(1, 1)}
	ann, boss := Credential{IdleLimit: one}, Credential{Limits: [Limits]Bound{MaxJob: bound(0, 0)}}
	for _, c := range []struct {
		name    string
		accrual Accrual
		user    Credential
		idle    string // of ann's two jobs, submitted 30 minutes ago
		want    []string
	}{
		{"nothing changes", QueuePolicy, Credential{}, since(10), []string{"1.0-1 10"}},
		{"submission counts", QueuePolicy, Credential{}, "", []string{"1.0-1 30"}},
		{"considered again", QueuePolicy, Credential{}, stands, []string{"1.0-1 1", "1.0-1 since 0 min"}},
		{"considered again, FULLPOLICY", FullPolicy, Credential{}, stands, []string{"1.0-1 1", "1.0-1 since 0 min"}},
		{"an idle limit stops it", QueuePolicy, ann, "", []string{"1.0 30", "1.1 1: MAXIJOB 1 of user ann: 1 considered", "1.1 stands"}},
		{"and one that stands goes on so", QueuePolicy, ann, stands, []string{"1.0 1", "1.1 1: MAXIJOB 1 of user ann: 1 considered", "1.0 since 0 min"}},
		{"an idle limit, ALWAYS", Always, ann, "", []string{"1.0 30", "1.1 30: MAXIJOB 1 of user ann: 1 considered"}},
		{"and a clock that stood, ALWAYS", Always, ann, stands, []string{"1.0 30", "1.1 30: MAXIJOB 1 of user ann: 1 considered", "1.0 since 30 min", "1.1 since 30 min"}},
		{"an idle limit, FULLPOLICY", FullPolicy, ann, "", []string{"1.0 30", "1.1 1: MAXIJOB 1 of user ann: 1 considered", "1.1 stands"}},
		{"ALWAYS counts from submission", Always, Credential{}, stands, []string{"1.0-1 30", "1.0-1 since 30 min"}},
		{"whatever was stored", Always, Credential{}, since(10), []string{"1.0-1 30", "1.0-1 since 30 min"}},
		{"a limit on what runs means nothing", QueuePolicy, boss, "", []string{"1.0-1 30"}},
		{"but with FULLPOLICY", FullPolicy, boss, "", []string{"1.0-1 1", "1.0-1 stands"}},
		{"a QOS refused", QueuePolicy, Credential{}, `QOS = "gold"; `, []string{"1.0-1 30: QOS gold is not allowed for user ann"}},
		{"a QOS refused, clock stands", QueuePolicy, Credential{}, stands + `QOS = "gold"; `, []string{"1.0-1 1: QOS gold is not allowed for user ann"}},
		{"a QOS refused, FULLPOLICY", FullPolicy, Credential{}, `QOS = "gold"; `, []string{"1.0-1 1: QOS gold is not allowed for user ann", "1.0-1 stands"}},
		{"negative", QueuePolicy, Credential{Priority: -100}, "", []string{"1.0-1 -70: negative priority"}},
		{"negative, clock stands", QueuePolicy, Credential{Priority: -100}, stands, []string{"1.0-1 -100: negative priority"}},
		{"negative, FULLPOLICY", FullPolicy, Credential{Priority: -100}, "", []string{"1.0-1 -100: negative priority", "1.0-1 stands"}},
	} {
		cfg := Default()
		cfg.Accrual = c.accrual
		cfg.Subs[CredUser].Weight, cfg.RejectNegative = 1, c.user.Priority < 0
		cfg.Credentials[User] = map[string]Credential{"ann": c.user}
		w := jobprio.Waiting{Idle: []jobprio.Run{runOf(t, 1, 2, minutesAgo("ann", 30)+c.idle)}}
		compareOrder(t, c.name, cfg, w, c.want...)
	}
}

// USESYSTEMQUEUETIME off is ALWAYS in all but name.
func TestClocksWithoutSystemQueueTime(t *testing.T) {
	c := Default()
	c.UseSystemQueueTime = false
	c.Credentials[User] = map[string]Credential{"ann": {IdleLimit: [Limits]Bound{MaxJob: bound(1, 1)}}}
	w := jobprio.Waiting{Idle: []jobprio.Run{runOf(t, 1, 2, minutesAgo("ann", 30))}}
	compareOrder(t, "raw submission", c, w, "1.0 30", "1.1 30: MAXIJOB 1 of user ann: 1 considered")
}

func TestClocksOfFairShareQuota(t *testing.T) {
	c := Default()
	c.FSPolicy = DedicatedPS
	c.Credentials[User] = map[string]Credential{"ann": {FSTarget: 1, FSMode: FSQuota}}
	w := jobprio.Waiting{Idle: []jobprio.Run{runOf(t, 1, 1, minutesAgo("ann", 30))}}
	const why = "FSTARGET 1^ of user ann: 0 used, 3600 asked for"
	compareOrder(t, "QUEUEPOLICY", c, w, "1.0 30: "+why)
	c.Accrual = FullPolicy
	compareOrder(t, "FULLPOLICY", c, w, "1.0 1: "+why, "1.0 stands")
}

func TestClocksOfHeld(t *testing.T) {
	w := jobprio.Waiting{Held: []jobprio.Run{
		runOf(t, 1, 2, minutesAgo("ann", 30)+"JobStatus = 5"),
		runOf(t, 2, 1, minutesAgo("ann", 30)+"JobStatus = 1"), // waits for others
		runOf(t, 3, 1, minutesAgo("ann", 30)+"JobStatus = 5; EligibleSince = 0"),
	}}
	for _, c := range []struct {
		name       string
		accrual    Accrual
		compatible bool
		looks      bool
		want       []string
	}{
		{"ALWAYS", Always, false, false, nil},
		{"QUEUEPOLICY", QueuePolicy, false, false, nil},
		{"FULLPOLICY", FullPolicy, false, true, []string{"held 1.0-1 stands", "held 2.0 stands"}},
		{"FULLPOLICY as Maui 3.3.1 has it", FullPolicy, true, true, []string{"held 2.0 stands"}},
	} {
		cfg := Default()
		cfg.Accrual, cfg.Compatible = c.accrual, c.compatible
		compareOrder(t, c.name, cfg, w, c.want...)
		if got := NewQueue(&cfg, queueWorld).LooksAtHeld(); got != c.looks {
			t.Errorf("%s: LooksAtHeld() = %v", c.name, got)
		}
	}
}

// The next cycle finds what the last one noted, and notes nothing again.
func TestClocksSettle(t *testing.T) {
	for _, accrual := range []Accrual{Always, QueuePolicy, FullPolicy} {
		for _, stored := range []string{"", "EligibleSince = 0; ", since(10), "QDate = 0; ", "QDate = -7; ", "QDate = undefined; "} {
			c := Default()
			c.Accrual = accrual
			c.Credentials[User] = map[string]Credential{"ann": {IdleLimit: [Limits]Bound{MaxJob: bound(1, 1)}}}
			w := jobprio.Waiting{Idle: []jobprio.Run{runOf(t, 1, 1, minutesAgo("ann", 30)+stored), runOf(t, 2, 1, minutesAgo("ann", 30)+stored)}}
			for _, k := range NewQueue(&c, queueWorld).Order(w).Clocks {
				w.Idle[k.Run].Ad.SetInt("EligibleSince", k.Since)
			}
			later := queueWorld
			later.Now = later.Now.Add(time.Minute)
			if again := NewQueue(&c, later).Order(w).Clocks; len(again) > 0 {
				t.Errorf("accrual %d, %q: clocks of the next cycle = %+v, want none", accrual, stored, again)
			}
		}
	}
}

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/maui"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// inQueue is a bench whose cycles go by Maui's one queue: by time in the queue, and with the
// limits that a test sets.
type inQueue struct {
	bench
	maui maui.Config
}

func newInQueue(t *testing.T) inQueue {
	b := inQueue{newBench(t), maui.Default()}
	for proc := range 4 {
		b.since(pool.JobID{Cluster: 1, Proc: proc}, noon)
	}
	return b
}

// since says when a job was submitted.
func (b inQueue) since(id pool.JobID, at time.Time) {
	b.setOf(id, pool.AttrQDate, fmt.Sprint(at.Unix()))
}

func (b *inQueue) bound(kind maui.Kind, name string, which maui.Limit, most float64) {
	if b.maui.Credentials[kind] == nil {
		b.maui.Credentials[kind] = map[string]maui.Credential{}
	}
	c := b.maui.Credentials[kind][name]
	c.Limits[which] = maui.Bound{Set: true, Soft: most, Hard: most}
	b.maui.Credentials[kind][name] = c
}

// cycle runs a cycle, and starts all its matches.
func (b *inQueue) cycle(now time.Time) {
	b.t.Helper()
	var plan *negotiator.Plan
	var seen Snapshot
	b.view(func(v *spool.View) {
		weight, err := classad.ParseExpr("Cpus")
		if err != nil {
			b.t.Fatal(err)
		}
		seen = TakeSnapshot(v, b.s.Domain(), nil, policy.Beside{Running: true})
		plan = negotiation.Cycle(seen.Pool, negotiator.Config{Params: params, UseSlotWeights: true, SlotWeight: weight,
			RequestClaimTimeout: 2 * time.Minute, Queue: maui.NewQueue(&b.maui, maui.World{Now: now})}, now)
	})
	b.update(func(tx *spool.Tx) error {
		for _, m := range Match(tx, plan, seen, now, params) {
			claim, _ := tx.Claim(m.Job)
			if err := Begin(tx, m.Job, claim.Attempt, now, 1, "", params); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestSuccessorInQueue tells which job a slot goes on with in one queue of all when 1.0 ends.
func TestSuccessorInQueue(t *testing.T) {
	next, none := pool.JobID{Cluster: 1, Proc: 2}, pool.JobID{}
	other := pool.JobID{Cluster: 2}
	before, behind := noon.Add(-time.Hour), noon.Add(time.Second)
	tests := []struct {
		name   string
		before func(b *inQueue) // the cycle
		since  func(b *inQueue)
		want   pool.JobID
	}{
		{"nobody else waits", nil, nil, next},
		{"an older job of another waits", func(b *inQueue) { b.submit("bob", 1, ""); b.since(other, before) }, nil, none},
		{"a younger job of another waits", func(b *inQueue) { b.submit("bob", 1, ""); b.since(other, behind) }, nil, next},
		{"the older one wants another slot", func(b *inQueue) {
			b.submit("bob", 1, `Requirements = TARGET.Name == "slot2@here"`)
			b.since(other, before)
		}, nil, next},
		{"the older one is gone", func(b *inQueue) { b.submit("bob", 1, ""); b.since(other, before) }, func(b *inQueue) {
			b.update(func(tx *spool.Tx) error {
				tx.Op("remove")
				_, err := RemoveAll(tx, pool.Procs{Cluster: 2, First: 0, Last: 0}, "x", noon, params)
				return err
			})
		}, next},
		{"the older one is of the same user and another shape", func(b *inQueue) {
			b.submit("alice", 1, "Requirements = TARGET.Cpus > 1")
			b.since(other, before)
		}, nil, other},
		{"the older one is of the same user, and counts against another limit", func(b *inQueue) {
			b.submit("alice", 1, `Class = "long"`)
			b.since(other, before)
			b.bound(maui.Class, "long", maui.MaxJob, 5)
		}, nil, none},
		{"a younger one of the same user counts against another limit", func(b *inQueue) {
			b.submit("alice", 1, `Class = "long"`)
			b.since(other, behind)
			b.bound(maui.Class, "long", maui.MaxJob, 5)
		}, nil, next},
		{"the older one may not run", func(b *inQueue) {
			b.submit("bob", 1, "")
			b.since(other, before)
			b.bound(maui.User, "bob", maui.MaxJob, 0)
		}, nil, next},
		{"its own limit is reached, and a younger one waits", func(b *inQueue) {
			b.submit("bob", 1, "")
			b.since(other, behind)
			b.bound(maui.User, "alice", maui.MaxJob, 2)
		}, nil, next},
		{"one limit keeps both, and the older one goes first", func(b *inQueue) {
			b.submit("bob", 1, `UnixGroup = "staff"`)
			b.since(other, before)
			b.setOf(pool.JobID{Cluster: 1, Proc: 2}, pool.AttrUnixGroup, `"staff"`)
			b.setOf(first, pool.AttrUnixGroup, `"staff"`)
			b.setOf(pool.JobID{Cluster: 1, Proc: 1}, pool.AttrUnixGroup, `"staff"`)
			b.bound(maui.Group, "staff", maui.MaxJob, 2)
		}, nil, none},
		{"a limit of time has to be asked", func(b *inQueue) { b.bound(maui.User, "alice", maui.MaxWC, 1e9) }, nil, none},
	}
	for _, test := range tests {
		b := newInQueue(t)
		b.cycle(noon)
		if test.before != nil {
			test.before(&b)
		}
		b.cycle(noon.Add(time.Second))
		if test.since != nil {
			test.since(&b)
		}
		if got := b.succeeds(first, noon.Add(time.Minute)); got != test.want {
			t.Errorf("%s: the slot goes on with %v, want %v", test.name, got, test.want)
		}
	}
}

// What follows is charged under the QOS of its own place in the queue.
func TestSuccessorInQueueIsCharged(t *testing.T) {
	b := newInQueue(t)
	b.bound(maui.QOS, "gold", maui.MaxJob, 9)
	b.maui.Credentials[maui.User] = map[string]maui.Credential{"alice": {QDef: "gold"}}
	b.cycle(noon)
	b.cycle(noon.Add(time.Second))
	next := b.succeeds(first, noon.Add(time.Minute))
	b.view(func(v *spool.View) {
		if c, ok := v.Claim(next); !ok || c.By.QOS != "gold" {
			t.Errorf("%v follows with the claim %+v, want one under the QOS gold", next, c)
		}
	})
}

package lifecycle

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// tickets returns those of the procs of cluster 1.
func (b bench) tickets() string {
	b.t.Helper()
	var list []string
	for proc := range 4 {
		list = append(list, b.attribute(pool.JobID{Cluster: 1, Proc: proc}, pool.AttrTickets))
	}
	return strings.Join(list, " ")
}

func has(proc int, n float64) negotiator.Tickets {
	return negotiator.Tickets{Job: pool.JobID{Cluster: 1, Proc: proc}, Tickets: n}
}

// TestTicketsAreKept: applying a plan leaves tickets in jobs with claims, those it makes
// among them, and in nobody else.
func TestTicketsAreKept(t *testing.T) {
	b := newBench(t)
	plan := &negotiator.Plan{
		Matches: []negotiator.Match{{Job: first, Submitter: "alice@example.org", Slot: "slot1@here", Weight: accountant.One}},
		Tickets: []negotiator.Tickets{has(0, 250000), has(1, 7), {Job: pool.JobID{Cluster: 9}, Tickets: 5}},
	}
	apply := func(at time.Time) {
		seen := b.snapshot()
		b.update(func(tx *spool.Tx) error { Match(tx, plan, seen, at, params); return nil })
	}
	apply(noon)
	if got, want := b.tickets(), "250000 none none none"; got != want {
		t.Errorf("after the match tickets are %s, want %s", got, want)
	}
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, os.Getpid(), "", params) })
	plan.Matches, plan.Tickets = nil, []negotiator.Tickets{has(0, 1e300)}
	apply(noon.Add(time.Minute))
	if got, want := b.tickets(), fmt.Sprint(int64(mostTickets))+" none none none"; got != want {
		t.Errorf("in the next cycle tickets are %s, want %s", got, want)
	}
	b.update(func(tx *spool.Tx) error {
		return Finish(tx, first, 1, noon.Add(2*time.Minute), pool.Ending{Lost: "the machine is gone"}, params)
	})
	if got, want := b.tickets(), "none none none none"; got != want {
		t.Errorf("after its end tickets are %s, want %s", got, want)
	}
}

// TestTicketsOnce: what is as it was is not written again.
func TestTicketsOnce(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("claim")
		for proc := range 4 {
			tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: 1, Proc: proc}, Attempt: 1, Slot: fmt.Sprint("slot", proc, "@here"), Submitter: "alice@example.org", State: pool.Matched, MatchedAt: noon})
		}
		return nil
	})
	written := func(list ...negotiator.Tickets) (grew bool) {
		before := size(t, b.dir)
		b.update(func(tx *spool.Tx) error { tx.Op("tickets"); deliver(tx, list, nil, noon); return nil })
		return size(t, b.dir) > before
	}
	if !written(has(0, 5), has(1, 5), has(2, 5.9), has(3, 0)) || b.tickets() != "5 5 5 0" {
		t.Errorf("tickets are %s, want 5 5 5 0", b.tickets())
	}
	if !written(has(3, 0), has(1, 5), has(2, 6), has(0, 6)) || b.tickets() != "6 5 6 0" {
		t.Errorf("tickets are %s, want 6 5 6 0", b.tickets())
	}
	if written(has(0, 6), has(1, 5), has(2, math.Nextafter(6, 7)), has(3, 0)) {
		t.Error("the journal grows though nothing is other than before")
	}
}

// TestDelivered: that jobs which ran have got other tickets is noted, and neither matches nor
// tickets as they were are.
func TestDelivered(t *testing.T) {
	b := newBench(t)
	plan := &negotiator.Plan{
		Matches: []negotiator.Match{{Job: first, Submitter: "alice@example.org", Slot: "slot1@here", Weight: accountant.One}},
		Tickets: []negotiator.Tickets{has(0, 5)},
	}
	delivered := func(at time.Time, n float64) (last time.Time) {
		seen := b.snapshot()
		plan.Tickets = []negotiator.Tickets{has(0, n)}
		b.update(func(tx *spool.Tx) error { Match(tx, plan, seen, at, params); return nil })
		b.view(func(v *spool.View) { last = Delivered(v) })
		return last
	}
	if at := delivered(noon, 5); !at.IsZero() {
		t.Errorf("a match counts as a delivery, at %v", at)
	}
	plan.Matches = nil
	if at := delivered(noon.Add(time.Minute), 5.5); !at.IsZero() {
		t.Errorf("tickets as they were count as a delivery, at %v", at)
	}
	if at, want := delivered(noon.Add(2*time.Minute), 6), noon.Add(2*time.Minute); !at.Equal(want) {
		t.Errorf("tickets were delivered at %v, want %v", at, want)
	}
}

func size(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if info, err := f.Info(); err == nil && !f.IsDir() {
			bytes += info.Size()
		}
	}
	return bytes
}

// TestTicketsOfOtherPolicy: where no policy hands them out, the next cycle takes those of
// before away, and the one after that forgets that there were any; where one does that has none
// for a job, these stay.
func TestTicketsOfOtherPolicy(t *testing.T) {
	b := newBench(t)
	b.made(nil, negotiator.Match{Job: first, Submitter: "alice@example.org", Slot: "slot1@here", Weight: accountant.One})
	b.update(func(tx *spool.Tx) error {
		tx.Op("tickets")
		deliver(tx, []negotiator.Tickets{has(0, 5)}, []negotiator.Match{{Job: first}}, noon)
		return nil
	})
	marked := func() (mark string) {
		b.view(func(v *spool.View) { mark = v.Mark(ticketsMark) })
		return mark
	}
	apply := func(plan *negotiator.Plan, between func(tx *spool.Tx) error) string {
		seen := b.snapshot()
		if between != nil {
			b.update(between)
		}
		b.update(func(tx *spool.Tx) error { Match(tx, plan, seen, noon.Add(time.Minute), params); return nil })
		return b.tickets()
	}
	if got, want := apply(&negotiator.Plan{Tickets: []negotiator.Tickets{}}, nil), "5 none none none"; got != want {
		t.Errorf("under a policy with tickets they are %s, want %s", got, want)
	}
	if got, want := apply(&negotiator.Plan{}, nil), "none none none none"; got != want {
		t.Errorf("under one without they are %s, want %s", got, want)
	}
	if got := marked(); got != noDelivery {
		t.Errorf("the mark is %q then, want %q", got, noDelivery)
	}
	apply(&negotiator.Plan{}, nil)
	if got := marked(); got != "" {
		t.Errorf("the mark is %q after the next cycle, want none", got)
	}
	b.update(func(tx *spool.Tx) error {
		tx.Op("tickets")
		deliver(tx, []negotiator.Tickets{has(0, 5)}, nil, noon)
		return nil
	})
	if got, want := apply(&negotiator.Plan{}, func(tx *spool.Tx) error {
		tx.Op("remove")
		_, err := Remove(tx, first, "gone", noon, params)
		return err
	}), "gone none none none"; got != want {
		t.Errorf("of a job that left the queue meanwhile they are %s, want %s", got, want)
	}
}

// TestTicketsOfUnclaimed: a job whose match comes to nothing has none any more, whether it is
// given up or held.
func TestTicketsOfUnclaimed(t *testing.T) {
	for name, end := range map[string]func(tx *spool.Tx) error{
		"given up": func(tx *spool.Tx) error {
			c, _ := tx.Claim(first)
			GiveUp(tx, c, noon.Add(time.Minute), params)
			return nil
		},
		"held": func(tx *spool.Tx) error {
			tx.Op("hold")
			_, err := Hold(tx, pool.Only(first), pool.Reason{Text: "why not"}, noon.Add(time.Minute), params)
			return err
		},
	} {
		b := newBench(t)
		b.made(nil, negotiator.Match{Job: first, Submitter: "alice@example.org", Slot: "slot1@here", Weight: accountant.One})
		b.update(func(tx *spool.Tx) error {
			tx.Op("tickets")
			keepTickets(tx, []negotiator.Tickets{has(0, 5)})
			return nil
		})
		before := b.tickets()
		b.update(func(tx *spool.Tx) error { tx.Op("end"); return end(tx) })
		if got := b.tickets(); before != "5 none none none" || got != "none none none none" {
			t.Errorf("%s: tickets were %s and are %s, want none", name, before, got)
		}
	}
}

// TestTicketsGoOn: the job with which a slot goes on has the tickets of the one before.
func TestTicketsGoOn(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, os.Getpid(), "", params) })
	b.update(func(tx *spool.Tx) error {
		tx.Op("tickets")
		keepTickets(tx, []negotiator.Tickets{has(0, 5)})
		return nil
	})
	next := b.succeeds(first, noon.Add(time.Minute))
	if got, want := b.tickets(), "gone none 5 none"; next.Proc != 2 || got != want {
		t.Errorf("the slot goes on with %v, and tickets are %s, want 1.2 and %s", next, got, want)
	}
}

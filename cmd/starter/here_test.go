package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/launch/local"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func TestTicketsAndSlots(t *testing.T) {
	t.Parallel()
	c := &classad.Context{Now: matchedAt}
	for _, x := range []struct {
		pairs   []string
		tickets float64
		has     bool
		slots   int
	}{
		{nil, 0, false, 1},
		{[]string{"Tickets", "5", "OverrideTickets", "6", "RequestCpus", "4"}, 5, true, 4},
		{[]string{"OverrideTickets", "6", "RequestCpus", "2.9"}, 6, true, 2},
		{[]string{"Tickets", `"x"`, "OverrideTickets", "0", "RequestCpus", "0"}, 0, true, 1},
		{[]string{"Tickets", "-1.5", "RequestCpus", "-7"}, -1.5, true, 1},
		{[]string{"RequestCpus", "TARGET.Cpus"}, 0, false, 1},
		{[]string{"RequestCpus", "1e300"}, 0, false, 1 << 20},
		{[]string{"RequestCpus", `real("NaN")`, "Tickets", "undefined"}, 0, false, 1},
	} {
		ad := adOf(t, x.pairs...)
		tickets, has := ticketsOf(c, ad)
		if slots := slotsOf(c, ad); tickets != x.tickets || has != x.has || slots != x.slots {
			t.Errorf("%q: %v tickets (%v) and %d slots, want %v (%v) and %d", x.pairs, tickets, has, slots, x.tickets, x.has, x.slots)
		}
	}
}

// TestRunners holds that nice values are for jobs that run on this machine.
func TestRunners(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	n := p.desk(pool.JobID{Cluster: 9}).desks
	for cluster, claim := range []pool.Claim{
		{Machine: "NODE1", State: pool.RunningClaim}, {Machine: "node2", State: pool.RunningClaim}, {Machine: "node1", State: pool.Matched}, {Machine: "node1", State: pool.Vacating},
	} {
		id := p.match("", "Tickets", "5", "RequestCpus", "2")
		p.update(func(tx *spool.Tx) error {
			c, _ := tx.Claim(id)
			c.Machine, c.State, c.StartedAt, c.PID = claim.Machine, claim.State, matchedAt, 70+cluster
			tx.Op("test")
			tx.PutClaim(c)
			return nil
		})
	}
	want := []local.Runner{{Name: "1.0.1", PID: 70, Tickets: 5, Slots: 2}}
	if got, tickets, err := n.runners("node1"); !slices.Equal(got, want) || !tickets || err != nil {
		t.Errorf("runners = %v, %v, %v, want %v, true", got, tickets, err, want)
	}
	if err := os.Rename(p.spool.Dir(), p.dir+"/elsewhere"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.runners("node1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a spool runners fails with %v, want fs.ErrNotExist", err)
	}
	if err := os.Rename(p.dir+"/elsewhere", p.spool.Dir()); err != nil {
		t.Fatal(err)
	}
}

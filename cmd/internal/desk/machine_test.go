package desk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/config"
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
	n := p.desks()
	for cluster, claim := range []pool.Claim{
		{Machine: "NODE1", State: pool.RunningClaim}, {Machine: "node2", State: pool.RunningClaim}, {Machine: "node1", State: pool.Matched}, {Machine: "node1", State: pool.Vacating},
	} {
		id := p.match("Tickets", "5", "RequestCpus", "2")
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
	testenv.OK(t, os.Rename(p.spool.Dir(), p.dir+"/elsewhere"))
	if _, _, err := n.runners("node1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a spool runners fails with %v, want fs.ErrNotExist", err)
	}
	testenv.OK(t, os.Rename(p.dir+"/elsewhere", p.spool.Dir()))
}

// What other jobs are bound to counts where they run, on the same machine.
func TestProcessorsFor(t *testing.T) {
	t.Parallel()
	here := local.Processors(float64(runtime.NumCPU()), nil)
	if len(here) == 0 {
		t.Fatal("Processors = none, want some")
	}
	first := fmt.Sprint(here[:1])
	next := "[]"
	if len(here) > 1 {
		next = fmt.Sprint(here[1:2])
	}
	mine := pool.Claim{Job: pool.JobID{Cluster: 1}, Machine: "node1", State: pool.Matched}
	other := pool.Claim{Job: pool.JobID{Cluster: 2}, Attempt: 1, Slot: "slot2@node1", Machine: "NODE1", State: pool.RunningClaim, Submitter: submitter, MatchedAt: matchedAt}
	for _, c := range []struct {
		what   string
		cpus   string // of the slot
		change func(*pool.Claim)
		want   string
	}{
		{"another runs", "1", func(*pool.Claim) {}, next},
		{"another has to leave", "1", func(c *pool.Claim) { c.State = pool.Vacating }, next},
		{"another was matched", "1", func(c *pool.Claim) { c.State = pool.Matched }, first},
		{"another is elsewhere", "1", func(c *pool.Claim) { c.Machine = "node2" }, first},
		{"a part of a core", "0.5", func(c *pool.Claim) { c.Machine = "node2" }, first},
		{"more than there are", fmt.Sprint(len(here) + 1), func(c *pool.Claim) { c.Machine = "node2" }, "[]"},
		{"far more", "1e300", func(c *pool.Claim) { c.Machine = "node2" }, "[]"},
		{"as many as there are", fmt.Sprint(len(here)), func(c *pool.Claim) { c.Machine = "node2" }, fmt.Sprint(here)},
		{"no core", "0", func(c *pool.Claim) { c.Machine = "node2" }, "[]"},
		{"no number", `"x"`, func(c *pool.Claim) { c.Machine = "node2" }, "[]"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			slot, err := classad.ParseAd(`[Cpus = ` + c.cpus + `]`)
			testenv.OK(t, err)
			p.match()
			p.match("CpuAffinity", fmt.Sprintf(`"%d,x"`, here[0]))
			claim := other
			c.change(&claim)
			p.update(func(tx *spool.Tx) error {
				tx.Op("test")
				tx.PutClaim(claim)
				if got := fmt.Sprint(processorsFor(&tx.View, mine, slot)); got != c.want {
					t.Errorf("processorsFor a slot with Cpus = %s is %s, want %s", c.cpus, got, c.want)
				}
				return nil
			})
		})
	}
}

// Two spools that share EXECUTE are told apart, and one that is reached through a
// link is the same.
func TestScratchFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.OK(t, os.Symlink("one", filepath.Join(dir, "link")))
	folder := map[string]string{}
	for _, name := range []string{"one", "two", "link"} {
		sp, err := spool.Open(filepath.Join(dir, name), spool.Options{Program: "test", UIDDomain: "x"})
		if err == nil {
			err = sp.Update(func(tx *spool.Tx) error { tx.Op("make it"); return nil })
		}
		testenv.OK(t, err)
		defer sp.Close()
		folder[name] = folderOf(&config.Config{Execute: "/execute"}, sp).Path
	}
	if folder["one"] == folder["two"] || folder["one"] != folder["link"] {
		t.Errorf("the folders are %v, want two of them", folder)
	}
}

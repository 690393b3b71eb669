package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Two jobs of alice have run for two hours on all slots there are, and bob has come.
func overdue(t *testing.T) {
	t.Helper()
	s := fill(t, 2, 2)
	if status, _, bad := negotiate("-q"); status != 0 || bad != "" {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	update(t, s, func(tx *spool.Tx) error {
		for proc := range 2 {
			if err := operation.Begin(tx, pool.JobID{Cluster: 1, Proc: proc}, 1, time.Unix(now+1, 0), 1, accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}); err != nil {
				return err
			}
		}
		tx.AddCluster(ad(t, fmt.Sprintf(`[Owner = "bob"; JobStatus = 1; QDate = %d; RequestCpus = 1; Requirements = true]`, now)), []spool.NewRun{{Count: 3}})
		return nil
	})
	t.Setenv("FAIRSPOOL_NOW", fmt.Sprint(now+7201))
}

func TestPreemptionForPeople(t *testing.T) {
	overdue(t)
	const table = "Job  Submitter  Slot        Preempts  Of          By                     Work Lost\n"
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-dry-run", []string{"Cycle 2: 1 job would be matched, 1 job would be preempted, 0 of 2 slots free.\n", table, "  EUP 0.50 before 0.5", "  0+02:00:00\n",
			"1 job would be preempted; work lost, in slot weight times the time they ran: 0+02:00:00.\n",
			"2.1 and 1 more like it of bob@pool: no match found: all 2 matching slots are taken (2 before this cycle); not preempted: ", "1 as it goes to another job already"}},
		{"-explain 2.0", []string{"2.0 would be matched with slot", " of alice@pool has to go for it: the EUP of bob@pool is 0.50, that of alice@pool 0.5", " (lower is better). Work lost: 0+02:00:00.\n"}},
		{"-explain 1", []string{" runs on slot", " It would have to go for 2.0 of bob@pool: the EUP of bob@pool is 0.50, that of alice@pool 0.5", " (lower is better). Work lost: 0+02:00:00.\n"}},
		{"-explain 2.2", []string{"2.2 would not be matched: ", "  2 claimed slots that match, and why they are not preempted for bob@pool:\n    1  it goes to another job already\n"}},
		{"-explain 1 -json", []string{`"For": "2.0"`, `"Rule": "Priority"`}},
		{"-what-if|qdel 2.0 2.1 2.2", []string{"1 -> 0 jobs would be matched, 1 -> 0 jobs preempted, 0 of 2 slots free.", "1 job would not be preempted that would now:\n  1.",
			", for 2.0 (Priority), work lost: 0+02:00:00\n"}},
		{"-what-if|config NEGOTIATOR_CONSIDER_PREEMPTION=false|-what-if|submit 1 like 2.0", []string{"1 -> 0 jobs preempted"}},
		{"-q", nil},
	} {
		args := strings.Split(c.args, "|")
		if len(args) == 1 {
			args = strings.Fields(c.args)
		}
		status, out, bad := negotiate(args...)
		rest, ok := out, status == 0 && bad == "" && (c.want != nil || out == "")
		for _, part := range c.want {
			at := strings.Index(rest, part)
			if ok = ok && at >= 0; ok {
				rest = rest[at+len(part):]
			}
		}
		if !ok {
			t.Errorf("negotiate %s = %d, %q\n%s\nwant %q in this order", c.args, status, bad, out, c.want)
		}
	}
	negotiate("-q")
	for _, want := range []string{"is vacating slot", " since 2026-11-21 01:34:07: preempted for job 2.0 of bob@pool: better priority.\n"} {
		if _, out, _ := negotiate("-explain", "1"); !strings.Contains(out, want) {
			t.Errorf("of the job that has to go: %q, want %q", out, want)
		}
	}
	if _, out, _ := negotiate("-explain", "2.0"); !strings.Contains(out, "2.0 is promised slot") || !strings.Contains(out, ", and waits for whoever has it to leave.\n") {
		t.Errorf("of the job that waits for it: %q, want that it is promised the slot", out)
	}
	if _, out, _ := negotiate("-explain", "2.2"); !strings.Contains(out, "the end of the job") {
		t.Errorf("of one that waits: %q, want what would help", out)
	}
}

// EUPs that differ are told as different ones.
func TestUnlike(t *testing.T) {
	for _, c := range []struct {
		a, b float64
		want string
	}{{0.5, 40, "0.50 40.00"}, {0.5001, 0.5004, "0.5001 0.5004"}, {0.501, 0.509, "0.50 0.51"}, {2, 2, "2.00 2.00"}} {
		if a, b := unlike(c.a, c.b); a+" "+b != c.want {
			t.Errorf("unlike(%v, %v) = %s %s, want %s", c.a, c.b, a, b, c.want)
		}
	}
}

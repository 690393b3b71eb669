package qstat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// briefKinds makes a spool with jobs in every state of the brief layout, for every reason
// that it words itself.
func briefKinds(t *testing.T) {
	t.Helper()
	everyKind(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for _, more := range []string{
			`Cmd = "/bin/sh"; Arguments = "-c 'echo ''hi there''; hostname'"; JobStatus = 5; HoldReasonCode = 15; HoldReason = "submitted on hold at user's request"`, // 15
			fmt.Sprintf(`JobStatus = 5; HoldReasonCode = 1; HoldReason = "waits for 世界 and for more data than fits"; EnteredCurrentStatus = %d`, now-3*86400),         // 16
			`JobStatus = 5; HoldReasonCode = 3; HoldReason = "The job attribute PeriodicHold expression 'NumJobStarts > 3' evaluated to TRUE"`,                        // 17
			`JobStatus = 5; HoldReasonCode = 1001; HoldReason = "The job exceeded wall time limit of 1:00"`,                                                           // 18
			`JobStatus = 5; HoldReasonCode = 1000; HoldReason = "cluster 2 failed"`,                                                                                   // 19
			`JobBatchName = "sweep\x1b[2J"; Arguments = "--seed '' 'a b' it''s"`,                                                                                      // 20
			`JobStatus = 4; LeaveJobInQueue = true; ExitBySignal = true; ExitSignal = 9`,                                                                              // 21
			`JobStatus = 3; LeaveJobInQueue = true; RemoveReason = "via qdel"`,                                                                                        // 22
			`JobStatus = 2; Cmd = "/home/frieda/a-program-with-a-long-name"; Arguments = "and arguments that are longer than any line of a terminal is, or nearly"`,   // 23
			`JobStatus = 7`, // 24
			``,              // 25
			``,              // 26
		} {
			more = strings.ReplaceAll(more, `\x1b`, "\x1b")
			tx.AddCluster(job(t, "frieda", more), []spool.NewRun{{Count: 1}})
		}
		claim := func(cluster int, slot string, state pool.ClaimState, to int) {
			c := pool.Claim{Job: pool.JobID{Cluster: cluster}, Attempt: 1, Slot: slot, Machine: "node", Submitter: "frieda@pool", State: state,
				Weight: accountant.One, MatchedAt: time.Unix(now-40000, 0), StartedAt: time.Unix(now-40000, 0)}
			if state == pool.Promised {
				c.StartedAt = time.Time{}
			}
			if to != 0 {
				c.PromisedTo, c.VacateReason = pool.JobID{Cluster: to}, "preempted"
			}
			tx.PutClaim(c)
		}
		claim(23, "slot7@a-node-with-a-long-name.example.org", pool.RunningClaim, 0)
		claim(24, "slot8@node", pool.RunningClaim, 0)
		claim(13, "slot9@node", pool.Vacating, 25)
		claim(25, "slot9@node", pool.Promised, 0)
	})
	reported(t, fmt.Sprintf(`{"Cycle": 1, "Time": %d, "Rejections": [
		{"Job": "1.3", "Count": 497, "Jobs": ["1.3-499"], "Cause": "Claimed", "Autocluster": 0},
		{"Job": "1.500", "Count": 500, "Jobs": ["1.500-999"], "Cause": "OwnJobs", "Autocluster": 0},
		{"Job": "2.0", "Count": 1, "Jobs": ["2.0"], "Cause": "ConcurrencyLimit", "Limits": ["matlab"], "Autocluster": 0},
		{"Job": "3.0", "Count": 1, "Jobs": ["3.0"], "Cause": "Requirements", "Autocluster": 0},
		{"Job": "3.1", "Count": 1, "Jobs": ["3.1"], "Cause": "OfALaterVersion", "Reason": "no match found: for a new reason", "Autocluster": 0}
	], "Autoclusters": [{}]}`, now-10))
}

// TestBrief holds the brief list on lines of three lengths, and uncut.
func TestBrief(t *testing.T) {
	briefKinds(t)
	for _, columns := range []int{60, 80, 120} {
		t.Setenv("COLUMNS", fmt.Sprint(columns))
		status, out, bad := qstat("-brief")
		cmdtest.Displayed(t, fmt.Sprintf("qstat -brief (on %d columns)", columns), status, out, bad)
		for line := range strings.Lines(out) {
			if n := table.Width(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("on %d columns a line has %d: %s", columns, n, line)
			}
		}
	}
	displays(t, "-brief -w -u frieda", "-brief -s h -u erin", "-brief -g d 3", "-brief -u alice -s r", "-brief -s s -u bob")
}

// TestBriefEmpty holds what is said where there are no jobs to show.
func TestBriefEmpty(t *testing.T) {
	cmdtest.Spool(t, func(*spool.Tx) {})
	displays(t, "-brief")
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "alice", ""), []spool.NewRun{{Count: 1}})
	})
	displays(t, "-brief", "-brief -s z", "-brief -q node9")
}

// TestLayout holds which layout options and FAIRSPOOL_QSTAT choose where standard output is no
// terminal, and which do not go together.
func TestLayout(t *testing.T) {
	fill(t)
	for _, c := range []struct{ variable, args, begins string }{
		{"", "", "job-ID"}, {"", "-brief", "job "}, {"", "-sge", "job-ID"}, {"sge", "", "job-ID"}, {"brief", "", "job "},
		{"sge", "-brief", "job "}, {"brief", "-sge", "job-ID"}, {"brief", "-g d", "job "}, {"brief", "-w", "job "}, {"sge", "-w", "job-ID"},
		{"brief", "-f", "queuename"}, {"brief", "-r", "job-ID"}, {"brief", "-pri", "job-ID"}, {"brief", "-urg", "job-ID"},
		{"brief", "-ext", "job-ID"}, {"brief", "-xml", "<?xml"}, {"brief", "-json", "["}, {"brief", "-g c", "CLUSTER QUEUE"},
		{"brief", "-g t", "job-ID"}, {"brief", "-af ClusterId", "1\n"}, {"brief", "-j 2", "=="},
	} {
		t.Setenv("FAIRSPOOL_QSTAT", c.variable)
		if status, out, bad := qstat(strings.Fields(c.args)...); status != 0 || bad != "" || !strings.HasPrefix(out, c.begins) {
			t.Errorf("FAIRSPOOL_QSTAT=%s qstat %s = %d, %.40q, %q, want it to begin with %q", c.variable, c.args, status, out, bad, c.begins)
		}
	}
	t.Setenv("FAIRSPOOL_QSTAT", "")
	for _, args := range []string{"-brief -sge", "-brief -f", "-brief -json", "-brief -g c", "-brief -pri", "-sge -json", "-sge -af JobStatus",
		"-history -brief", "-start -brief", "-start -w", "-start -j 1"} {
		cmdtest.Refuses(t, Command(), 2, strings.Fields(args)...)
	}
	t.Setenv("FAIRSPOOL_QSTAT", "slurm")
	cmdtest.Refuses(t, Command(), 2, "-u", "alice")
}

// Procs that differ in their arguments alone share a line, which has what their commands begin
// with.
func TestBriefCommands(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		var runs []spool.NewRun
		for _, args := range []string{"--seed 1 -x", "--seed 17 -x", "--seed 2"} {
			own := classad.New()
			own.SetString("Arguments", args)
			runs = append(runs, spool.NewRun{Count: 1, Ad: own})
		}
		tx.AddCluster(job(t, "alice", `Cmd = "/home/alice/sweep.py"`), runs)
	})
	displays(t, "-brief", "-brief -g d")
}

package qstat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/policy/sge"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// underSGE sets the policy for the commands of a test.
func underSGE(t *testing.T, parameters string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fairspool.toml")
	if err := os.WriteFile(file, []byte("JOB_PRIORITY_POLICY = \"sge\"\nUID_DOMAIN = \"pool\"\n[sge]\n"+parameters), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAIRSPOOL_CONFIG", file)
}

const functionalUsers = "weight_user = 1\nweight_department = 0\nweight_project = 0\nweight_job = 0\nweight_tickets_functional = 1200\n" +
	"users.alice.fshare = 100\nusers.bob.fshare = 200\n"

// someRanked makes a spool of jobs that wait, are held, run, are suspended and have ended, and
// slots that are free, so that several procs of a cluster get tickets.
func someRanked(t *testing.T) {
	t.Helper()
	cmdtest.Spool(t, func(tx *spool.Tx) {
		add := func(owner, more string, count int) {
			tx.AddCluster(job(t, owner, more), []spool.NewRun{{Count: count}})
		}
		add("alice", "", 4)                                    // 1
		add("bob", "QDate = 1795000000", 2)                    // 2
		add("carol", "JobPrio = -100", 1)                      // 3
		add("carol", `AccountingGroup = "nice-user.carol"`, 1) // 4
		add("bob", "JobStatus = 5", 1)                         // 5
		add("alice", `JobStatus = 4; OverrideTickets = 7`, 1)  // 6
		add("alice", "", 1)                                    // 7: runs
		add("bob", "ParallelSlots = \"2-8\"", 1)               // 8: is suspended
		claim := func(cluster int, owner string, status pool.Status) {
			tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: cluster}, Attempt: 1, Slot: "slot1@node", Submitter: owner + "@pool",
				State: pool.RunningClaim, Weight: accountant.One, MatchedAt: time.Unix(now-60, 0), StartedAt: time.Unix(now-30, 0)})
			tx.Set(pool.JobID{Cluster: cluster}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(status))))
		}
		claim(7, "alice", pool.Running)
		claim(8, "bob", pool.Suspended)
		for _, name := range []string{"slot2@node", "slot3@node", "slot4@node", "slot5@node", "slot6@node"} {
			tx.PutSlot(name, cmdtest.Ad(t, `[Name = "`+name+`"; Machine = "node"; Cpus = 1]`))
		}
	})
}

func TestRankedOrder(t *testing.T) {
	someRanked(t)
	underSGE(t, functionalUsers)
	// 7.0 has all tickets of those that run: 1200. 2.0 gets 200/300 of them, and 1.0 50/300.
	want := "7.0 0.56000, 8.0 0.00000, 2.0-1:1 0.55667, 1.0-3:1 0.55167, 3.0 0.50117, 4.0 0.55000, 5.0 0.00000, 6.0 0.00000"
	if got := priors(t, ""); got != want {
		t.Errorf("qstat lists %s, want %s", got, want)
	}
	single := lines(t, "-g d -s p")
	var places []string
	for _, line := range single {
		places = append(places, line.id())
	}
	if want := []string{"2.0", "2.1", "1.0", "1.1", "1.2", "1.3", "3.0", "4.0", "5.0"}; !slices.Equal(places, want) {
		t.Errorf("qstat -g d lists %q, want %q", places, want)
	}
	// What is shown does not change what the numbers are.
	if got := lines(t, "1.2"); len(got) != 1 || got[0] != single[4] {
		t.Errorf("qstat 1.2 lists %+v, want %+v", got, single[4])
	}
	displays(t, "", "-pri", "-urg", "-ext", "-f", "-r")
}

// Without report_pjob_tickets lists show nothing of jobs that wait, nor their order; -j explains
// it.
func TestRankedUnreported(t *testing.T) {
	someRanked(t)
	underSGE(t, functionalUsers+"report_pjob_tickets = false\n")
	want := "2.0-1:1 0.00000, 1.0-3:1 0.00000, 3.0 0.00000, 4.0 0.00000, 5.0 0.00000"
	if got := priors(t, "-s p"); got != want {
		t.Errorf("qstat lists %s, want %s", got, want)
	}
	for _, x := range rankedJSON(t, "-ext", "-json", "-s", "p") {
		if x.Place != 0 || x.Priority != 0 || x.RankedNumbers != (sge.RankedNumbers{}) {
			t.Errorf("-json shows %+v", x)
		}
	}
	displays(t, "-j 2")
	_, out, _ := qstat("-j", "2", "-json")
	var whole struct {
		Jobs []struct{ Priority sge.Ranked }
	}
	if err := json.Unmarshal([]byte(out), &whole); err != nil || len(whole.Jobs) != 1 {
		t.Fatalf("-j -json: %v\n%s", err, out)
	}
	if x := whole.Jobs[0].Priority; x.Place != 0 || x.Priority == 0 || x.NPPrior != 0.5 || x.Tckts == 0 {
		t.Errorf("-j -json has other numbers than the formulas: %+v", x)
	}
}

func rankedJSON(t *testing.T, args ...string) (list []sge.Ranked) {
	t.Helper()
	status, out, bad := qstat(args...)
	var all struct{ Jobs []sge.Ranked }
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != 0 || bad != "" {
		t.Fatalf("qstat %q = %d, %q, %v\n%s", args, status, bad, err, out)
	}
	return all.Jobs
}

// The objects of JSON have the jobs of the list, each once, the numbers that the list rounds, and
// places without a gap.
func TestRankedJSON(t *testing.T) {
	someRanked(t)
	underSGE(t, functionalUsers)
	next, jobs := 1, 0
	for _, x := range rankedJSON(t, "-pri", "-json") {
		jobs += x.Count
		if x.Place > 0 {
			if x.Place != next {
				t.Errorf("%d.%d has place %d, want %d", x.ClusterID, x.ProcID, x.Place, next)
			}
			next += x.Count
		}
		if sum := x.NPPrior + 0.1*x.NUrg + 0.01*x.NTckts; x.Priority-sum > 1e-12 || sum-x.Priority > 1e-12 {
			t.Errorf("%d.%d has priority %v, the sum is %v", x.ClusterID, x.ProcID, x.Priority, sum)
		}
		switch x.ClusterID {
		case 6:
			if x.OverrideTickets != 7 || x.State != "z" || x.Priority != 0 {
				t.Errorf("6.0 is %+v", x)
			}
		case 8:
			if x.Slots != 2 || x.RankedNumbers != (sge.RankedNumbers{}) {
				t.Errorf("8.0 is %+v", x)
			}
		}
	}
	if next != 9 || jobs != 12 {
		t.Errorf("%d jobs in the queue of %d in all, want 8 of 12", next-1, jobs)
	}
	if single := rankedJSON(t, "-urg", "-json", "-g", "d"); len(single) != 12 {
		t.Errorf("-g d: %d objects, want 12", len(single))
	}
	if none := rankedJSON(t, "-urg", "-json", "-u", "nobody"); len(none) != 0 {
		t.Errorf("of nobody: %+v", none)
	}
}

func TestRankedRefuses(t *testing.T) {
	someRanked(t)
	underSGE(t, "")
	for _, args := range []string{"-pri -json -xml", "-ext -json -r", "-ext -json -g c"} {
		cmdtest.Refuses(t, Command(), 2, strings.Fields(args)...)
	}
}

// TestRankedLater: a job that is to start at a time has no numbers, no place and no course
// before that.
func TestRankedLater(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "alice", "DeferralTime = 1800000000"), []spool.NewRun{{Count: 2}})
		tx.AddCluster(job(t, "bob", ""), []spool.NewRun{{Count: 1}})
	})
	underSGE(t, functionalUsers)
	if got, want := priors(t, ""), "2.0 0.56000, 1.0-1:1 0.00000"; got != want {
		t.Errorf("qstat lists %s, want %s", got, want)
	}
	if got := rankedJSON(t, "-pri", "-json", "1"); len(got) != 1 || got[0].Count != 2 || got[0].Place != 0 || got[0].Priority != 0 || got[0].RankedNumbers != (sge.RankedNumbers{}) {
		t.Errorf("qstat -pri -json 1 has %+v", got)
	}
	displays(t, "-j 1", "-j 1.0 -json")
}

// TestRankedLaterOrder: jobs that are to start later stand among the held ones, by submission, as
// both have 0.00000 in Grid Engine.
func TestRankedLaterOrder(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for _, more := range []string{"JobStatus = 5", "DeferralTime = 1800000000", "JobStatus = 5", "DeferralTime = 1800000000; QDate = 1795000000", ""} {
			tx.AddCluster(job(t, "bob", more), []spool.NewRun{{Count: 1}})
		}
	})
	underSGE(t, functionalUsers)
	if got, want := priors(t, ""), "5.0 0.56000, 4.0 0.00000, 1.0 0.00000, 2.0 0.00000, 3.0 0.00000"; got != want {
		t.Errorf("qstat lists %s, want %s", got, want)
	}
}

// TestRequestedTwice: of a complex that is asked for by name and by shortcut the name counts.
func TestRequestedTwice(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "alice", "RequestL = 2; RequestLic = 3"), []spool.NewRun{{Count: 1}})
		tx.AddCluster(job(t, "alice", "RequestL = 2"), []spool.NewRun{{Count: 1}})
	})
	underSGE(t, "complexes.lic.type = \"INT\"\ncomplexes.lic.shortcut = \"l\"\ncomplexes.lic.urgency = 500\n")
	displays(t, "-r")
}

// TestGatherUrgency: procs that ask for something else are not one line, even where no column
// has what they ask for, as the numbers of the first are not theirs.
func TestGatherUrgency(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "alice", "RequestLic = ProcId / 2"), []spool.NewRun{{Count: 4}})
		tx.AddCluster(job(t, "bob", ""), []spool.NewRun{{Count: 2, Ad: cmdtest.Ad(t, "[Deadline = 1800000000]")}, {Count: 2}})
	})
	underSGE(t, "complexes.lic.type = \"INT\"\ncomplexes.lic.urgency = 500\n")
	for _, flag := range []string{"-pri", "-urg", "-ext", ""} {
		if got, want := ids(t, flag), "1.2-3:1 qw, 2.0-1:1 qw, 1.0-1:1 qw, 2.2-3:1 qw"; got != want {
			t.Errorf("qstat %s lists %s, want %s", flag, got, want)
		}
	}
}

// A sheet of several jobs says of which one the numbers are, where they differ.
func TestRankedSheet(t *testing.T) {
	someRanked(t)
	underSGE(t, functionalUsers)
	displays(t, "-j 1", "-j 1.2", "-j 7", "-j 8", "-j 5", "-j 3", "-j 6")
	_, out, _ := qstat("-j", "1.2", "-json")
	var all struct {
		Jobs []struct {
			Priority sge.Ranked
			Course   struct{ MaxTickets float64 }
		}
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all.Jobs) != 1 || all.Jobs[0].Priority.ProcID != 2 || all.Jobs[0].Course.MaxTickets != 1200 {
		t.Errorf("qstat -j 1.2 -json: %v\n%s", err, out)
	}
}

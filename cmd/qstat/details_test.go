package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// TestDetailsOfEverything holds what -j shows of a job with all that people ask for,
// and that nothing of it can steer a terminal.
func TestDetailsOfEverything(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "erin", `
			JobStatus = 5; EnteredCurrentStatus = `+number(now-60)+`; User = "erin@pool"; UnixGroup = "hpc"; Project = "p1"; NiceUser = true;
			DeferralTime = `+number(now+600)+`; Deadline = DeferralTime + 60; Environment = "A=1 SECRET='two words'"; Iwd = "/home/erin"; In = "/dev/null"; Out = "o\033[2J";
			UserLog = "/home/erin/log"; TransferInput = "a,b"; JobNotification = 3; NotifyUser = "erin@example.org";
			JobPrio = 7; PreJobPrio1 = 2; PostJobPrio2 = 0; RequestMemory = 512; RequestGPUs = 1; RequestLicences = Base * 2; Base = 2;
			ConcurrencyLimits = "matlab"; Requirements = TARGET.Memory > 1; Rank = 0.0;
			PeriodicHold = false; PeriodicRelease = NumHolds < 3; OnExitRemove = true; OnExitHold = ExitCode =!= 0; JobMaxRetries = 3; KillSig = "SIGUSR1";
			AfterOk = "1,98"; AfterAny = "99";
			NumJobStarts = 2; JobStartDate = `+number(now-3000)+`; JobCurrentStartDate = `+number(now-2000)+`; NumJobMatches = 4; LastMatchTime = `+number(now-1900)+`;
			LastRemoteHost = "slot1@node"; ExitBySignal = false; ExitCode = 3; RemoteWallClockTime = 90.0; RemoteUserCpu = 5.5; RemoteSysCpu = 0.5; ResidentSetSize = 2048;
			WastedTime = 30.0; CommittedTime = 60.0; NumCkpts = 2; LastCkptTime = `+number(now-1500)+`;
			VacateReason = "preempted"; LastVacateTime = `+number(now-1000)+`; NumHolds = 2; HoldReason = "via qhold"; HoldReasonCode = 1; HoldReasonSubCode = 4;
			LastHoldReason = "no such file"; LastHoldReasonCode = 14; LastHoldReasonSubCode = 0; ReleaseReason = "via qrls"`), []spool.NewRun{{Count: 3}})
		for _, slot := range []struct{ name, ad string }{{"slot1@a", "[Memory = 1; Requirements = true]"}, {"slot1@b", "[Memory = 2; Requirements = true]"}, {"slot2@b", "[Memory = 2; Requirements = TARGET.RequestMemory < 100]"}} {
			tx.PutSlot(slot.name, cmdtest.Ad(t, slot.ad))
		}
	})
	_, out, bad := qstat("-j", "6.1")
	want := `==============================================================
job_number:                 6
job-array tasks:            1
state:                      hqw
state_since:                11/20/2026 23:33:06
submission_time:            11/20/2026 22:34:06
execution_time:             11/20/2026 23:44:06
deadline:                   11/20/2026 23:45:06
owner:                      erin
submitter:                  erin@pool
group:                      hpc
project:                    p1
nice_user:                  true
job_name:                   sleep
script_file:                /bin/sleep
job_args:                   300
env_list:                   A,SECRET
cwd:                        /home/erin
stdout_path_list:           o?[2J
log:                        /home/erin/log
transfer_input_files:       a,b
mail_options:               error
mail_list:                  erin@example.org
pre_priority_1:             2
priority:                   7
hard resource_list:         cpus=1,memory=512,gpus=1,licences=4
concurrency_limits:         matlab
requirements:               TARGET.Memory > 1
periodic_release:           NumHolds < 3
on_exit_hold:               ExitCode =!= 0
max_retries:                3
kill_sig:                   "SIGUSR1"
after_ok:                   1 (999 still to end)
                            98 (has ended)
after_any:                  99 (has ended)
starts:                     2, the first at 11/20/2026 22:44:06, the last at 11/20/2026 23:00:46
matches:                    4, the last at 11/20/2026 23:02:26
last_queue:                 slot1@node
last_exit:                  exit 3
usage:                      wallclock=0+00:01:30, cpu=0+00:00:06, maxrss=2.000M, wasted=0+00:00:30
checkpoints:                2, the last at 11/20/2026 23:09:06
vacate reason:              preempted (at 11/20/2026 23:17:26)
holds:                      2
hold reason:                via qhold (code 1, subcode 4)
last hold reason:           no such file (code 14)
release reason:             via qrls
scheduling info:            is held until somebody releases it: qrls 6.1
                            is released when this becomes true: NumHolds < 3
                            slots that match: 1 of 3, slot1@b
`
	if out != want || bad != "" {
		t.Errorf("qstat -j 6.1: %q\n%s\nwant\n%s", bad, out, want)
	}
}

func number(n int64) string { return classad.Literal(classad.Int(n)).String() }

// TestWaitingFor holds what -j says of jobs that wait for something that comes.
func TestWaitingFor(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "erin", `AfterOk = "3,98"; AfterAny = "2"`), []spool.NewRun{{Count: 2}})                    // 6
		tx.AddCluster(job(t, "erin", `AfterAny = "98"`), []spool.NewRun{{Count: 1}})                                     // 7
		tx.AddCluster(job(t, "erin", `DeferralTime = `+number(now+600)), []spool.NewRun{{Count: 1}})                     // 8
		tx.AddCluster(job(t, "erin", `JobStatus = 4; LeaveJobInQueue = true; ExitCode = 0`), []spool.NewRun{{Count: 1}}) // 9
	})
	for _, c := range []struct{ job, want string }{
		{"6", "waits for the end of other jobs: 3, 2"},
		{"7", "waits for the end of other jobs: all have ended, and the next negotiation cycle takes note of it"},
		{"8", "is not to be executed before 11/20/2026 23:44:06\n                            no negotiation cycle has been run yet"},
		{"9", "has ended, and stays in the queue as long as leave_in_queue is true: qdel 9.0"},
		{"4", "is held until somebody releases it: qrls 4.0"},
	} {
		_, out, _ := qstat("-j", c.job)
		_, got, _ := strings.Cut(out, "scheduling info:            ")
		if got != c.want+"\n" {
			t.Errorf("scheduling info of %s = %q, want %q", c.job, got, c.want)
		}
	}
}

// Jobs of a cluster of which the same is said share a sheet, however they lie between
// others.
func TestDetailsShared(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for p := 20; p < 60; p += 2 {
			tx.Set(pool.JobID{Cluster: 1, Proc: p}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Held))))
		}
		tx.Set(pool.JobID{Cluster: 1, Proc: 40}, pool.AttrHoldReason, classad.Literal(classad.String("no licence")))
	})
	_, out, _ := qstat("-j", "1.20-60,2")
	var got []string
	for line := range strings.SplitSeq(out, "\n") {
		key, value, _ := strings.Cut(line, ":")
		if key == "job_number" || key == "job-array tasks" || key == "hold reason" || strings.Contains(line, "qrls") {
			got = append(got, strings.TrimSpace(value))
		}
	}
	want := []string{
		"1", "20-38:2,42-58:2", "is held until somebody releases it: qrls 1.20-38:2 1.42-58:2",
		"1", "21-57:2,59-60:1", "1", "40", "no licence", "is held until somebody releases it: qrls 1.40", "2", "0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("qstat -j 1.20-60,2 says %q, want %q\n%s", got, want, out)
	}
}

// With -json, too, it is said why jobs are held.
func TestHeldJSON(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "erin", `AfterAny = "3"`), []spool.NewRun{{Count: 2}})                                              // 6
		tx.AddCluster(job(t, "erin", `JobStatus = 5; HoldReason = "via qhold"; HoldReasonCode = 1`), []spool.NewRun{{Count: 1}}) // 7
	})
	_, out, _ := qstat("-j", "6,7", "-json")
	var got []Waiting
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 2 ||
		got[0].Reason != "waits for the end of other jobs: 3" || got[1].Reason != "via qhold (code 1)" {
		t.Errorf("qstat -j 6,7 -json = %+v, %v", got, err)
	}
}

// TestOverview holds what -j says of all jobs together.
func TestOverview(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "erin", `AfterOk = "3"`), []spool.NewRun{{Count: 2}})                        // 6
		tx.AddCluster(job(t, "erin", `JobStatus = 5; HoldReasonCode = 6`), []spool.NewRun{{Count: 1}})    // 7
		tx.AddCluster(job(t, "erin", `DeferralTime = `+number(now+600)), []spool.NewRun{{Count: 1}})      // 8
		tx.AddCluster(job(t, "erin", `JobStatus = 5; HoldReasonCode = 1000`), []spool.NewRun{{Count: 1}}) // 9
		for p := 20; p < 62; p += 2 {                                                                     // of every second proc
			tx.Set(pool.JobID{Cluster: 1, Proc: p}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Held))))
		}
	})
	reported(t, `{"Cycle":1,"Time":1795217646,"Rejections":[{"Job":"3.0","Count":2,"Jobs":["3.0-1"],"Reason":"no match found"},
		{"Job":"1.3","Count":900,"Jobs":["1.3-999"],"Reason":"busy"},{"Job":"2.0","Count":1,"Jobs":["2.0","5.0"],"Reason":"no match found"}]}`)
	_, out, bad := qstat("-j")
	want := `scheduling info:            as of the negotiation cycle at 11/20/2026 23:34:06

Jobs can not run because busy
	1.3-19
	1.21
	1.23
	1.25
	1.27
	1.29
	1.31
	1.33
	1.35
	1.37
	1.39
	1.41
	1.43
	1.45
	1.47
	1.49
	1.51
	1.53
	1.55
	1.57
	and 940 jobs more

Jobs can not run because no match found
	2.0
	3.0-1
	5.0

Jobs dropped because of error state
	7.0

Jobs dropped because of hold state
`
	if !strings.HasPrefix(out, want) || bad != "" {
		t.Errorf("qstat -j = %q\n%s\nwant\n%s", bad, out, want)
	}
	for _, end := range []string{"\tand 2 jobs more\n", "\nJobs can not run because execution time not reached\n\t8.0\n",
		"\nJob dropped because of job dependencies\n\t6.0-1\n\t9.0\n"} {
		if !strings.Contains(out, end) {
			t.Errorf("qstat -j lacks %q:\n%s", end, out)
		}
	}
}

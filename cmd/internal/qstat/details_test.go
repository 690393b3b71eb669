package qstat

import (
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
	displays(t, "-j 6.1")
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
	for _, job := range []string{"6", "7", "8", "9", "4"} {
		cmdtest.Printed(t, "qstat -j "+job, 0, info(job), "")
	}
}

// Jobs of a cluster with equal sheets share one, however they lie between others.
func TestDetailsShared(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for p := 20; p < 60; p += 2 {
			tx.Set(pool.JobID{Cluster: 1, Proc: p}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Held))))
		}
		tx.Set(pool.JobID{Cluster: 1, Proc: 40}, pool.AttrHoldReason, classad.Literal(classad.String("no licence")))
	})
	displays(t, "-j 1.20-60,2")
}

// With -json, too, it is said why jobs are held.
func TestHeldJSON(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "erin", `AfterAny = "3"`), []spool.NewRun{{Count: 2}})                                              // 6
		tx.AddCluster(job(t, "erin", `JobStatus = 5; HoldReason = "via qhold"; HoldReasonCode = 1`), []spool.NewRun{{Count: 1}}) // 7
	})
	displays(t, "-j 6,7 -json")
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
	displays(t, "-j")
}

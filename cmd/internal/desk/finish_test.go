package desk

import (
	"testing"
	"time"

	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
)

// TestEvents follows how attempts end to the job's state and its event.
func TestEvents(t *testing.T) {
	t.Parallel()
	hold := func(p *testPool, id pool.JobID) { p.hold(id) }
	remove := func(p *testPool, id pool.JobID) { p.remove(id) }
	for _, c := range []struct {
		name   string
		pairs  []string
		before func(p *testPool, id pool.JobID)
		how    pool.Ending
		state  string // in the queue, or gone
		logged []string
	}{
		{"ended", nil, nil, pool.Ending{Code: 3}, "gone", []string{"005 (001", "return value 3"}},
		{"ended before it was told of its hold", nil, hold, pool.Ending{Code: 3}, "gone", []string{"005 (001", "return value 3", "-012 ("}},
		{"ended and stays", []string{"LeaveJobInQueue", "true"}, nil, pool.Ending{Code: 3}, "JobStatus=4", []string{"005 (001", "-004 ("}},
		{"removed and stays", []string{"LeaveJobInQueue", "true"}, remove, pool.Ending{}, "JobStatus=3", []string{"009 (001", "\tremoved by alice\n", "004 (", "-005 ("}},
		{"once more", []string{"OnExitRemove", "ExitCode == 0"}, nil, pool.Ending{Code: 3}, "JobStatus=1",
			[]string{"004 (001", "\t(0) Job terminated and was requeued\n", "\t(1) Normal termination (return value 3)\n\tThe job attribute OnExitRemove expression 'ExitCode == 0' evaluated to FALSE\n...\n", "-005 ("}},
		{"once more after a signal", []string{"OnExitRemove", "ExitCode =?= 0"}, nil, pool.Ending{Signal: 11}, "JobStatus=1",
			[]string{"004 (001", "\t(0) Job terminated and was requeued\n", "\t(0) Abnormal termination (signal 11)\n"}},
		{"held on exit", []string{"OnExitHold", "ExitCode == 3", "OnExitHoldReason", `"three"`, "OnExitHoldSubCode", "7"}, nil, pool.Ending{Code: 3}, "JobStatus=5",
			[]string{"012 (001", "\tthree\n\tCode 3 Subcode 7\n", "-005 ("}},
		{"held and lost", nil, hold, pool.Ending{Lost: SupervisorDied, Died: true}, "JobStatus=5",
			[]string{"007 (001", "\tits supervisor died\n", "012 (001", "\theld by alice\n\tCode 1 Subcode 0\n", "-004 ("}},
		{"removed and lost", nil, remove, pool.Ending{Lost: SupervisorDied, Died: true}, "gone", []string{"007 (001", "009 (001", "-004 ("}},
		{"lost", nil, nil, pool.Ending{Lost: SupervisorDied, Died: true}, "JobStatus=1", []string{"007 (001", "\tits supervisor died\n", "-004 ("}},
		{"given back", nil, nil, pool.Ending{Lost: "its supervisor was sent SIGTERM", VacateCode: pool.SupervisorStopped}, "JobStatus=1",
			[]string{"004 (001", " Job was evicted. Code 1013 Subcode 0\n", "\t(0) CPU times\n", "\tReason: its supervisor was sent SIGTERM\n"}},
		{"given back with a checkpoint", nil, nil, pool.Ending{Lost: "drained", VacateCode: lifecycle.MachineDrained, Checkpointed: true}, "JobStatus=1",
			[]string{"004 (001", " Job was evicted. Code 1014 Subcode 0\n", "\t(1) Job was checkpointed.\n"}},
		{"not executed for now", nil, nil, pool.Ending{Lost: "text file busy", NotStarted: true}, "JobStatus=1", []string{"007 (001", "\ttext file busy\n", "-004 ("}},
		{"not executed", nil, nil, pool.Ending{StartFailed: "no such program"}, "JobStatus=5", []string{"012 (001", "\tno such program\n", "-004 (", "-007 ("}},
		{"held before it was executed", nil, hold, pool.Ending{Lost: "held", NotStarted: true}, "JobStatus=5", []string{"012 (001", "-004 (", "-007 ("}},
		{"with a core file", nil, nil, pool.Ending{Signal: 11, Core: "/x/core.12.0"}, "gone", []string{"005 (001", "(signal 11)\n\t(1) Corefile in: /x/core.12.0\n"}},
		{"with files", nil, nil, pool.Ending{Sent: 7, Received: 5}, "gone", []string{"\t7  -  Run Bytes Sent", "\t5  -  Run Bytes Received", "\t7  -  Total Bytes Sent"}},
		{"what it used", []string{"RequestMemory", "100"}, nil,
			pool.Ending{Wall: 100 * time.Second, UserCPU: 90 * time.Second, MaxRSSKB: 2000, DiskKB: 12, Reported: pool.Progress{Wall: 60 * time.Second, UserCPU: 60 * time.Second}},
			"gone", []string{
				"\t\tUsr 0 00:01:30, Sys 0 00:00:00  -  Run Remote Usage\n", "\t\tUsr 0 00:00:30, Sys 0 00:00:00  -  Total Remote Usage\n", // the ad has not what was reported here
				"Partitionable Resources :", "Cpus                 :      0.9 ", "Disk (KB)            :       12 ", "Memory (MB)          :        2      100 ",
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match(c.pairs...)
			p.begin(id)
			if c.before != nil {
				c.before(p, id)
			}
			d := p.desk(id)
			now := d.Now()
			if err := d.finish(d.Attempt, d.lock, end{how: c.how, at: now.Now, now: now}, func(err error) { t.Error(err) }, nil); err != nil {
				t.Fatal(err)
			}
			d.Close()
			if got := p.queued(id, "JobStatus"); got != c.state {
				t.Errorf("the job: %s, want %s", got, c.state)
			}
			p.logged(c.logged...)
		})
	}
}

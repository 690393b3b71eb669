package main

import (
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// gridEngine is a pool under Grid Engine's policy.
const gridEngine = `JOB_PRIORITY_POLICY = "sge"
ADMINISTRATORS = ["carol"]
[sge.projects.pa]
[sge.projects.pb]
xacl = ["staff"]
[sge.departments.d1]
entries = ["bob"]
[sge.usersets.staff]
entries = ["alice"]
[sge.usersets.deadlineusers]
entries = ["bob"]
[sge.pes.mpi]
slots = 20
[sge.pes.mpich]
slots = 20
urgency_slots = "max"
`

// valueOf returns what an attribute of a job is.
func valueOf(t *testing.T, job pool.JobID, attr string) (text string) {
	t.Helper()
	cmdtest.View(t, func(v *spool.View) {
		for id, ad := range v.Jobs() {
			if id == job {
				text = ad.Eval(&classad.Context{}, attr, nil).String()
			}
		}
	})
	return text
}

// TestRights changes job 1.0, of alice, whose JobPrio is -5, job 2.0 of bob, without one, and
// job 3.2 of alice, whose JobPrio is 20 as an expression, which counts as 0.
func TestRights(t *testing.T) {
	const lower = ": only administrators may raise a priority; yours can be lowered"
	const could = "prio: couldn't set new priority for 1.0: "
	const change = "prio: couldn't change 1.0: "
	one, two, three := pool.JobID{Cluster: 1}, pool.JobID{Cluster: 2}, pool.JobID{Cluster: 3, Proc: 2}
	for _, c := range []struct {
		user, args string
		job        pool.JobID
		attr       string
		status     int
		bad, want  string
	}{
		{"alice", "-p -6 1.0", one, "JobPrio", 0, "", "-6"}, {"alice", "-3 1.0", one, "JobPrio", 0, "", "-8"}, {"alice", "-p -5 1.0", one, "JobPrio", 0, "", "-5"},
		{"alice", "-p -4 1.0", one, "JobPrio", 1, could + "-4 is above -5" + lower, "-5"}, {"alice", "+1 1.0", one, "JobPrio", 1, could + "-4 is above -5" + lower, "-5"},
		{"alice", "-set JobPrio=0 1.0", one, "JobPrio", 1, change + "JobPrio: 0 is above -5" + lower, "-5"}, {"alice", "-js 4 +1 1.0", one, "JobShare", 1, change + "JobPrio: -4 is above -5" + lower, "undefined"},
		{"carol", "-p 1024 1.0", one, "JobPrio", 0, "", "1024"}, {"carol", "+1029 1.0", one, "JobPrio", 0, "", "1024"},
		{"carol", "+1030 1.0", one, "JobPrio", 1, could + "-5 + 1030 is outside of -1023 to 1024", "-5"}, {"alice", "-1019 1.0", one, "JobPrio", 1, could + "-5 - 1019 is outside of -1023 to 1024", "-5"},
		{"carol", "-p 1025 1.0", one, "JobPrio", 2, `prio: "1025": want a whole number from -1023 to 1024`, "-5"}, {"alice", "-p -1024 1.0", one, "JobPrio", 2, `prio: "-1024": want a whole number from -1023 to 1024`, "-5"},
		{"alice", "-pre1 5 1.0", one, "PreJobPrio1", 0, "", "5"}, {"carol", "-p 1 2", two, "JobPrio", 0, "", "1"}, {"bob", "-p 1 2.0", two, "JobPrio", 1, "prio: couldn't set new priority for 2.0: 1 is above 0" + lower, "undefined"},
		{"alice", "-19 3.2", three, "JobPrio", 1, "prio: couldn't set new priority for 3.2: 1 is above 0" + lower, "20"}, {"alice", "-20 3.2", three, "JobPrio", 0, "", "0"},
		{"carol", "-set JobPrio=undefined 1.0", one, "JobPrio", 1, "prio: -set JobPrio: undefined: want a whole number from -1023 to 1024", "-5"},
		{"carol", "-set jobprio=5000000000 1.0", one, "JobPrio", 1, "prio: -set jobprio: 5000000000: want a whole number from -1023 to 1024", "-5"},
		{"carol", "-set JobPrio=5000 1.0", one, "JobPrio", 1, change + "JobPrio: 5000: want a whole number from -1023 to 1024", "-5"},

		{"alice", "-js 4294967295 1.0", one, "JobShare", 0, "", "4294967295"}, {"alice", "-js 4294967296 1.0", one, "JobShare", 2, `prio: -js "4294967296": want a whole number from 0 to 4294967295`, "undefined"},
		{"alice", "-js -1 1.0", one, "JobShare", 2, `prio: -js "-1": want a whole number from 0 to 4294967295`, "undefined"},
		{"carol", "-js 5 -ot x 1.0", one, "JobShare", 2, `prio: -ot "x": want a whole number from 0 to 4294967295`, "undefined"},
		{"alice", "-ot 5 1.0", one, "OverrideTickets", 1, "prio: -ot: only administrators may give override tickets", "undefined"}, {"carol", "-ot 5 1.0", one, "OverrideTickets", 0, "", "5"},
		{"alice", "-set OverrideTickets=5 1.0", one, "OverrideTickets", 1, "prio: -set OverrideTickets: only administrators may set it", "undefined"},

		{"alice", "-dl 1800000000 1.0", one, "Deadline", 1, change + "Deadline: only administrators and the users of the userset deadlineusers may set one, and alice is none of them", "undefined"},
		{"alice", "-dl none 1.0", one, "Deadline", 0, "", "undefined"}, {"bob", "-dl 2027-01-15T08:00:00Z 2", two, "Deadline", 0, "", "1800000000"}, {"carol", "-dl 1800000000 1.0", one, "Deadline", 0, "", "1800000000"},
		{"bob", "-dl tomorrow 2", two, "Deadline", 2, `prio: -dl "tomorrow": want Unix seconds, or a time such as 2026-11-22 15:30, 202611221530 or 2026-11-22T15:30:00Z`, "undefined"},
		{"bob", "-set Deadline=QDate 2", two, "Deadline", 1, "prio: -set Deadline: QDate: want Unix seconds, for which prio -dl reads a time: a whole number from 0 to 253402300799", "undefined"},
		{"bob", "-dl 2611221530 2", two, "Deadline", 0, "prio: -dl 2611221530: taken for Unix seconds, 2052-09-29 11:18:50; for 2026-11-22 15:30 write 202611221530", "2611221530"},

		{"alice", "-P pa 1.0", one, "Project", 0, "", `"pa"`}, {"alice", "-P pc 1.0", one, "Project", 1, change + `Project: "pc": there is no such project; did you mean pa?`, "undefined"},
		{"alice", "-P pb 1.0", one, "Project", 1, change + `Project: "pb": alice has no access to this project, which is not for staff: name another one`, "undefined"},
		{"carol", "-P pb 1.0", one, "Project", 1, change + `Project: "pb": alice has no access to this project, which is not for staff: name another one`, "undefined"},
		{"alice", "-P NONE 1.0", one, "Project", 0, "", "undefined"}, {"alice", "-P a=b 1.0", one, "Project", 1, change + `Project: "a=b": there is no such project; administrators configure it as [sge.projects.a=b]`, "undefined"},
		{"alice", `-set Department="d1" 1.0`, one, "Department", 1, change + `Department: "d1": alice belongs to defaultdepartment: leave the department out, or ask an administrator`, "undefined"},
		{"bob", `-set Department="d1" 2`, two, "Department", 0, "", `"d1"`}, {"carol", `-set Department="d1" 1.0`, one, "Department", 0, "", `"d1"`},
		{"alice", `-set ParallelEnvironment="mpi*" -set ParallelSlots="2-8" 1.0`, one, "ParallelSlots", 1, change + `ParallelEnvironment: parallel environments that match "mpi*" assume different numbers of slots of 2-8 (mpi 2, mpich 8): name one of them, or ask for a fixed number`, "undefined"},
		{"alice", `-set ParallelEnvironment="mpi" -set ParallelSlots="2-8" 1.0`, one, "ParallelSlots", 0, "", `"2-8"`},
		{"alice", `-set RequestSlots=4 1.0`, one, "RequestSlots", 1, change + "RequestSlots: slots cannot be requested like that: use parallel_slots", "undefined"},
		{"alice", "-js 4 2", two, "JobShare", 1, "prio: couldn't change 2: belongs to bob: you are alice, and no administrator", "undefined"},
	} {
		t.Setenv("TZ", "UTC")
		fill(t)
		if status, _, bad := prio("-p", "-5", "1.0"); status != 0 {
			t.Fatalf("prio -p -5 = %d, %q", status, bad)
		}
		status, out, bad := cmdtest.RunLent(t, c.user, gridEngine, command(), strings.Fields(c.args)...)
		if status != c.status || out != "" || strings.TrimSuffix(bad, "\n") != c.bad {
			t.Errorf("prio %s by %s = %d, %q, %q, want %d, %q", c.args, c.user, status, out, bad, c.status, c.bad)
		}
		if got := valueOf(t, c.job, c.attr); got != c.want {
			t.Errorf("after prio %s by %s: %s of %v %s, want %s", c.args, c.user, c.attr, c.job, got, c.want)
		}
	}
}

// TestGridEngineFlags: other policies keep what the flags set, and ask for no rights but for
// override tickets.
func TestGridEngineFlags(t *testing.T) {
	const could = "prio: -ot: only administrators may give override tickets\n"
	for _, policy := range []string{"condor", "maui"} {
		config := "JOB_PRIORITY_POLICY = \"" + policy + "\"\n"
		fill(t)
		status, _, bad := cmdtest.RunLent(t, "alice", config, command(), strings.Fields("-js 7 -dl 1800000000 -P none.such -p 5000 1.0")...)
		if status != 0 || bad != "" {
			t.Errorf("prio by alice under %s = %d, %q", policy, status, bad)
		}
		for attr, want := range map[string]string{"JobShare": "7", "Deadline": "1800000000", "Project": `"none.such"`, "JobPrio": "5000"} {
			if got := valueOf(t, pool.JobID{Cluster: 1}, attr); got != want {
				t.Errorf("%s under %s = %s, want %s", attr, policy, got, want)
			}
		}
		if status, _, bad := cmdtest.RunLent(t, "alice", config, command(), "-ot", "5", "1.0"); status != 1 || bad != could {
			t.Errorf("prio -ot by alice under %s = %d, %q, want 1, %q", policy, status, bad, could)
		}
	}
	fill(t)
	if status, _, bad := cmdtest.RunLent(t, "alice", gridEngine, command(), "-system", "5", "1"); status != 1 || !strings.HasSuffix(bad, ": -p and -ot put jobs ahead of others\n") {
		t.Errorf("prio -system under sge = %d, %q", status, bad)
	}
}

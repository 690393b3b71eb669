package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/spool"
)

// gridEngine is a pool under Grid Engine's policy.
const gridEngine = `JOB_PRIORITY_POLICY = "sge"
UID_DOMAIN = "pool"
ADMINISTRATORS = ["carol"]
[sge.projects.pa]
[sge.projects.pb]
acl = ["staff"]
[sge.users.dave]
default_project = "pb"
[sge.departments.d1]
entries = ["alice"]
[sge.departments.d2]
entries = ["bob"]
[sge.usersets.staff]
entries = ["bob"]
[sge.usersets.deadlineusers]
entries = ["bob"]
[sge.pes.mpi]
slots = 20
[sge.pes.mpich]
slots = 20
urgency_slots = "max"
`

// submitAs submits a description as a user, who is lent the account of the spool, and returns
// what is told, and the attribute of the job; "-" without a job.
func submitAs(t *testing.T, user, config, lines, attr string, args ...string) (bad, got string) {
	t.Helper()
	cmdtest.Spool(t, nil)
	file := filepath.Join(t.TempDir(), "a.sub")
	if err := os.WriteFile(file, []byte("executable = /bin/true\n"+lines+"\nqueue 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(file))
	_, _, bad = cmdtest.RunLent(t, user, config, command(), append(args, "a.sub")...)
	got = "-"
	cmdtest.View(t, func(v *spool.View) {
		for _, ad := range v.Jobs() {
			if got = "undefined"; attr != "" {
				got = ad.Eval(&classad.Context{}, attr, nil).String()
			}
		}
	})
	return bad, got
}

func TestRights(t *testing.T) {
	const lower = ": only administrators may raise a priority; yours can be lowered"
	const late = ": has to be the same for all jobs where some appear as others finish: leave out max_materialize and max_idle"
	for _, c := range []struct{ user, lines, attr, bad, got string }{
		{"alice", "priority = -3", "JobPrio", "", "-3"}, {"carol", "priority = 1024", "JobPrio", "", "1024"},
		{"alice", "priority = 5", "JobPrio", "a.sub:2: priority: 5 is above 0" + lower, "-"}, {"alice", "\n+JobPrio = 5", "JobPrio", "a.sub:3: +JobPrio: 5 is above 0" + lower, "-"},
		{"alice", "MY.JobPrio = 1 + 1", "JobPrio", "a.sub:2: +JobPrio: 1 + 1: want a whole number from -1023 to 1024", "-"},
		{"alice", "priority = $(Process)", "JobPrio", "a.sub:2: priority: 1 is above 0" + lower, "-"}, {"alice", "priority = -$(Process)", "JobPrio", "", "-1"},
		{"alice", "priority = -$(Process)\nmax_materialize = 1", "JobPrio", "a.sub:2: priority" + late, "-"}, {"alice", "priority = -1\nmax_idle = 1", "JobPrio", "", "-1"},
		{"carol", "priority = 1025", "JobPrio", "a.sub:2: priority: 1025: want a whole number from -1023 to 1024", "-"},

		{"alice", "deadline = 1800000000", "Deadline", "a.sub:2: deadline: only administrators and the users of the userset deadlineusers may set one, and alice is none of them", "-"},
		{"bob", "deadline = 2027-01-15T08:00:00Z", "Deadline", "", "1800000000"}, {"carol", "deadline = 1800000000", "Deadline", "", "1800000000"},
		{"bob", "+Deadline = QDate", "Deadline", "a.sub:2: +Deadline: QDate: want a whole number from 0 to 253402300799", "-"},

		{"alice", "project = pa", "Project", "", `"pa"`}, {"alice", "project = pb", "Project", `a.sub:2: project: "pb": alice has no access to this project, which is for staff: name another one`, "-"},
		{"dave", "", "Project", `Project: "pb", the default project of dave: dave has no access to this project, which is for staff: name another one`, "-"}, {"dave", "project = pa", "Project", "", `"pa"`},
		{"bob", "project = pb", "Project", "", `"pb"`}, {"alice", "project = pc", "Project", `a.sub:2: project: "pc": there is no such project; did you mean pa?`, "-"},
		{"alice", "department = d1", "Department", "", `"d1"`}, {"alice", "department = d2", "Department", `a.sub:2: department: "d2": alice belongs to d1: leave the department out, or ask an administrator`, "-"},
		{"carol", "department = d2", "Department", "", `"d2"`}, {"alice", "unix_group = physics", "UnixGroup", `a.sub:2: unix_group: "physics": alice does not belong to this Unix group: leave it out, or ask an administrator`, "-"},

		{"alice", "parallel_environment = mpi\nparallel_slots = 8-2", "ParallelSlots", "", `"2-8"`}, {"alice", "parallel_environment = mpi*\nparallel_slots = 8", "ParallelSlots", "", "8"},
		{"alice", "parallel_slots = 2-8\nparallel_environment = mpi*", "ParallelSlots", `a.sub:3: parallel_environment: parallel environments that match "mpi*" assume different numbers of slots of 2-8 (mpi 2, mpich 8): name one of them, or ask for a fixed number`, "-"},
		{"alice", "job_share = 7\nparallel_environment = mpj\nparallel_slots = 2", "JobShare", `a.sub:3: parallel_environment: parallel environment "mpj" does not exist; did you mean mpi?`, "-"},
		{"alice", "job_share = 7", "JobShare", "", "7"}, {"alice", "request_slots = 2", "", "a.sub:2: request_slots: slots cannot be requested like that: use parallel_slots", "-"},
		{"alice", "override_tickets = 2", "", "a.sub:2: override_tickets: only administrators may give them, to a job in the queue: prio -ot N JOB", "-"},
	} {
		bad, got := submitAs(t, c.user, gridEngine, c.lines, c.attr)
		bad, _, _ = strings.Cut(strings.TrimPrefix(bad, "submit: "), "\n")
		if bad != c.bad || got != c.got {
			t.Errorf("submit %q by %s: %q, %s %s, want %q, %s", c.lines, c.user, bad, c.attr, got, c.bad, c.got)
		}
	}
}

// TestRightsElsewhere: other policies ask for none, and what others may do is asked of who
// submits, what they may have of whose jobs they are.
func TestRightsElsewhere(t *testing.T) {
	for _, policy := range []string{"condor", "maui"} {
		lines := "priority = 5000\ndeadline = 5\nproject = none.such\ndepartment = x\nparallel_environment = none\nparallel_slots = 4\nrequest_slots = 2"
		if bad, got := submitAs(t, "alice", "UID_DOMAIN = \"pool\"\nJOB_PRIORITY_POLICY = \""+policy+"\"\n", lines, "JobPrio"); bad != "" || got != "5000" {
			t.Errorf("submit under %s: %q, JobPrio %s, want 5000", policy, bad, got)
		}
	}
	for _, c := range []struct{ owner, lines, attr, bad, got string }{
		{"alice", "priority = 5", "JobPrio", "", "5"}, {"alice", "deadline = 1800000000", "Deadline", "", "1800000000"},
		{"alice", "project = pb", "Project", `a.sub:2: project: "pb": alice has no access to this project, which is for staff: name another one`, "-"},
		{"bob", "project = pb", "Project", "", `"pb"`}, {"alice", "department = d2", "Department", "", `"d2"`},
	} {
		bad, got := submitAs(t, "carol", gridEngine, c.lines, c.attr, "-owner", c.owner)
		bad, _, _ = strings.Cut(strings.TrimPrefix(bad, "submit: "), "\n")
		if bad != c.bad || got != c.got {
			t.Errorf("submit -owner %s %q by carol: %q, %s %s, want %q, %s", c.owner, c.lines, bad, c.attr, got, c.bad, c.got)
		}
	}
}

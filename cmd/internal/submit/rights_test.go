package submit

import (
	"fmt"
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
// the attribute of the job; "-" where the description is refused.
func submitAs(t *testing.T, user, config, lines, attr string, args ...string) (got string) {
	t.Helper()
	cmdtest.Spool(t, nil)
	file := filepath.Join(t.TempDir(), "a.sub")
	if err := os.WriteFile(file, []byte("executable = /bin/true\n"+lines+"\nqueue 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(file))
	status, out, bad := cmdtest.RunFor(t, user, config, Command(), append(args, "a.sub")...)
	got = "-"
	cmdtest.View(t, func(v *spool.View) {
		for _, ad := range v.Jobs() {
			if got = "undefined"; attr != "" {
				got = ad.Eval(&classad.Context{}, attr, nil).String()
			}
		}
	})
	if status > 1 || (status == 1) != (got == "-") {
		t.Errorf("submit %q by %s = %d, %q, with %s %s", lines, user, status, bad, attr, got)
	}
	cmdtest.Printed(t, fmt.Sprintf("submit %s (by %s, %q)", strings.Join(append(args, "a.sub"), " "), user, lines), status, out, bad)
	return got
}

func TestRights(t *testing.T) {
	for _, c := range []struct{ user, lines, attr, got string }{
		{"alice", "priority = -3", "JobPrio", "-3"}, {"carol", "priority = 1024", "JobPrio", "1024"},
		{"alice", "priority = 5", "JobPrio", "-"}, {"alice", "\n+JobPrio = 5", "JobPrio", "-"},
		{"alice", "MY.JobPrio = 1 + 1", "JobPrio", "-"},
		{"alice", "priority = $(Process)", "JobPrio", "-"}, {"alice", "priority = -$(Process)", "JobPrio", "-1"},
		{"alice", "priority = -$(Process)\nmax_materialize = 1", "JobPrio", "-"}, {"alice", "priority = -1\nmax_idle = 1", "JobPrio", "-1"},
		{"carol", "priority = 1025", "JobPrio", "-"},

		{"alice", "deadline = 1800000000", "Deadline", "-"},
		{"bob", "deadline = 2027-01-15T08:00:00Z", "Deadline", "1800000000"}, {"carol", "deadline = 1800000000", "Deadline", "1800000000"},
		{"bob", "+Deadline = QDate", "Deadline", "-"},

		{"alice", "project = pa", "Project", `"pa"`}, {"alice", "project = pb", "Project", "-"},
		{"dave", "", "Project", "-"}, {"dave", "project = pa", "Project", `"pa"`},
		{"bob", "project = pb", "Project", `"pb"`}, {"alice", "project = pc", "Project", "-"},
		{"alice", "department = d1", "Department", `"d1"`}, {"alice", "department = d2", "Department", "-"},
		{"carol", "department = d2", "Department", `"d2"`}, {"alice", "unix_group = physics", "UnixGroup", "-"},

		{"alice", "parallel_environment = mpi\nparallel_slots = 8-2", "ParallelSlots", `"2-8"`}, {"alice", "parallel_environment = mpi*\nparallel_slots = 8", "ParallelSlots", "8"},
		{"alice", "parallel_slots = 2-8\nparallel_environment = mpi*", "ParallelSlots", "-"},
		{"alice", "job_share = 7\nparallel_environment = mpj\nparallel_slots = 2", "JobShare", "-"},
		{"alice", "job_share = 7", "JobShare", "7"}, {"alice", "request_slots = 2", "", "-"},
		{"alice", "override_tickets = 2", "", "-"},
	} {
		if got := submitAs(t, c.user, gridEngine, c.lines, c.attr); got != c.got {
			t.Errorf("submit %q by %s: %s %s, want %s", c.lines, c.user, c.attr, got, c.got)
		}
	}
}

// TestRightsElsewhere: other policies ask for none, and what others may do is asked of who
// submits, what they may have of whose jobs they are.
func TestRightsElsewhere(t *testing.T) {
	for _, policy := range []string{"condor", "maui"} {
		lines := "priority = 5000\ndeadline = 5\nproject = none.such\ndepartment = x\nparallel_environment = none\nparallel_slots = 4\nrequest_slots = 2"
		if got := submitAs(t, "alice", "UID_DOMAIN = \"pool\"\nJOB_PRIORITY_POLICY = \""+policy+"\"\n", lines, "JobPrio"); got != "5000" {
			t.Errorf("submit under %s: JobPrio %s, want 5000", policy, got)
		}
	}
	for _, c := range []struct{ owner, lines, attr, got string }{
		{"alice", "priority = 5", "JobPrio", "5"}, {"alice", "deadline = 1800000000", "Deadline", "1800000000"},
		{"alice", "project = pb", "Project", "-"},
		{"bob", "project = pb", "Project", `"pb"`}, {"alice", "department = d2", "Department", `"d2"`},
	} {
		if got := submitAs(t, "carol", gridEngine, c.lines, c.attr, "-owner", c.owner); got != c.got {
			t.Errorf("submit -owner %s %q by carol: %s %s, want %s", c.owner, c.lines, c.attr, got, c.got)
		}
	}
}

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

// TestRightsElsewhere: other policies check no rights. Rights to act for others are the
// caller's, rights to names the owner's.
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

// groups is a pool with accounting groups under a policy.
func groups(policy string) string {
	return `JOB_PRIORITY_POLICY = "` + policy + `"
UID_DOMAIN = "pool"
ADMINISTRATORS = ["carol"]
GROUP_NAMES = ["physics", "physics.hep", "chem"]
[groups.physics]
members = ["alice"]
`
}

// TestNames holds that jobs are charged to their owner, or in a group that is open to the owner,
// however a description says otherwise.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		user, lines, got string
		args             []string
	}{
		{"bob", "", "undefined", nil},
		{"bob", "accounting_group_user = alice", "-", nil}, {"bob", "accounting_group_user = bob", `"bob"`, nil},
		{"bob", "accounting_group = inv1", "-", nil}, {"bob", "accounting_group = chem", `"chem.bob"`, nil},
		{"bob", "accounting_group = chem\naccounting_group_user = alice", "-", nil},
		{"bob", "accounting_group = physics", "-", nil}, {"bob", "accounting_group = physics.hep", "-", nil},
		{"alice", "accounting_group = physics.hep", `"physics.hep.alice"`, nil},
		{"bob", `+AccountingGroup = "alice"`, "-", nil}, {"bob", `MY.AccountingGroup = "inv2.bob"`, "-", nil},
		{"bob", `+accountinggroup = "chem.bob"`, `"chem.bob"`, nil},
		{"bob", "+AccountingGroup = Other", "-", nil},
		{"bob", "", "-", []string{"-a", "accounting_group_user = alice"}}, {"bob", "", "-", []string{"+AccountingGroup=\"alice\""}},
		{"bob", "", "-", []string{"-owner", "alice"}},
		{"bob", "accounting_group_user = $CHOICE(Process,bob,alice)", "-", nil},
		{"bob", "accounting_group_user = $CHOICE(Process,bob,alice)\nmax_materialize = 1", "-", nil},
		{"bob", "nice_user = true", `"nice-user.bob"`, nil},
		{"carol", "accounting_group_user = alice", `"alice"`, nil}, {"carol", "accounting_group = inv1", `"inv1.carol"`, nil},
		{"carol", "accounting_group = physics", `"physics.bob"`, []string{"-owner", "bob"}},
	} {
		if got := submitAs(t, c.user, groups("condor"), c.lines, "AccountingGroup", c.args...); got != c.got {
			t.Errorf("submit %q %q by %s: AccountingGroup %s, want %s", c.args, c.lines, c.user, got, c.got)
		}
	}
}

// TestMauiNames holds that under Maui's policy account, class and QOS are those of their owner,
// the default ones without a line.
func TestMauiNames(t *testing.T) {
	maui := groups("maui") + `[maui]
"USERCFG[alice]" = "ALIST=gold,silver ADEF=silver QLIST=high"
"USERCFG[bob]" = "CDEF=batch CLIST=batch,long"
"ACCOUNTCFG[silver]" = "CDEF=slow"
`
	for _, c := range []struct{ user, lines, attr, got string }{
		{"alice", "", "AcctGroup", `"silver"`}, {"alice", "class = slow", "Class", `"slow"`}, {"alice", "", "Class", `"slow"`},
		{"alice", "account = gold", "AcctGroup", `"gold"`}, {"alice", "account = iron", "AcctGroup", "-"},
		{"alice", "+AcctGroup = undefined", "AcctGroup", "-"}, {"alice", "accounting_group = physics", "AcctGroup", `"physics"`},
		{"bob", "account = gold", "AcctGroup", "-"}, {"bob", "account = physics", "AcctGroup", "-"}, {"bob", "account = iron", "AcctGroup", `"iron"`},
		{"bob", "", "Class", `"batch"`}, {"bob", "class = long", "Class", `"long"`}, {"bob", "class = slow", "Class", "-"},
		{"bob", "qos = high", "QOS", "-"}, {"alice", "qos = high", "QOS", `"high"`},
		{"bob", "unix_group = staffers", "UnixGroup", "-"}, {"bob", "+UnixGroup = \"staffers\"", "UnixGroup", "-"},
		{"bob", "account = $CHOICE(Process,iron,tin)\nmax_idle = 1", "AcctGroup", "-"},
		{"bob", "class = $CHOICE(Process,batch,long)\nmax_idle = 1", "Class", "-"},
		{"carol", "unix_group = staffers\naccount = gold\nclass = slow", "AcctGroup", `"gold"`},
	} {
		if got := submitAs(t, c.user, maui, c.lines, c.attr); got != c.got {
			t.Errorf("submit %q by %s: %s %s, want %s", c.lines, c.user, c.attr, got, c.got)
		}
	}
}

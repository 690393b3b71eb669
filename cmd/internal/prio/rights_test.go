package prio

import (
	"fmt"
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
	one, two, three := pool.JobID{Cluster: 1}, pool.JobID{Cluster: 2}, pool.JobID{Cluster: 3, Proc: 2}
	for _, c := range []struct {
		user, args string
		job        pool.JobID
		attr       string
		status     int
		want       string
	}{
		{"alice", "-p -6 1.0", one, "JobPrio", 0, "-6"}, {"alice", "-3 1.0", one, "JobPrio", 0, "-8"}, {"alice", "-p -5 1.0", one, "JobPrio", 0, "-5"},
		{"alice", "-p -4 1.0", one, "JobPrio", 1, "-5"}, {"alice", "+1 1.0", one, "JobPrio", 1, "-5"},
		{"alice", "-set JobPrio=0 1.0", one, "JobPrio", 1, "-5"}, {"alice", "-js 4 +1 1.0", one, "JobShare", 1, "undefined"},
		{"carol", "-p 1024 1.0", one, "JobPrio", 0, "1024"}, {"carol", "+1029 1.0", one, "JobPrio", 0, "1024"},
		{"carol", "+1030 1.0", one, "JobPrio", 1, "-5"}, {"alice", "-1019 1.0", one, "JobPrio", 1, "-5"},
		{"carol", "-p 1025 1.0", one, "JobPrio", 2, "-5"}, {"alice", "-p -1024 1.0", one, "JobPrio", 2, "-5"},
		{"alice", "-pre1 5 1.0", one, "PreJobPrio1", 0, "5"}, {"carol", "-p 1 2", two, "JobPrio", 0, "1"}, {"bob", "-p 1 2.0", two, "JobPrio", 1, "undefined"},
		{"alice", "-19 3.2", three, "JobPrio", 1, "20"}, {"alice", "-20 3.2", three, "JobPrio", 0, "0"},
		{"carol", "-set JobPrio=undefined 1.0", one, "JobPrio", 1, "-5"},
		{"carol", "-set jobprio=5000000000 1.0", one, "JobPrio", 1, "-5"},
		{"carol", "-set JobPrio=5000 1.0", one, "JobPrio", 1, "-5"},

		{"alice", "-js 4294967295 1.0", one, "JobShare", 0, "4294967295"}, {"alice", "-js 4294967296 1.0", one, "JobShare", 2, "undefined"},
		{"alice", "-js -1 1.0", one, "JobShare", 2, "undefined"},
		{"carol", "-js 5 -ot x 1.0", one, "JobShare", 2, "undefined"},
		{"alice", "-ot 5 1.0", one, "OverrideTickets", 1, "undefined"}, {"carol", "-ot 5 1.0", one, "OverrideTickets", 0, "5"},
		{"alice", "-set OverrideTickets=5 1.0", one, "OverrideTickets", 1, "undefined"},

		{"alice", "-dl 1800000000 1.0", one, "Deadline", 1, "undefined"},
		{"alice", "-dl none 1.0", one, "Deadline", 0, "undefined"}, {"bob", "-dl 2027-01-15T08:00:00Z 2", two, "Deadline", 0, "1800000000"}, {"carol", "-dl 1800000000 1.0", one, "Deadline", 0, "1800000000"},
		{"bob", "-dl tomorrow 2", two, "Deadline", 2, "undefined"},
		{"bob", "-set Deadline=QDate 2", two, "Deadline", 1, "undefined"},
		{"bob", "-dl 2611221530 2", two, "Deadline", 0, "2611221530"},

		{"alice", "-P pa 1.0", one, "Project", 0, `"pa"`}, {"alice", "-P pc 1.0", one, "Project", 1, "undefined"},
		{"alice", "-P pb 1.0", one, "Project", 1, "undefined"},
		{"carol", "-P pb 1.0", one, "Project", 1, "undefined"},
		{"alice", "-P NONE 1.0", one, "Project", 0, "undefined"}, {"alice", "-P a=b 1.0", one, "Project", 1, "undefined"},
		{"alice", `-set Department="d1" 1.0`, one, "Department", 1, "undefined"},
		{"bob", `-set Department="d1" 2`, two, "Department", 0, `"d1"`}, {"carol", `-set Department="d1" 1.0`, one, "Department", 0, `"d1"`},
		{"alice", `-set ParallelEnvironment="mpi*" -set ParallelSlots="2-8" 1.0`, one, "ParallelSlots", 1, "undefined"},
		{"alice", `-set ParallelEnvironment="mpi" -set ParallelSlots="2-8" 1.0`, one, "ParallelSlots", 0, `"2-8"`},
		{"alice", `-set RequestSlots=4 1.0`, one, "RequestSlots", 1, "undefined"},
		{"alice", "-js 4 2", two, "JobShare", 1, "undefined"},
	} {
		t.Setenv("TZ", "UTC")
		fill(t)
		if status, _, bad := prio("-p", "-5", "1.0"); status != 0 {
			t.Fatalf("prio -p -5 = %d, %q", status, bad)
		}
		status, out, bad := cmdtest.RunFor(t, c.user, gridEngine, Command(), strings.Fields(c.args)...)
		if status != c.status || out != "" {
			t.Errorf("prio %s by %s = %d, %q, %q, want %d", c.args, c.user, status, out, bad, c.status)
		}
		cmdtest.Printed(t, fmt.Sprintf("prio %s (by %s)", c.args, c.user), status, out, bad)
		if got := valueOf(t, c.job, c.attr); got != c.want {
			t.Errorf("after prio %s by %s: %s of %v %s, want %s", c.args, c.user, c.attr, c.job, got, c.want)
		}
	}
}

// TestGridEngineFlags: other policies keep what the flags set, and ask for no rights but for
// override tickets.
func TestGridEngineFlags(t *testing.T) {
	for _, policy := range []string{"condor", "maui"} {
		config := "JOB_PRIORITY_POLICY = \"" + policy + "\"\n"
		fill(t)
		status, _, bad := cmdtest.RunFor(t, "alice", config, Command(), strings.Fields("-js 7 -dl 1800000000 -P none.such -p 5000 1.0")...)
		if status != 0 || bad != "" {
			t.Errorf("prio by alice under %s = %d, %q", policy, status, bad)
		}
		for attr, want := range map[string]string{"JobShare": "7", "Deadline": "1800000000", "Project": `"none.such"`, "JobPrio": "5000"} {
			if got := valueOf(t, pool.JobID{Cluster: 1}, attr); got != want {
				t.Errorf("%s under %s = %s, want %s", attr, policy, got, want)
			}
		}
		status, out, bad := cmdtest.RunFor(t, "alice", config, Command(), "-ot", "5", "1.0")
		if status != 1 {
			t.Errorf("prio -ot by alice under %s = %d, want 1", policy, status)
		}
		cmdtest.Printed(t, "prio -ot 5 1.0 (under "+policy+")", status, out, bad)
	}
	fill(t)
	status, out, bad := cmdtest.RunFor(t, "alice", gridEngine, Command(), "-system", "5", "1")
	if status != 1 {
		t.Errorf("prio -system under sge = %d, want 1", status)
	}
	cmdtest.Printed(t, "prio -system 5 1 (under sge)", status, out, bad)
}

// TestNames holds that a job in the queue is always charged to its owner, or to a group that is
// open to the owner.
func TestNames(t *testing.T) {
	const groups = `ADMINISTRATORS = ["carol"]
GROUP_NAMES = ["physics", "chem"]
[groups.physics]
members = ["bob"]
`
	const maui = "JOB_PRIORITY_POLICY = \"maui\"\n" + groups + `[maui]
"USERCFG[alice]" = "ALIST=gold"
`
	one := pool.JobID{Cluster: 1}
	for _, c := range []struct {
		config, user, set string
		status            int
		want              string
	}{
		{groups, "alice", `AccountingGroup="bob"`, 1, "undefined"}, {groups, "alice", `accountinggroup="inv1.alice"`, 1, "undefined"},
		{groups, "alice", `AccountingGroup="physics.alice"`, 1, "undefined"}, {groups, "alice", `AccountingGroup="chem.alice"`, 0, `"chem.alice"`},
		{groups, "alice", `AccountingGroup="alice"`, 0, `"alice"`}, {groups, "alice", "AccountingGroup=undefined", 0, "undefined"},
		{groups, "alice", `AccountingGroup=strcat("b","ob")`, 1, "undefined"}, {groups, "alice", "AccountingGroup=Args", 1, "undefined"},
		{groups, "carol", `AccountingGroup="bob"`, 0, `"bob"`},
		{groups, "alice", `Owner="bob"`, 1, `"alice"`}, {groups, "carol", `Owner="bob"`, 1, `"alice"`},
		{groups, "alice", `AcctGroup="gold"`, 0, `"gold"`},
		{maui, "alice", `AcctGroup="gold"`, 0, `"gold"`}, {maui, "alice", `AcctGroup="iron"`, 1, "undefined"}, {maui, "alice", `UnixGroup="staffers"`, 1, "undefined"},
		{maui, "alice", `QOS="high"`, 1, "undefined"}, {maui, "alice", `Class="any"`, 0, `"any"`}, {maui, "carol", `UnixGroup="staffers"`, 0, `"staffers"`},
		{maui, "alice", `AccountingGroup="bob"`, 1, "undefined"},
	} {
		fill(t)
		attr, _, _ := strings.Cut(c.set, "=")
		status, out, bad := cmdtest.RunFor(t, c.user, c.config, Command(), "-set", c.set, "1.0")
		if got := valueOf(t, one, attr); status != c.status || got != c.want {
			t.Errorf("prio -set %s by %s = %d, %q, %s %s, want %d and %s", c.set, c.user, status, bad, attr, got, c.status, c.want)
		}
		policy := "condor"
		if c.config == maui {
			policy = "maui"
		}
		cmdtest.Printed(t, fmt.Sprintf("prio -set %s 1.0 (by %s under %s)", c.set, c.user, policy), status, out, bad)
	}
}

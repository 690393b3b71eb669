package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// underMaui makes maui the policy, with the table [maui] as given.
func underMaui(t *testing.T, table string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fairspool.toml")
	if err := os.WriteFile(file, []byte("JOB_PRIORITY_POLICY = \"maui\"\n[maui]\n"+table), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAIRSPOOL_CONFIG", file)
}

func TestSystem(t *testing.T) {
	for _, c := range []struct {
		args, table string
		status      int
		bad         string
		want        int64 // SystemPriority of 1.0, 0 for none
	}{
		{args: "-system 5 1", want: 5},
		{args: "-system 1000 1.0", want: 1000},
		{args: "-system 0 1", want: 0},
		{args: "-system +7 1", want: 2_000_000_007},
		{args: "-system -7 1", want: 1_999_999_993},
		{args: "-system +0 1", want: 2_000_000_000},
		{args: "-system +1000000000 1", want: 3_000_000_000},
		{args: "-system -999999999 1", want: 1_000_000_001},
		{args: "-system +7 1", table: `COMPATIBILITY = "3.3.1"`, want: 2_000_000_007},
		{args: "+3 -system 9 1.0", want: 9},
		{"-system -7 1", `COMPATIBILITY = "3.3.1"`, 1, "prio: -system -7: Maui 3.3.1, which COMPATIBILITY asks for, takes nothing away from a priority\n", 0},
		{"-system 1001 1", "", 2, "prio: -system 1001: system priority must be in the range 0 - 1000; +1001 adds to a job's own\n", 0},
		{"-system 99999999999999999999 1", "", 2, "prio: -system 99999999999999999999: system priority must be in the range 0 - 1000; +99999999999999999999 adds to a job's own\n", 0},
		{"-system +1000000001 1", "", 2, "prio: -system +1000000001: want a whole number from -999999999 to +1000000000 to add\n", 0},
		{"-system -1000000000 1", "", 2, "prio: -system -1000000000: want a whole number from -999999999 to +1000000000 to add\n", 0},
		{"-system -99999999999999999999 1", "", 2, "prio: -system -99999999999999999999: want a whole number from -999999999 to +1000000000 to add\n", 0},
		{"-system high 1", "", 2, "prio: -system \"high\": want a whole number: N, +N or -N\n", 0},
		{"-system 5", "", 2, "prio: which jobs? name a cluster, a job like 12.0, or a user; or all with -a\n", 0},
		{"-system 5 9", "", 1, "prio: couldn't set new priority for 9: not in the queue\n", 0},
		{"-set SystemPriority=5 1", "", 1, "prio: -set SystemPriority: is for administrators to set: prio -system N JOB\n", 0},
	} {
		fill(t)
		underMaui(t, c.table)
		if status, out, bad := prio(strings.Fields(c.args)...); status != c.status || out != "" || bad != c.bad {
			t.Errorf("prio %s = %d, %q, %q, want %d, %q", c.args, status, out, bad, c.status, c.bad)
		}
		if got := systemOf(t, pool.JobID{Cluster: 1}); got != c.want {
			t.Errorf("after prio %s: SystemPriority %d, want %d", c.args, got, c.want)
		}
	}
}

// systemOf returns a job's SystemPriority, 0 for none.
func systemOf(t *testing.T, job pool.JobID) (n int64) {
	t.Helper()
	cmdtest.View(t, func(v *spool.View) {
		for id, ad := range v.Jobs() {
			if id == job {
				n, _ = ad.EvalInt(&classad.Context{}, pool.AttrSystemPriority)
			}
		}
	})
	return n
}

// Only administrators set it, and only where it counts.
func TestSystemRefuses(t *testing.T) {
	fill(t)
	const need = `prio: -system: JOB_PRIORITY_POLICY is not "maui", which alone has system priorities: -p orders the jobs of one submitter` + "\n"
	if status, _, bad := prio("-system", "5", "1"); status != 1 || bad != need {
		t.Errorf("prio -system under condor = %d, %q, want 1, %q", status, bad, need)
	}
	const maui = "JOB_PRIORITY_POLICY = \"maui\"\n"
	for _, c := range []struct {
		config, args string
		status       int
		bad          string
	}{
		{maui, "-system 5 1", 1, "prio: -system: only administrators may set it: -p orders your own jobs\n"},
		{maui, "-system +5 1", 1, "prio: -system: only administrators may set it: -p orders your own jobs\n"},
		{maui, "-set EligibleSince=0 1", 1, "prio: -set EligibleSince: is the pool's own count: only administrators may change it\n"},
		{maui, "-set bypasscount=9 1", 1, "prio: -set bypasscount: is the pool's own count: only administrators may change it\n"},
		{maui + "ADMINISTRATORS = [\"alice\"]\n", "-set BypassCount=-9 1", 1, "prio: -set BypassCount: -9: want a whole number from 0 up\n"},
		{maui + "ADMINISTRATORS = [\"alice\"]\n", "-system 5 -set BypassCount=9 1", 0, ""},
	} {
		status, out, bad := cmdtest.RunLent(t, "alice", c.config, command(), strings.Fields(c.args)...)
		if status != c.status || out != "" || bad != c.bad {
			t.Errorf("prio %s by alice = %d, %q, %q, want %d, %q", c.args, status, out, bad, c.status, c.bad)
		}
		if got := systemOf(t, pool.JobID{Cluster: 1}); (got != 0) != (c.status == 0) {
			t.Errorf("after prio %s by alice: SystemPriority %d", c.args, got)
		}
	}
}

// The jobs' log tells of it as of other priorities.
func TestSystemLogs(t *testing.T) {
	dir := fill(t)
	underMaui(t, "")
	for _, n := range []string{"5", "+7", "0"} {
		if status, _, bad := prio("-system", n, "1.0"); status != 0 {
			t.Fatalf("prio -system %s = %d, %q", n, status, bad)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, "job.log"))
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, said := range []string{"Setting job attribute SystemPriority to 5", "Changing job attribute SystemPriority from 5 to 2000000007", "Changing job attribute SystemPriority from 2000000007 to 0"} {
		n := strings.Index(string(got)[at:], said)
		if n < 0 {
			t.Fatalf("the log lacks %q: %s", said, got)
		}
		at += n
	}
}

package prio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// underMaui makes maui the policy, with the table [maui] as given.
func underMaui(t *testing.T, table string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fairspool.toml")
	testenv.OK(t, os.WriteFile(file, []byte("JOB_PRIORITY_POLICY = \"maui\"\n[maui]\n"+table), 0o600))
	t.Setenv("FAIRSPOOL_CONFIG", file)
}

func TestSystem(t *testing.T) {
	for _, c := range []struct {
		args, table string
		status      int
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
		{"-system -7 1", `COMPATIBILITY = "3.3.1"`, 1, 0},
		{"-system 1001 1", "", 2, 0},
		{"-system 99999999999999999999 1", "", 2, 0},
		{"-system +1000000001 1", "", 2, 0},
		{"-system -1000000000 1", "", 2, 0},
		{"-system -99999999999999999999 1", "", 2, 0},
		{"-system high 1", "", 2, 0},
		{"-system 5", "", 2, 0},
		{"-system 5 9", "", 1, 0},
		{"-set SystemPriority=5 1", "", 1, 0},
	} {
		fill(t)
		underMaui(t, c.table)
		cmdtest.Refuses(t, Command(), c.status, strings.Fields(c.args)...)
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
	cmdtest.Refuses(t, Command(), 1, "-system", "5", "1")
	const maui = "JOB_PRIORITY_POLICY = \"maui\"\n"
	for _, c := range []struct {
		config, args string
		status       int
	}{
		{maui, "-system 5 1", 1},
		{maui, "-system +5 1", 1},
		{maui, "-set EligibleSince=0 1", 1},
		{maui, "-set bypasscount=9 1", 1},
		{maui + "ADMINISTRATORS = [\"alice\"]\n", "-set BypassCount=-9 1", 1},
		{maui + "ADMINISTRATORS = [\"alice\"]\n", "-system 5 -set BypassCount=9 1", 0},
	} {
		status, out, bad := cmdtest.RunFor(t, "alice", c.config, Command(), strings.Fields(c.args)...)
		if status != c.status || out != "" {
			t.Errorf("prio %s by alice = %d, %q, %q, want %d", c.args, status, out, bad, c.status)
		}
		cmdtest.Printed(t, "prio "+c.args+" (by alice)", status, out, bad)
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
	testenv.OK(t, err)
	at := 0
	for _, said := range []string{"Setting job attribute SystemPriority to 5", "Changing job attribute SystemPriority from 5 to 2000000007", "Changing job attribute SystemPriority from 2000000007 to 0"} {
		n := strings.Index(string(got)[at:], said)
		if n < 0 {
			t.Fatalf("the log lacks %q: %s", said, got)
		}
		at += n
	}
}

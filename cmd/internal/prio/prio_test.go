package prio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// fill makes a spool with clusters 1 (alice, 5 procs, a log in dir), 2 (bob,
// without a priority) and 3 (alice, priority by proc).
func fill(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cmdtest.Users(t) // whose log it is
	cmdtest.Share(t, dir)
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(cmdtest.Ad(t, fmt.Sprintf(`[Owner = "alice"; JobPrio = 0; Iwd = %q; UserLog = "job.log"]`, dir)), []spool.NewRun{{Count: 5}})
		tx.AddCluster(cmdtest.Ad(t, `[Owner = "bob"]`), []spool.NewRun{{Count: 1}})
		tx.AddCluster(cmdtest.Ad(t, `[Owner = "alice"; JobPrio = ProcId * 10]`), []spool.NewRun{{Count: 3}})
	})
	return dir
}

func prio(args ...string) (status int, out, bad string) { return cmdtest.Run(Command(), args...) }

// priorities reads JobPrio of every job, as "1.0=0 1.1=0 ...".
func priorities(t *testing.T) string {
	t.Helper()
	var list []string
	cmdtest.View(t, func(v *spool.View) {
		for id, ad := range v.Jobs() {
			list = append(list, fmt.Sprintf("%v=%v", id, ad.Eval(&classad.Context{}, pool.AttrJobPrio, nil)))
		}
	})
	return strings.Join(list, " ")
}

func TestPrio(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"+5 1", "1.0=5 1.1=5 1.2=5 1.3=5 1.4=5 2.0=undefined 3.0=0 3.1=10 3.2=20"},
		{"-5 2", "1.0=0 1.1=0 1.2=0 1.3=0 1.4=0 2.0=-5 3.0=0 3.1=10 3.2=20"},
		{"1.2 1.3 2 -p 9", "1.0=0 1.1=0 1.2=9 1.3=9 1.4=0 2.0=9 3.0=0 3.1=10 3.2=20"},
		{"-p -9 1.2", "1.0=0 1.1=0 1.2=-9 1.3=0 1.4=0 2.0=undefined 3.0=0 3.1=10 3.2=20"},
		{"+1 alice", "1.0=1 1.1=1 1.2=1 1.3=1 1.4=1 2.0=undefined 3.0=1 3.1=11 3.2=21"},
		{"+1 1 1.0 alice", "1.0=1 1.1=1 1.2=1 1.3=1 1.4=1 2.0=undefined 3.0=1 3.1=11 3.2=21"},
		{"+1 -u alice 1.0 2 3", "1.0=1 1.1=0 1.2=0 1.3=0 1.4=0 2.0=undefined 3.0=1 3.1=11 3.2=21"},
		{"+1 -a", "1.0=1 1.1=1 1.2=1 1.3=1 1.4=1 2.0=1 3.0=1 3.1=11 3.2=21"},
		{"-p 2147483647 2", "1.0=0 1.1=0 1.2=0 1.3=0 1.4=0 2.0=2147483647 3.0=0 3.1=10 3.2=20"},
	} {
		fill(t)
		if status, out, bad := prio(strings.Fields(c.args)...); status != 0 || out+bad != "" {
			t.Errorf("prio %s = %d, %q, %q, want 0 and nothing", c.args, status, out, bad)
		}
		if got := priorities(t); got != c.want {
			t.Errorf("after prio %s: %s, want %s", c.args, got, c.want)
		}
	}
}

// The possible part is done, and each impossible name is reported.
func TestPrioInPart(t *testing.T) {
	for _, c := range []struct{ args, bad, want string }{
		{"+5 1 9", "prio: couldn't set new priority for 9: not in the queue\n",
			"1.0=5 1.1=5 1.2=5 1.3=5 1.4=5 2.0=undefined 3.0=0 3.1=10 3.2=20"},
		{"+5 1.5 dave 1.0 7", "prio: couldn't set new priority for 1.5: not in the queue\n" +
			"prio: couldn't set new priority for dave: no jobs in the queue\nprio: couldn't set new priority for 7: not in the queue\n",
			"1.0=5 1.1=0 1.2=0 1.3=0 1.4=0 2.0=undefined 3.0=0 3.1=10 3.2=20"},
		{"+2147483638 3", "prio: couldn't set new priority for 3.1: 10 + 2147483638 is outside of 32 bits\n" +
			"prio: couldn't set new priority for 3.2: 20 + 2147483638 is outside of 32 bits\n",
			"1.0=0 1.1=0 1.2=0 1.3=0 1.4=0 2.0=undefined 3.0=2147483638 3.1=10 3.2=20"},
		{"-2147483648 -pre1 4 1.0-1 3.1", "", "1.0=-2147483648 1.1=-2147483648 1.2=0 1.3=0 1.4=0 2.0=undefined 3.0=0 3.1=-2147483638 3.2=20"},
		{"-set AfterOk=\"1\" -set JobPrio=3 1.0 2", "prio: couldn't change 1.0: AfterOk: they would wait for themselves\n",
			"1.0=0 1.1=0 1.2=0 1.3=0 1.4=0 2.0=3 3.0=0 3.1=10 3.2=20"},
	} {
		fill(t)
		status, out, bad := prio(strings.Fields(c.args)...)
		if want := min(1, len(c.bad)); status != want || out != "" || bad != c.bad {
			t.Errorf("prio %s = %d, %q, %q, want %d, %q", c.args, status, out, bad, want, c.bad)
		}
		if got := priorities(t); got != c.want {
			t.Errorf("after prio %s: %s, want %s", c.args, got, c.want)
		}
	}
}

func TestPrioRefuses(t *testing.T) {
	dir := fill(t)
	prio("-p", "-3", "2")
	before := priorities(t)
	for _, c := range []struct {
		args   string
		status int
	}{
		{"+5 9", 1},
		{"-set X=1 9", 1},
		{"-2147483646 2", 1},
		{"-set AfterAny=99 2", 1},
		{"-set AfterAny=3 2", 1},
		{"+1 -constraint JobPrio 2", 1},
		{"+1 -constraint 3", 1},
		{"+1 -constraint 3=", 2},
		{"-5 29 +3", 2},
		{"-2147483648 -a -p 1", 2},
		{"+5 -p 3 1", 2},
		{"+5 -3 1", 2},
		{"+2147483648 1", 2},
		{"+5x 1", 2},
		{"-p 1.5 1", 2},
		{"-post1 2147483648 1", 2},
		{"-set JobPrio=1 +3 1", 2},
		{"-set JobPrio=99999999999999999999 1", 2},
		{"-set X=-9223372036854775809 1", 2},
		{"-set X 1", 2},
		{"-set X=1+ 1", 2},
		{"-set ClusterId=1 1", 1},
		{"1", 2},
		{"+5", 2},
		{"+5 -a 1", 2},
		{"+5 1.-1", 2},
		{"+5 1.0.0", 2},
	} {
		cmdtest.Refuses(t, Command(), c.status, strings.Fields(c.args)...)
		if got := priorities(t); got != before {
			t.Errorf("after prio %s: %s, want %s", c.args, got, before)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "job.log")); err == nil {
		t.Errorf("refused changes were logged")
	}
}

// -set keeps the expression, so that it may differ between jobs, and tells the log of
// each; the levels are set beside it.
func TestPrioSet(t *testing.T) {
	dir := fill(t)
	if status, out, bad := prio("-set", "RequestMemory = ProcId * 100", "-set", `Note="a=b"`, "-post2", "7", "1.0", "1.2", "3"); status != 0 || out+bad != "" {
		t.Fatalf("prio = %d, %q, %q, want 0 and nothing", status, out, bad)
	}
	var got []string
	cmdtest.View(t, func(v *spool.View) {
		for id, ad := range v.Jobs() {
			c := &classad.Context{}
			got = append(got, fmt.Sprintf("%v %v %v %v", id, ad.Eval(c, "RequestMemory", nil), ad.Eval(c, "Note", nil), ad.Eval(c, "PostJobPrio2", nil)))
		}
	})
	const none = " undefined undefined undefined"
	want := []string{`1.0 0 "a=b" 7`, "1.1" + none, `1.2 200 "a=b" 7`, "1.3" + none, "1.4" + none, "2.0" + none, `3.0 0 "a=b" 7`, `3.1 100 "a=b" 7`, `3.2 200 "a=b" 7`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("after prio -set: %q, want %q", got, want)
	}
	log, err := os.ReadFile(filepath.Join(dir, "job.log"))
	for _, line := range []string{
		"033 (001.002.000) 2026-11-20 23:34:06 Setting job attribute PostJobPrio2 to 7\n",
		"033 (001.002.000) 2026-11-20 23:34:06 Setting job attribute RequestMemory to ProcId * 100\n",
		"033 (001.000.000) 2026-11-20 23:34:06 Setting job attribute Note to \"a=b\"\n",
	} {
		if err != nil || !strings.Contains(string(log), line) {
			t.Errorf("the log lacks %q: %q, %v", line, log, err)
		}
	}
}

func TestPrioLogs(t *testing.T) {
	dir := fill(t)
	prio("+5", "1.0", "1.3")
	got, err := os.ReadFile(filepath.Join(dir, "job.log"))
	want := `033 (001.000.000) 2026-11-20 23:34:06 Changing job attribute JobPrio from 0 to 5
...
033 (001.003.000) 2026-11-20 23:34:06 Changing job attribute JobPrio from 0 to 5
...
`
	if err != nil || string(got) != want {
		t.Errorf("job log = %q, %v, want %q", got, err, want)
	}
	os.Remove(filepath.Join(dir, "job.log"))
	if err := os.Mkdir(filepath.Join(dir, "job.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	status, _, bad := prio("-p", "1", "1.0")
	if status != 0 || !strings.HasPrefix(bad, "prio: job log: ") || !strings.Contains(priorities(t), "1.0=1 ") {
		t.Errorf("prio with a log that cannot be written = %d, %q, want 0 and a warning", status, bad)
	}
}

// All jobs of an empty queue are none: nothing is left to do.
func TestPrioEmptyQueue(t *testing.T) {
	cmdtest.Spool(t, nil)
	if status, out, bad := prio("+1", "-a"); status != 0 || out+bad != "" {
		t.Errorf("prio +1 -a of an empty queue = %d, %q, %q, want 0 and nothing", status, out, bad)
	}
}

func TestPrioJSON(t *testing.T) {
	fill(t)
	cmdtest.Says(t, Command(), 1, "-json", "+5", "1", "2.0", "9")
	cmdtest.Says(t, Command(), 0, "-json", "+5", "-constraint", "false")
	cmdtest.Says(t, Command(), 2, "-json", "1")
}

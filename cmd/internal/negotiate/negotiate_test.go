package negotiate

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

const now = 1795217646 // 2026-11-20 23:34:06 UTC

func ad(t *testing.T, text string) *classad.Ad {
	t.Helper()
	a, err := classad.ParseAd(text)
	testenv.OK(t, err)
	return a
}

// fill makes a spool with so many slots that take any job, and for each count
// a cluster of that many jobs, in turn of alice and bob.
func fill(t *testing.T, slots int, jobs ...int) *spool.Spool {
	t.Helper()
	t.Setenv("FAIRSPOOL_DIR", filepath.Join(t.TempDir(), "spool"))
	t.Setenv("FAIRSPOOL_CONFIG", "/dev/null")
	t.Setenv("FAIRSPOOL_NOW", fmt.Sprint(now))
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: time.Unix(now, 0)})
	testenv.OK(t, err)
	t.Cleanup(func() { s.Close() })
	testenv.OK(t, s.Update(func(tx *spool.Tx) error {
		tx.Op("test")
		for i := range slots {
			name := fmt.Sprintf("slot%d@node", i+1)
			tx.PutSlot(name, ad(t, fmt.Sprintf(`[Name = %q; Machine = "node"; Cpus = 1; Memory = 1024; Requirements = true]`, name)))
		}
		for i, n := range jobs {
			owner := []string{"alice", "bob"}[i%2]
			tx.AddCluster(ad(t, fmt.Sprintf(`[Owner = %q; JobStatus = 1; QDate = %d; RequestCpus = 1; Requirements = true]`, owner, now-60)),
				[]spool.NewRun{{Count: n}})
		}
		return nil
	}))
	return s
}

func negotiate(args ...string) (status int, out, bad string) {
	var o, b bytes.Buffer
	status = cmdline.Execute(Command(), args, strings.NewReader(""), &o, &b)
	return status, o.String(), b.String()
}

func reportFile() string { return filepath.Join(os.Getenv("FAIRSPOOL_DIR"), "cycle.json") }

func left(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(reportFile())
	testenv.OK(t, err)
	return string(b)
}

func TestReportForPeople(t *testing.T) {
	for _, c := range []struct {
		name  string
		slots int
		jobs  []int
		args  string
		want  string
	}{
		{"an empty pool", 0, nil, "", "Cycle 1: 0 jobs matched, 0 of 0 slots free.\n" +
			"No job is waiting, and no slot is in use.\n" +
			"The pool has no slots: advertise some with slots advertise or slots detect.\n"},
		{"nobody wants anything", 1, nil, "", "Cycle 1: 0 jobs matched, 1 of 1 slot free.\nNo job is waiting, and no slot is in use.\n"},
		{"no slots", 0, []int{3}, "", `Cycle 1: 0 jobs matched, 0 of 0 slots free.
The pool has no slots: advertise some with slots advertise or slots detect.

Submitter   EUP (lower is better)  Pie Slice  Limit  Idle  Matched
alice@pool                   0.50       0.00   0.00     3        0

1.0 and 2 more like it of alice@pool: no match found: the pool has no slots
`},
		{"one of each", 1, []int{1}, "", `Cycle 1: 1 job matched, 1 of 1 slot free.

Submitter   EUP (lower is better)  Pie Slice  Limit  Idle  Matched
alice@pool                   0.50       1.00   1.00     1        1
`},
		{"too few slots, dry", 2, []int{2, 3}, "-dry-run", `Cycle 1: 2 jobs would be matched, 2 of 2 slots free.

Submitter   Jobs  Weight  Each Takes          Which Jobs  Which Slots
alice@pool     1    1.00  Cpus=1 Memory=1024  1.0         slot1@node
bob@pool       1    1.00  Cpus=1 Memory=1024  2.0         slot2@node

Submitter   EUP (lower is better)  Pie Slice  Limit  Idle  Matched
alice@pool                   0.50       1.00   1.00     2        1
bob@pool                     0.50       1.00   1.00     3        1

1.1 of alice@pool: submitter limit exceeded: alice@pool uses 1 of a pie slice of 1.00, the other matching slots are taken
2.1 and 1 more like it of bob@pool: no match found: all 2 matching slots are taken (0 before this cycle)
`},
		{"quiet", 1, []int{2}, "-q", ""},
	} {
		fill(t, c.slots, c.jobs...)
		if status, out, bad := negotiate(strings.Fields(c.args)...); status != 0 || bad != "" || out != c.want {
			t.Errorf("%s: negotiate %s = %d, %q\n%swant\n%s", c.name, c.args, status, bad, out, c.want)
		}
	}
}

// A cycle with jobs that wait says which pilots of batch engines have not come, and for good.
func TestReportsPilots(t *testing.T) {
	s := fill(t, 0, 3)
	testenv.OK(t, s.Update(func(tx *spool.Tx) error {
		at := time.Unix(now-60, 0)
		lifecycle.Lose(tx, lifecycle.AskEngine(tx, "grid", "", "", at).ID, "its queue is full", at, accountant.Params{})
		for range 2 {
			lifecycle.Sight(tx, lifecycle.AskEngine(tx, "hpc", "", "", at).ID, "7", "PENDING (Resources)")
		}
		return nil
	}))
	_, out, _ := negotiate()
	since := time.Unix(now-60, 0).Local().Format(time.DateTime)
	want := "2 pilots of engine hpc are asked for, the first since " + since + ": PENDING (Resources)\nengine grid gave no pilot, " + since + ": its queue is full\n"
	if !strings.HasSuffix(out, want) {
		t.Errorf("negotiate says\n%swant at its end\n%s", out, want)
	}
	if text := strings.Join(strings.Fields(left(t)), " "); !strings.Contains(text, fmt.Sprintf(`"Asked": [ {"Engine":"hpc","Pilots":2,"Since":%d,"Says":"PENDING (Resources)"} ], "Missed": [ {"Engine":"grid","Why":"its queue is full","Since":%[1]d} ]`, now-60)) {
		t.Errorf("cycle.json is %s", text)
	}
}

// Cycles count on from the last report; a dry run counts, but leaves none.
func TestNumbering(t *testing.T) {
	fill(t, 1)
	for i, want := range []string{"Cycle 1:", "Cycle 2:", "Cycle 3:"} {
		if _, out, bad := negotiate("-dry-run"); !strings.HasPrefix(out, want) || bad != "" {
			t.Errorf("dry run %d = %q, %q, want %s", i+1, out, bad, want)
		}
		if _, out, bad := negotiate(); !strings.HasPrefix(out, want) || bad != "" {
			t.Errorf("cycle %d = %q, %q, want %s", i+1, out, bad, want)
		}
	}
}

// A report that does not read keeps no cycle from being run, and the next one
// reads again.
func TestBrokenReport(t *testing.T) {
	for _, broken := range []string{"{", `{"Cycle": 7`, `{"Cycle": "seven"}`, `{"Cycle": 7.5}`, "[]", "\x00\xff"} {
		s := fill(t, 1, 1)
		testenv.OK(t, os.WriteFile(reportFile(), []byte(broken), 0o600))
		status, out, bad := negotiate()
		if status != 0 || !strings.HasPrefix(out, "Cycle 1: 1 job matched") ||
			!strings.HasPrefix(bad, "negotiate: "+reportFile()+":1: damaged: ") || !strings.HasSuffix(bad, " cycles count from 1 again\n") || strings.Count(bad, "\n") != 1 {
			t.Errorf("negotiate after the report %q = %d, %q, %q, want a match and a warning", broken, status, out, bad)
		}
		testenv.OK(t, s.View(func(v *spool.View) error {
			if _, ok := v.Claim(pool.JobID{Cluster: 1}); !ok {
				t.Errorf("negotiate after the report %q made no claim", broken)
			}
			return nil
		}))
		if kept, err := os.ReadFile(reportFile() + ".damaged"); string(kept) != broken {
			t.Errorf("the report %q was kept as %q, %v", broken, kept, err)
		}
		if _, out, bad := negotiate(); !strings.HasPrefix(out, "Cycle 2:") || bad != "" {
			t.Errorf("the cycle after = %q, %q, want Cycle 2", out, bad)
		}
	}
}

// Nor does one that is missing, or older than the last.
func TestOutdatedReport(t *testing.T) {
	fill(t, 1, 1)
	negotiate()
	old, err := os.ReadFile(reportFile())
	testenv.OK(t, err)
	for _, c := range []struct {
		put func() error
		bad string
	}{
		{func() error { return os.Remove(reportFile()) }, ": missing"},
		{func() error { return os.WriteFile(reportFile(), old, 0o600) }, ""},
	} {
		negotiate()
		testenv.OK(t, c.put())
		want := "negotiate: " + reportFile() + c.bad + ": not what the last negotiation cycle left: cycles count from 1 again\n"
		if status, out, bad := negotiate(); status != 0 || !strings.HasPrefix(out, "Cycle 1:") || bad != want {
			t.Errorf("negotiate = %d, %q, %q, want Cycle 1 and %q", status, out, bad, want)
		}
		if _, out, bad := negotiate(); !strings.HasPrefix(out, "Cycle 2:") || bad != "" {
			t.Errorf("the cycle after = %q, %q, want Cycle 2", out, bad)
		}
	}
}

func TestJSON(t *testing.T) {
	fill(t, 1, 4)
	want := `{
  "SchemaVersion": 1,
  "Cycle": 1,
  "Time": 1795217646,
  "Slots": 1,
  "Submitters": [
    {"Name":"alice@pool","EffectivePriority":0.5,"PieSlice":1,"Limit":1,"Idle":4,"Matched":1}
  ],
  "Groups": [],
  "Matches": [
    {"Job":"1.0","Submitter":"alice@pool","Slot":"slot1@node","Reason":"NoPreemption"}
  ],
  "Rejections": [
    {"Job":"1.1","Count":3,"Jobs":["1.1-3"],"Submitter":"alice@pool","Autocluster":0,"Cause":"Taken","Reason":"no match found: the only matching slot is taken (0 before this cycle)"}
  ],
  "Autoclusters": [
    {"Steps":[{"Cause":"Taken","Slots":1}],"Nearest":{"Slot":"slot1@node","Causes":["Taken"],"Holders":["alice@pool"]},"Holders":[{"Submitter":"alice@pool","Slots":1,"New":1}],"Ahead":[{"Submitter":"alice@pool","EffectivePriority":0.5,"Slots":1,"Waiting":3}]}
  ]
}
`
	if status, out, bad := negotiate("-json", "-dry-run"); status != 0 || bad != "" || out != want {
		t.Errorf("negotiate -json -dry-run = %d, %q\n%swant\n%s", status, bad, out, want)
	}
	if _, err := os.Stat(reportFile()); err == nil {
		t.Errorf("a dry run left a report")
	}
	want = `{
  "SchemaVersion": 1,
  "Cycles": [
    {"Cycle":1,"Time":1795217646,"Took":0,"Matched":1,"Preempted":0,"Waiting":3}
  ],
` + strings.TrimPrefix(strings.TrimSuffix(want, "\n}\n"), "{\n  \"SchemaVersion\": 1,\n") + ",\n  \"Checksum\": \""
	took := regexp.MustCompile(`"Took":[0-9.]+`)
	if status, out, bad := negotiate("-json"); status != 0 || bad != "" || !strings.HasPrefix(took.ReplaceAllString(out, `"Took":0`), want) || left(t) != out {
		t.Errorf("negotiate -json = %d, %q\n%sand left\n%swant\n%s", status, bad, out, left(t), want)
	}
}

// Whatever the configuration gets wrong is told once, and even when quiet.
func TestFaultySlotWeight(t *testing.T) {
	fill(t, 3, 3)
	config := filepath.Join(t.TempDir(), "fairspool.toml")
	testenv.OK(t, os.WriteFile(config, []byte(`SLOT_WEIGHT = "Cpus / 0"`), 0o600))
	status, out, bad := negotiate("-q", "-config", config)
	if status != 0 || out != "" {
		t.Errorf("negotiate -q = %d, %q, want 0", status, out)
	}
	cmdtest.Printed(t, "negotiate -q", status, out, bad)
}

// Of two cycles at a time the second gives up, and changes nothing.
func TestOneCycleAtATime(t *testing.T) {
	s := fill(t, 1, 1)
	testenv.OK(t, s.Negotiating(0, func() error {
		status, out, bad := negotiate("-lock-wait", "0")
		if status != 75 || out != "" || strings.Count(bad, "\n") != 1 {
			t.Errorf("a second cycle = %d, %q, %q, want 75 and one line", status, out, bad)
		}
		if status, out, _ := negotiate("-dry-run"); status != 0 || !strings.Contains(out, "1 job would be matched") {
			t.Errorf("a dry run meanwhile = %d, %q, want a match", status, out)
		}
		return nil
	}))
	if _, err := os.Stat(reportFile()); err == nil {
		t.Errorf("the cycle that gave up left a report")
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "jobs", 1: "job", 2: "jobs"} {
		if got := plural.Noun(n, "job"); got != want {
			t.Errorf("plural.Noun(%d, job) = %s, want %s", n, got, want)
		}
	}
}

// Two jobs of alice have run for two hours on all slots there are, and bob has come.
func overdue(t *testing.T) {
	t.Helper()
	s := fill(t, 2, 2)
	if status, _, bad := negotiate("-q"); status != 0 || bad != "" {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	update(t, s, func(tx *spool.Tx) error {
		for proc := range 2 {
			if err := lifecycle.Begin(tx, pool.JobID{Cluster: 1, Proc: proc}, 1, time.Unix(now+1, 0), 1, "", accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}); err != nil {
				return err
			}
		}
		tx.AddCluster(ad(t, fmt.Sprintf(`[Owner = "bob"; JobStatus = 1; QDate = %d; RequestCpus = 1; Requirements = true]`, now)), []spool.NewRun{{Count: 3}})
		return nil
	})
	t.Setenv("FAIRSPOOL_NOW", fmt.Sprint(now+7201))
}

func TestPreemptionForPeople(t *testing.T) {
	overdue(t)
	if _, out, _ := negotiate("-explain", "1", "-json"); !strings.Contains(out, `"For": "2.0"`) || !strings.Contains(out, `"Rule": "Priority"`) {
		t.Errorf("negotiate -explain 1 -json = %s", out)
	}
	for _, args := range []string{"-dry-run", "-explain|2.0", "-explain|1", "-explain|2.2", "-what-if|qdel 2.0 2.1 2.2",
		"-what-if|config NEGOTIATOR_CONSIDER_PREEMPTION=false|-what-if|submit 1 like 2.0"} {
		printed(t, strings.Split(args, "|")...)
	}
	printed(t, "-q")
	for _, job := range []string{"1", "2.0", "2.2"} {
		printed(t, "-explain", job)
	}
}

// everyFile returns what is in all files of the spool, by name.
func everyFile(t *testing.T) map[string]string {
	t.Helper()
	dir, files := os.Getenv("FAIRSPOOL_DIR"), map[string]string{}
	testenv.OK(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	}))
	return files
}

// What only looks leaves every byte of every file as it was.
func TestLookingChangesNothing(t *testing.T) {
	fill(t, 2, 2, 3)
	if status, _, bad := negotiate("-q"); status != 0 {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	before := everyFile(t)
	for _, args := range [][]string{
		{"-dry-run"}, {"-dry-run", "-json"}, {"-dry-run", "-q"}, {"-explain", "1"}, {"-explain", "2.1", "-json"},
		{"-what-if", "userprio -setfactor alice@pool 2", "-what-if", "slots add 3 like slot1@node", "-what-if", "config RESERVE_POOL_FRACTION=0"},
		{"-what-if", "qdel 1", "-what-if", "prio +5 2", "-what-if", "submit 3 like 2", "-json"},
		{"-what-if", "nonsense"}, {"-what-if", "slots withdraw slot9@node"},
	} {
		negotiate(args...)
		if after := everyFile(t); !maps.Equal(after, before) {
			for name, text := range after {
				if before[name] != text {
					t.Errorf("negotiate %q changed %s", args, name)
				}
			}
			t.Fatalf("negotiate %q: %d files, want the %d of before as they were", args, len(after), len(before))
		}
	}
	if negotiate("-q"); maps.Equal(everyFile(t), before) {
		t.Error("a real cycle changed nothing either: the test sees nothing")
	}
}

package userprio

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// fill makes a spool with alice, who used her slots until an hour ago, bob,
// who holds two, and carol, whose last use was two days ago.
func fill(t *testing.T) {
	t.Helper()
	hours := func(h float64) accountant.Usage {
		u, err := accountant.UsageOf(h * 3600)
		testenv.OK(t, err)
		return u
	}
	at := time.Unix(cmdtest.Now, 0)
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.PutSubmitter(accountant.Record{Name: "alice@pool", Priority: 20, At: at.Add(-24 * time.Hour), HalfLife: 24 * time.Hour, Factor: 1000,
			Slots: hours(50), Weighted: hours(100), Begin: at.Add(-240 * time.Hour), Last: at.Add(-time.Hour)})
		tx.PutSubmitter(accountant.Record{Name: "bob@pool", Priority: 2, At: at.Add(-time.Hour), HalfLife: 24 * time.Hour,
			ResourcesUsed: 1, InUse: 2 * accountant.One, Begin: at.Add(-time.Hour), Last: at.Add(-time.Hour)})
		tx.PutSubmitter(accountant.Record{Name: "nice-user.carol@pool", Priority: 600, At: at, HalfLife: 24 * time.Hour,
			Weighted: hours(1), Begin: at.Add(-72 * time.Hour), Last: at.Add(-48 * time.Hour)})
	})
}

func userprio(args ...string) (status int, out, bad string) { return cmdtest.Run(command(), args...) }

// Trailing blanks stand as $ in these tables.
func TestDisplay(t *testing.T) {
	fill(t)
	for _, c := range []struct{ args, want string }{
		{"", `Last Priority Update: 11/20 23:34
                    Effective   Priority  Wghted Total Usage  Time Since Submitter Submitter
User Name            Priority    Factor   In Use (wghted-hrs) Last Usage   Floor    Ceiling$
------------------ ------------ --------- ------ ------------ ---------- --------- ---------
bob@pool                   2.00      1.00      2         2.00      <now>                   $
alice@pool             10000.00   1000.00      0       100.00    0+01:00                   $
------------------ ------------ --------- ------ ------------ ---------- --------- ---------
Number of users: 2                             2       102.00    1+00:00                   $
`},
		{"-all -allusers", `Last Priority Update: 11/20 23:34
                      Effective     Real   Priority  Wghted Total Usage       Usage             Last       Time Since Submitter Submitter
User Name              Priority   Priority  Factor   In Use (wghted-hrs)    Start Time       Usage Time    Last Usage   Floor    Ceiling$
-------------------- ------------ -------- --------- ------ ------------ ---------------- ---------------- ---------- --------- ---------
bob@pool                     2.00     2.00      1.00      2         2.00 11/20/2026 22:34 11/20/2026 23:34      <now>                   $
alice@pool               10000.00    10.00   1000.00      0       100.00 11/10/2026 23:34 11/20/2026 22:34    0+01:00                   $
nice-user.carol@pool        6e+09   600.00     1e+07      0         1.00 11/17/2026 23:34 11/18/2026 23:34    2+00:00                   $
-------------------- ------------ -------- --------- ------ ------------ ---------------- ---------------- ---------- --------- ---------
Number of users: 3                                        2       103.00                                                                $
`},
		{"-usage -activefrom 11 18 26", `Last Priority Update: 11/20 23:34
                     Wghted Total Usage       Usage             Last     $
User Name            In Use (wghted-hrs)    Start Time       Usage Time  $
-------------------- ------ ------------ ---------------- ----------------
nice-user.carol@pool      0         1.00 11/17/2026 23:34 11/18/2026 23:34
bob@pool                  2         2.00 11/20/2026 22:34 11/20/2026 23:34
alice@pool                0       100.00 11/10/2026 23:34 11/20/2026 22:34
-------------------- ------ ------------ ---------------- ----------------
Number of users: 3        2       103.00                  11/18/2026 00:00
`},
		{"-prio nice-user.carol alice@pool", `Last Priority Update: 11/20 23:34
                      Effective     Real   Priority$
User Name              Priority   Priority  Factor $
-------------------- ------------ -------- ---------
alice@pool               10000.00    10.00   1000.00
nice-user.carol@pool        6e+09   600.00     1e+07
-------------------- ------------ -------- ---------
Number of users: 2                                 $
`},
	} {
		status, out, bad := userprio(strings.Fields(c.args)...)
		if status != 0 || bad != "" || marked(out) != marked(strings.ReplaceAll(c.want, "$\n", " \n")) {
			t.Errorf("userprio %s = %d, %q\n%swant\n%s", c.args, status, bad, out, c.want)
		}
	}
}

// marked shows where each line ends, but not how many blanks it ends in.
func marked(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasSuffix(l, " ") {
			lines[i] = strings.TrimRight(l, " ") + " $"
		}
	}
	return strings.Join(lines, "\n")
}

// What the last cycle found is undefined before the first one, and with a word where its
// report is damaged, missing, or an older one that was put back.
func TestLastCycle(t *testing.T) {
	fill(t)
	file := filepath.Join(os.Getenv("FAIRSPOOL_DIR"), "cycle.json")
	report := func(limit int) string {
		t.Helper()
		s, err := spool.Open(filepath.Dir(file), spool.Options{Program: "test"})
		testenv.OK(t, err)
		defer s.Close()
		var text []byte
		testenv.OK(t, s.Negotiating(0, func() error {
			report := fmt.Sprintf(`{"Submitters": [{"Name": "bob@pool", "PieSlice": 2, "Limit": %d}]}`, limit)
			if err := s.SetReport(strings.NewReader(report)); err != nil {
				return err
			}
			text, err = s.Report()
			return err
		}))
		return string(text)
	}
	const unknown = ": shares, limits and quotas are not known until the next cycle\n"
	damaged := "userprio: " + file + ":1: damaged: it does not read as it was written: nothing was changed; spool check and spool-repair(7) help" + unknown
	last := ": not what the last negotiation cycle left" + unknown
	for i, c := range []struct {
		what string
		make func() (text string) // of the file; empty: none
		want string
		bad  string
	}{
		{"before the first cycle", func() string { return "" }, "undefined undefined", ""},
		{"after a cycle", func() string { return report(7) }, "7.0 1.0", ""},
		{"damaged", func() string { return strings.Replace(report(7), "7", "9", 1) }, "undefined undefined", damaged},
		{"no report", func() string { return "nonsense" }, "undefined undefined", damaged},
		{"after another cycle", func() string { return report(5) }, "5.0 1.0", ""},
		{"missing", func() string { report(6); return "" }, "undefined undefined", "userprio: " + file + ": missing" + last},
		{"an older copy", func() string { old := report(5); report(8); return old }, "undefined undefined", "userprio: " + file + last},
		{"after one more", func() string { return report(5) }, "5.0 1.0", ""},
	} {
		text := c.make()
		if err := os.Remove(file); err != nil && i > 0 {
			t.Fatal(err)
		}
		if text != "" {
			testenv.OK(t, os.WriteFile(file, []byte(text), 0o600))
		}
		status, out, bad := userprio("bob", "-af", "SubmitterLimit", "SubmitterShare")
		if status != 0 || strings.TrimSpace(out) != c.want || bad != c.bad {
			t.Errorf("%s: userprio -af = %d, %q, %q, want %q, %q", c.what, status, out, bad, c.want, c.bad)
		}
		limit, _, _ := strings.Cut(c.want, " ")
		if _, out, _ := userprio("bob", "-long"); !strings.Contains(out, "SubmitterLimit = "+limit+"\n") {
			t.Errorf("%s: userprio -long has\n%swant SubmitterLimit = %s", c.what, out, limit)
		}
	}
}

// A submitter that has begun to use a slot, without counted usage yet, is active.
func TestActive(t *testing.T) {
	at := time.Unix(cmdtest.Now, 0)
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for _, r := range []accountant.Record{
			{Name: "new@pool", ResourcesUsed: 1, InUse: 2 * accountant.One},
			{Name: "light@pool", ResourcesUsed: 1},
			{Name: "never@pool"},
			{Name: "old@pool", Begin: at.Add(-96 * time.Hour), Last: at.Add(-48 * time.Hour)},
		} {
			r.Priority, r.At, r.HalfLife = 0.5, at, 24*time.Hour
			tx.PutSubmitter(r)
		}
	})
	file := filepath.Join(t.TempDir(), "ads")
	const ads = "Name = \"new@pool\"\nWeightedResourcesUsed = 0.5\nLastUsageTime = 0\n\nName = \"never@pool\"\nLastUsageTime = 0\n\nName = \"light@pool\"\nResourcesUsed = 1\n"
	testenv.OK(t, os.WriteFile(file, []byte(ads), 0o600))
	for args, want := range map[string]string{
		"":                       "light@pool new@pool",
		"-activefrom 11 20 2026": "light@pool new@pool",
		"-activefrom 11 18 2026": "light@pool new@pool old@pool",
		"-allusers":              "light@pool never@pool new@pool old@pool",
		"-inputfile " + file:     "light@pool new@pool",
		"-activefrom 11 20 2026 -inputfile " + file: "light@pool new@pool",
	} {
		status, out, bad := userprio(append(strings.Fields(args), "-af", "Name")...)
		got := strings.Fields(out)
		slices.Sort(got)
		if status != 0 || bad != "" || strings.Join(got, " ") != want {
			t.Errorf("userprio %s shows %s, %d, %q, want %s", args, got, status, bad, want)
		}
	}
}

func TestPrograms(t *testing.T) {
	fill(t)
	_, out, _ := userprio("-json")
	var got struct {
		Submitters []struct {
			Name                                                               string
			Priority, EffectivePriority, PriorityFactor, WeightedResourcesUsed float64
			AccumulatedUsage, WeightedAccumulatedUsage                         float64
			ResourcesUsed, BeginUsageTime, LastUsageTime                       int64
		}
		Groups []struct{}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Groups == nil || len(got.Submitters) != 2 {
		t.Fatalf("userprio -json = %v, %v\n%s", got, err, out)
	}
	if want := "{bob@pool 2 2 1 2 3600 7200 1 1795214046 1795217646}"; fmt.Sprint(got.Submitters[0]) != want {
		t.Errorf("userprio -json: %v, want %s", got.Submitters[0], want)
	}
	_, out, _ = userprio("-allusers", "-af", "Name", "EffectivePriority > 100")
	if want := "bob@pool false\nalice@pool true\nnice-user.carol@pool true\n"; out != want {
		t.Errorf("userprio -af = %q, want %q", out, want)
	}
	_, out, _ = userprio("-l", "alice")
	if !strings.Contains(out, "Name = \"alice@pool\"\nPriority = 10.0\nPriorityFactor = 1000.0\n") {
		t.Errorf("userprio -l:\n%s", out)
	}
}

func TestUnknownNames(t *testing.T) {
	fill(t)
	// An unknown user is reported, without an empty table.
	for _, c := range []struct {
		args  string
		lines int
	}{{"dave", 0}, {"bab zebra", 0}, {"bob dave", 7}, {"dave -json", 5}} {
		status, out, bad := userprio(strings.Fields(c.args)...)
		if status != 1 || strings.Count(out, "\n") != c.lines {
			t.Errorf("userprio %s = %d, %q, %q, want 1, %d lines", c.args, status, out, bad, c.lines)
		}
		cmdtest.Printed(t, "userprio "+c.args, status, "", bad)
	}
}

func TestRefuses(t *testing.T) {
	fill(t)
	for _, c := range []struct {
		args   string
		status int
	}{
		{"-json -classic", 2},
		{"-flat -hier", 2},
		{"-legacy", 2},
		{"-long -legacy -modular", 2},
		{"-constraint 1+", 2},
		{"-inputfile /no/such", 1},
		{"-json -long", 2},
		{"-activefrom 2 30 2026", 2},
		{"-activefrom 2 x 2026", 2},
	} {
		cmdtest.Refuses(t, command(), c.status, strings.Fields(c.args)...)
	}
}

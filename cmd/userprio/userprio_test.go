package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// fill makes a spool with alice, who used her slots until an hour ago, bob,
// who holds two, and carol, whose last use was two days ago.
func fill(t *testing.T) {
	t.Helper()
	hours := func(h float64) accountant.Usage {
		u, err := accountant.UsageOf(h * 3600)
		if err != nil {
			t.Fatal(err)
		}
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

func TestEdits(t *testing.T) {
	fill(t)
	for _, c := range []struct{ args, out, show, after string }{
		{"-setprio alice@pool 7.5", "The priority of alice@pool was set to 7.500000\n", "alice", "7.5 1000.0 180000.0 0"},
		{"-setfactor alice@pool 4", "The priority factor of alice@pool was set to 4.000000\n", "alice", "7.5 4.0 180000.0 0"},
		{"-r alice@pool", "The accumulated usage of alice@pool was reset\n", "alice", "7.5 4.0 0.0 0"},
		{"-setf dave@pool 2", "The priority factor of dave@pool was set to 2.000000\n", "dave", "0.5 2.0 0.0 0"},
		{"-s erin@pool 3", "The priority of erin@pool was set to 3.000000\n", "erin", "3.0 1.0 0.0 0"},
		{"-delete bob@pool", "The accountant record named bob@pool was deleted\n", "bob", "0.5 1.0 0.0 1"},
	} {
		status, out, bad := userprio(strings.Fields(c.args)...)
		if status != 0 || bad != "" || out != c.out {
			t.Errorf("userprio %s = %d, %q, %q, want 0, %q", c.args, status, out, bad, c.out)
		}
		_, out, _ = userprio(c.show, "-af", "Priority", "PriorityFactor", "AccumulatedUsage", "ResourcesUsed")
		if out != c.after+"\n" {
			t.Errorf("after userprio %s: %s, want %s", c.args, out, c.after)
		}
	}
	if status, _, bad := userprio("-delete", "dave@pool"); status != 0 {
		t.Error(bad)
	}
	if status, _, bad := userprio("dave"); status != 1 || bad != "userprio: dave: no such submitter\n" {
		t.Errorf("userprio of a deleted submitter = %d, %q, want 1", status, bad)
	}
	// Whoever is not known is told of, without a table of nobody.
	for _, c := range []struct {
		args, bad string
		lines     int
	}{
		{"dave", "userprio: dave: no such submitter\n", 0},
		{"bab zebra", "userprio: bab: no such submitter; did you mean bob?\nuserprio: zebra: no such submitter\n", 0},
		{"bob dave", "userprio: dave: no such submitter\n", 7},
		{"dave -json", "userprio: dave: no such submitter\n", 4},
	} {
		status, out, bad := userprio(strings.Fields(c.args)...)
		if status != 1 || bad != c.bad || strings.Count(out, "\n") != c.lines {
			t.Errorf("userprio %s = %d, %q, %q, want 1, %d lines, %q", c.args, status, out, bad, c.lines, c.bad)
		}
	}
}

func TestRefuses(t *testing.T) {
	fill(t)
	journal := func() string {
		b, err := os.ReadFile(os.Getenv("FAIRSPOOL_DIR") + "/journal.1")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := journal()
	for _, c := range []struct {
		args   string
		status int
		bad    string
	}{
		{"-setprio alice 5", 2, `userprio: -setprio: "alice": want the full name of a submitter, user@uid.domain`},
		{"-setprio a@b@c 5", 2, `userprio: -setprio: "a@b@c": want the full name of a submitter, with one @`},
		{"-setfactor a@b@c 5", 2, `userprio: -setfactor: "a@b@c": want the full name of a submitter, with one @`},
		{"-delete a@b@c", 1, `userprio: a@b@c: no such submitter`},
		{"-setprio @pool 5", 2, `userprio: -setprio: "@pool": want the full name`},
		{"-setprio alice@pool abc", 2, `userprio: -setprio: "abc": not a number`},
		{"-setprio alice@pool nan", 2, `userprio: -setprio: "nan": not a number`},
		{"-setprio alice@pool 1e999", 2, `userprio: -setprio: "1e999": not a number`},
		{"-setprio alice@pool 0.4", 2, `userprio: -setprio: 0.4: want a number from 0.5 to`},
		{"-setprio alice@pool -3", 2, `userprio: -setprio: -3: want a number from 0.5 to`},
		{"-setfactor alice@pool 0.99", 2, `userprio: -setfactor: 0.99: want a number from 1 to`},
		{"-setfactor alice@pool 5x", 2, `userprio: -setfactor: "5x": not a number`},
		{"-setfactor alice@pool", 2, `userprio: -setfactor: wants FACTOR`},
		{"-delete alise@pool", 1, `userprio: alise@pool: no such submitter; did you mean alice@pool?`},
		{"-resetusage zebra@zoo", 1, `userprio: zebra@zoo: no such submitter`},
		{"-delete alice@pool bob@pool", 2, `userprio: -delete: one argument too many: bob@pool`},
		{"-delete alice@pool -all", 2, `userprio: -delete and -all: only one of them at a time`},
		{"-setprio alice@pool 5 -setfactor alice@pool 5", 2, `userprio: -setprio and -setfactor: only one`},
		{"-q", 2, `userprio: -quotas: not part of this version`},
		{"-setaccum alice@pool 5", 2, `userprio: -setaccum: not part of this version`},
		{"-getreslist alice@pool", 2, `userprio: -getreslist: not part of this version`},
		{"-json -long", 2, `userprio: -long and -json: only one`},
		{"-activefrom 2 30 2026", 2, `userprio: -activefrom: 2 30 2026: no such day`},
		{"-activefrom 2 x 2026", 2, `userprio: -activefrom: "x": not a number`},
	} {
		status, out, bad := userprio(strings.Fields(c.args)...)
		if status != c.status || out != "" || !strings.HasPrefix(bad, c.bad) || strings.Count(bad, "\n") != 1 {
			t.Errorf("userprio %s = %d, %q, %q, want %d, %q", c.args, status, out, bad, c.status, c.bad)
		}
	}
	if got := journal(); got != before {
		t.Errorf("refused commands changed the journal to\n%s", got)
	}
}

// A long domain that all share makes nobody a neighbour.
func TestUnknown(t *testing.T) {
	var known []accountant.Record
	for _, name := range []string{"alice@example.org", "root@example.org", "bob@example.org", "bob@example.com", "physics.carol@example.org"} {
		known = append(known, accountant.Record{Name: name})
	}
	for _, c := range []struct{ name, hint string }{
		{"alise@example.org", "alice@example.org"},
		{"rot@example.org", "root@example.org"},
		{"tim@example.org", ""},
		{"physics.carl@example.org", "physics.carol@example.org"},
		{"alice@exmaple.org", "alice@example.org"},
		{"alise@exmaple.org", ""},
		{"alice@elsewhere.net", ""},
		{"alise", "alice"},
		{"tim", ""},
	} {
		want := c.name + ": no such submitter"
		if c.hint != "" {
			want += "; did you mean " + c.hint + "?"
		}
		if got := unknown(c.name, known).Error(); got != want {
			t.Errorf("unknown(%s) = %q, want %q", c.name, got, want)
		}
	}
	if got, want := unknown("alise@example.org", known[1:]).Error(), "alise@example.org: no such submitter"; got != want {
		t.Errorf("unknown without alice = %q, want %q", got, want)
	}
}

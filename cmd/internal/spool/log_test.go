package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/internal/testenv"
	"fairspool/spool"
)

// transaction is one of alice's, at noon.
func transaction(change func(*spool.Logged)) spool.Logged {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 12e6, time.UTC)
	l := spool.Logged{Transaction: spool.Transaction{
		Seq: 42, Machine: noon, Policy: noon.Add(-3 * time.Millisecond), UID: 1000, User: "alice", Program: "prio", Op: "set priority", Args: []string{"+5", "12"},
	}, What: "3 changes of jobs"}
	if change != nil {
		change(&l)
	}
	return l
}

// utc shows times of the test in UTC.
func utc(t *testing.T) {
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
}

func TestLine(t *testing.T) {
	utc(t)
	for _, c := range []struct {
		change func(*spool.Logged)
		want   string
	}{
		{nil, "     42  2026-11-21 12:00:00  alice     prio       set priority +5 12: 3 changes of jobs"},
		{func(l *spool.Logged) { l.Args, l.What = nil, "" }, "     42  2026-11-21 12:00:00  alice     prio       set priority"},
		{func(l *spool.Logged) { l.Policy = l.Policy.Add(-119 * time.Second) }, "     42  2026-11-21 12:00:00  alice     prio       set priority +5 12: 3 changes of jobs"},
		{func(l *spool.Logged) { l.Policy = l.Policy.AddDate(0, 0, 1) }, "     42  2026-11-21 12:00:00  alice     prio       set priority +5 12: 3 changes of jobs (as of 2026-11-22 12:00:00)"},
		{func(l *spool.Logged) { l.Policy = l.Policy.AddDate(-1, 0, 0) }, "     42  2026-11-21 12:00:00  alice     prio       set priority +5 12: 3 changes of jobs (as of 2025-11-21 12:00:00)"},
		{func(l *spool.Logged) { l.Args = []string{"", "a b", "a\nb", `"`, "é", "\x1b[2J"} },
			`     42  2026-11-21 12:00:00  alice     prio       set priority "" "a b" "a\nb" "\"" "é" "\x1b[2J": 3 changes of jobs`},
		{func(l *spool.Logged) { l.Args = []string{"alice", "--x", "-", "--", "alice", "[ ]"} },
			"     42  2026-11-21 12:00:00  alice     prio       set priority alice --x -: 3 changes of jobs"},
		{func(l *spool.Logged) { l.Args = []string{"--"} }, "     42  2026-11-21 12:00:00  alice     prio       set priority: 3 changes of jobs"},
		{func(l *spool.Logged) { l.Op, l.Args = "finish, start", []string{"1.0", "1.2", "--", "[ ]"} },
			"     42  2026-11-21 12:00:00  alice     prio       finish 1.0, start 1.2: 3 changes of jobs"},
		{func(l *spool.Logged) { l.Op, l.Args = "finish, start", []string{"1.0"} },
			"     42  2026-11-21 12:00:00  alice     prio       finish, start 1.0: 3 changes of jobs"},
		{func(l *spool.Logged) { l.Seq, l.User = 123456789, "a long name" },
			`123456789  2026-11-21 12:00:00  "a long name"  prio       set priority +5 12: 3 changes of jobs`},
	} {
		l := transaction(c.change)
		if got := line(l); got != c.want {
			t.Errorf("line(%+v) = %q, want %q", l, got, c.want)
		}
	}
}

func TestChoice(t *testing.T) {
	utc(t)
	noon := transaction(nil).Machine
	for _, c := range []struct {
		name   string
		choice choice
		want   string
	}{
		{"all", choice{}, "1 2 3 4 5 6"},
		{"a name", choice{who: "bob"}, "2 4 6"},
		{"a uid", choice{who: "1001"}, "2 4 6"},
		{"nobody's name", choice{who: "bo"}, ""},
		{"since", choice{since: noon.Add(4 * time.Minute)}, "4 5 6"},
		{"the last", choice{most: 1}, "6"},
		{"the last four", choice{most: 4}, "3 4 5 6"},
		{"more than there are", choice{most: 9}, "1 2 3 4 5 6"},
		{"exactly as many", choice{most: 6}, "1 2 3 4 5 6"},
		{"the last two of a user", choice{who: "alice", most: 2}, "3 5"},
	} {
		var got []string
		write := func(l spool.Logged) error { got = append(got, fmt.Sprint(l.Seq)); return nil }
		take := c.choice.last(write)
		for n := uint64(1); n <= 6; n++ {
			if err := take(transaction(func(l *spool.Logged) {
				l.Seq, l.Machine = n, noon.Add(time.Duration(n)*time.Minute)
				if n%2 == 0 {
					l.UID, l.User = 1001, "bob"
				}
			})); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range c.choice.kept() {
			write(l)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: transactions = %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLogJSONKeepsAll holds that the arguments for programs are there for them.
func TestLogJSONKeepsAll(t *testing.T) {
	var b strings.Builder
	w := writer{json: cmdline.NewStream(&b, "Transactions")}
	testenv.OK(t, w.write(transaction(func(l *spool.Logged) { l.Args = []string{"alice", "--", "[ ]"} })))
	if want := "\"alice\",\n        \"--\",\n        \"[ ]\"\n"; !strings.Contains(b.String(), want) {
		t.Errorf("JSON = %s, want …%s…", b.String(), want)
	}
}

// TestLogJSON holds the names, and that a list is one whatever its length.
func TestLogJSON(t *testing.T) {
	for n := range 3 {
		var b strings.Builder
		w := writer{json: cmdline.NewStream(&b, "Transactions")}
		for range n {
			if err := w.write(transaction(func(l *spool.Logged) { l.Args = nil; l.Op = "a<b" })); err != nil {
				t.Fatal(err)
			}
		}
		testenv.OK(t, w.end())
		const one = `{
      "Number": 42,
      "Time": "2026-11-21T12:00:00.012Z",
      "PolicyTime": "2026-11-21T12:00:00.009Z",
      "Uid": 1000,
      "User": "alice",
      "Program": "prio",
      "Operation": "a<b",
      "Arguments": [],
      "Changed": "3 changes of jobs"
    }`
		head, end := "{\n  \"SchemaVersion\": 1,\n  \"Transactions\": [", "\n  ]\n}\n"
		want := []string{head + "]\n}\n", head + "\n    " + one + end, head + "\n    " + one + ",\n    " + one + end}[n]
		if b.String() != want {
			t.Errorf("JSON of %d = %s, want %s", n, b.String(), want)
		}
		if !json.Valid([]byte(b.String())) {
			t.Errorf("JSON of %d does not read: %s", n, b.String())
		}
	}
}

func TestLogStops(t *testing.T) {
	lost := errors.New("lost")
	take := (&choice{}).last(func(spool.Logged) error { return lost })
	if err := take(transaction(nil)); !errors.Is(err, lost) {
		t.Errorf("a transaction that could not be written = %v, want %v", err, lost)
	}
}

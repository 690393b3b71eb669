package spool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// show runs a command that prints what was found, and returns its standard output.
func show(t *testing.T, found report, sound bool, args ...string) (out string) {
	t.Helper()
	c := Command()
	c.Actions = nil
	c.Run = func(c *cmdline.Call) error { return found.print(c, sound) }
	return cmdtest.Says(t, c, 0, args...)
}

// healthy are the findings of a spool of a thousand segments.
func healthy() report {
	r := report{dir: "/s"}
	add := func(name, what string) { r.add(spool.Finding{File: "/s/" + name, What: what}) }
	add("VERSION", "format 4, UID_DOMAIN x")
	add("index.7", "1000 segments, 1 table")
	for n := range 1000 {
		add(fmt.Sprintf("jobs/%d-%d.7", n, n), "100 clusters")
	}
	add("claims.7", "1 row")
	add("journal.7", "1 transaction")
	add("history/2026-09.ads", "archived")
	add("history/2026-10.ads", "1000000 bytes")
	add("history/2026-11.ads", "48576 bytes")
	add("jobs/2000-2000.7", "1 cluster")
	r.add(spool.Finding{File: "/s/index.5", Older: true, What: "generation 5, kept for its readers"})
	add("journal.6", "left over, or on its way: it does not count")
	return r
}

func TestCheckSound(t *testing.T) {
	cmdtest.Spool(t, nil)
	out := show(t, healthy(), true)
	const want = "1 4 1 1000 1 1001 100001 1 1 1 1 1 2 1.0 MB 1 5 1"
	if got := strings.Join(numbers.FindAllString(out, -1), " "); got != want {
		t.Errorf("check of a sound spool has %s, want %s, in\n%s", got, want, out)
	}
	if out := show(t, healthy(), true, "-q"); out != "" {
		t.Errorf("check -q of a sound spool = %q, want nothing", out)
	}
}

// numbers finds the numbers in a text, with their units.
var numbers = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)?( ([KMGT]B|bytes|m?s)\b)?`)

// TestCheckBeyond holds that check tells of events that are still to come.
func TestCheckBeyond(t *testing.T) {
	for _, c := range []struct {
		clock string // the mark of a spool whose times were by the machine's clock once
		ahead time.Duration
		told  bool
	}{
		{"own", 0, false},
		{"own", time.Hour, true},
		{"", time.Hour, false},
	} {
		cmdtest.Spool(t, func(tx *spool.Tx) {
			tx.PutMark("clock", c.clock)
			tx.PutSubmitter(accountant.Record{Name: "alice@pool", Priority: 0.5, HalfLife: time.Hour, At: time.Unix(cmdtest.Now, 0).Add(c.ahead)})
		})
		status, out, bad := cmdtest.Run(Command(), "check")
		if status != 0 || (bad != "") != c.told {
			t.Errorf("check %v before the last event = %d, %q, want it told: %v", c.ahead, status, bad, c.told)
		}
		cmdtest.Printed(t, fmt.Sprintf("spool check (clock %q, %v before the last event)", c.clock, c.ahead), status, out, bad)
	}
}

// TestCheckDamage holds that each damaged place has a line of its own, and
// that a damaged file is not counted as sound.
func TestCheckDamage(t *testing.T) {
	cmdtest.Spool(t, nil)
	r := healthy()
	hurt := func(name string, line int, what string) {
		r.add(spool.Finding{File: "/s/" + name, Line: line, Damaged: true, What: what})
	}
	hurt("jobs/3-3.7", 17, "the first")
	hurt("jobs/3-3.7", 19, "the second")
	hurt("history/2026-11.ads", 0, "the sum")
	hurt("lock", 2, "the next writer writes it anew")
	for _, args := range [][]string{nil, {"-q"}} {
		out := show(t, r, false, args...)
		if quiet := len(args) > 0; quiet != (out == "") || !quiet && !strings.Contains(out, "jobs      1000  99901 clusters\n") {
			t.Errorf("check %v of damage says\n%s", args, out)
		}
	}
}

func TestCheckJSON(t *testing.T) {
	cmdtest.Spool(t, nil)
	r := report{dir: "/s"}
	r.add(spool.Finding{File: "/s/CURRENT", What: "generation 1"})
	r.add(spool.Finding{File: "/s/jobs/1-2.1", Line: 3, Damaged: true, What: "x"})
	r.add(spool.Finding{File: "/s/index.0", Older: true, What: "generation 0, kept for its readers"})
	out := show(t, r, false, "-json")
	const want = `{
  "SchemaVersion": 1,
  "Directory": "/s",
  "Sound": false,
  "Files": [
    {
      "File": "CURRENT",
      "Damaged": false,
      "What": "generation 1"
    },
    {
      "File": "jobs/1-2.1",
      "Line": 3,
      "Damaged": true,
      "What": "x"
    },
    {
      "File": "index.0",
      "Damaged": false,
      "Older": true,
      "What": "generation 0, kept for its readers"
    }
  ]
}
`
	if out != want {
		t.Errorf("check -json = %s, want %s", out, want)
	}
}

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		what, words string
		numbers     []int
		double      string // the text for two such files
	}{
		{"12 clusters", "cluster", []int{12}, "24 clusters"},
		{"1 cluster", "cluster", []int{1}, "2 clusters"},
		{"1 transaction, and 3 bytes of one that was never completed", "1 transaction, and 3 bytes of one that was never completed", nil, "1 transaction, and 3 bytes of one that was never completed"},
		{"2 segments, 1 table", "segment,table", []int{2, 1}, "4 segments, 2 tables"},
		{"700 bytes", "byte", []int{700}, "1.4 KB"},
		{"format 4, UID_DOMAIN x", "format 4, UID_DOMAIN x", nil, "format 4, UID_DOMAIN x"},
		{"generation 3", "generation 3", nil, "generation 3"},
		{"", "", nil, ""},
	} {
		words, numbers := counts(c.what)
		if words != c.words || !slices.Equal(numbers, c.numbers) {
			t.Errorf("counts(%q) = %q, %v, want %q, %v", c.what, words, numbers, c.words, c.numbers)
		}
		for i := range numbers {
			numbers[i] *= 2
		}
		if got := added(words, numbers); got != c.double {
			t.Errorf("added(counts(%q), twice) = %q, want %q", c.what, got, c.double)
		}
	}
}

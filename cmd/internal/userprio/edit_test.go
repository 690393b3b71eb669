package userprio

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// journalText returns all that was ever committed to a small spool.
func journalText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(os.Getenv("FAIRSPOOL_DIR") + "/journal.1")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// records returns all records, in words.
func recordsText(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	cmdtest.View(t, func(v *spool.View) {
		for _, r := range v.Submitters() {
			fmt.Fprintln(&b, spool.SubmitterRow(r))
		}
	})
	return b.String()
}

func record(t *testing.T, name string) (r accountant.Record, known bool) {
	t.Helper()
	cmdtest.View(t, func(v *spool.View) { r, known = v.Submitter(name) })
	return r, known
}

// must runs an edit that has to work.
func must(t *testing.T, args string) string {
	t.Helper()
	status, out, bad := userprio(strings.Fields(args)...)
	if status != 0 || bad != "" {
		t.Fatalf("userprio %s = %d, %q, %q, want 0", args, status, out, bad)
	}
	return out
}

// HTCondor's words for what it was told.
func TestRecordedEdits(t *testing.T) {
	fill(t)
	for _, c := range []struct{ args, out string }{
		{"-setprio alice@pool 10", "The priority of alice@pool was set to 10.000000"},
		{"-setfactor alice@pool 1000", "The priority factor of alice@pool was set to 1000.000000"},
		{"-setaccum alice@pool 360000", "The Accumulated Usage of alice@pool was set to 360000.000000"},
		{"-setbegin alice@pool 1794353646", "The Begin Usage Time of alice@pool was set to 1794353646"},
		{"-setlast alice@pool 1795214046", "The Last Usage Time of alice@pool was set to 1795214046"},
		{"-setprio bob@pool 20.5", "The priority of bob@pool was set to 20.500000"},
		{"-setprio carol@pool 0.5 -create", "The priority of carol@pool was set to 0.500000"},
		{"-setaccum carol@pool 0", "The Accumulated Usage of carol@pool was set to 0.000000"},
		{"-setprio group_b.grace@pool 33.3333 -create", "The priority of group_b.grace@pool was set to 33.333300"},
		{"-setaccum group_b.grace@pool 123456789", "The Accumulated Usage of group_b.grace@pool was set to 123456789.000000"},
		{"-setceiling alice@pool 7", "The ceiling of alice@pool was set to 7"},
		{"-setfloor bob@pool 2", "The floor of bob@pool was set to 2"},
		{"-setfactor tmp@pool 12 -duration 600 -create", "Set priority-factor lease on tmp@pool to 12.000000 for 600 seconds"},
		{"-setceiling tmp@pool -1 -duration 60", "Set ceiling lease on tmp@pool to -1 for 60 seconds"},
		{"-setfloor tmp@pool 3 -d 60", "Set floor lease on tmp@pool to 3 for 60 seconds"},
		{"-cancelfactorlease tmp@pool", "Cancelled priority-factor lease for tmp@pool"},
		{"-c tmp@pool", "Cancelled ceiling lease for tmp@pool"},
		{"-cancelfl tmp@pool", "Cancelled floor lease for tmp@pool"},
		{"-delete tmp@pool", "The accountant record named tmp@pool was deleted"},
		{"-resetusage alice@pool", "The accumulated usage of alice@pool was reset"},
		{"-resetall", "The accumulated usage was reset for all users"},
	} {
		if out := must(t, c.args); out != c.out+"\n" {
			t.Errorf("userprio %s = %q, want %q", c.args, out, c.out)
		}
	}
}

func TestEdits(t *testing.T) {
	now := time.Unix(cmdtest.Now, 0).UTC()
	day := 24 * time.Hour
	alice := accountant.Record{Name: "alice@pool", Priority: 10, At: now, HalfLife: day, Factor: 1000,
		Slots: accountant.Usage{Millis: 180000000}, Weighted: accountant.Usage{Millis: 360000000},
		Begin: now.Add(-240 * time.Hour), Last: now.Add(-time.Hour)}
	fresh := accountant.Record{Priority: 0.5, At: now, HalfLife: day}
	for _, c := range []struct {
		args string
		want func(r accountant.Record) accountant.Record
	}{
		{"-setprio alice@pool 7.5", func(r accountant.Record) accountant.Record { r.Priority = 7.5; return r }},
		{"-s alice@pool 8", func(r accountant.Record) accountant.Record { r.Priority = 8; return r }},
		{"-setf alice@pool 4", func(r accountant.Record) accountant.Record { r.Factor = 4; return r }},
		{"-setceil alice@pool 0", func(r accountant.Record) accountant.Record { r.Ceiling = accountant.LimitOf(0); return r }},
		{"-setceiling alice@pool -1", func(r accountant.Record) accountant.Record { return r }},
		{"-setfloor alice@pool 3", func(r accountant.Record) accountant.Record { r.Floor = 3; return r }},
		{"-seta alice@pool 1.5", func(r accountant.Record) accountant.Record { r.Weighted = accountant.Usage{Millis: 1500}; return r }},
		{"-setbegin alice@pool 5", func(r accountant.Record) accountant.Record { r.Begin = time.Unix(5, 0).UTC(); return r }},
		{"-setbegin alice@pool 0", func(r accountant.Record) accountant.Record { r.Begin = time.Time{}; return r }},
		{"-setl alice@pool 1795217646", func(r accountant.Record) accountant.Record { r.Last = now; return r }},
		{"-setfactor alice@pool 4 -duration 60", func(r accountant.Record) accountant.Record {
			r.Factor, r.FactorLease = 4, accountant.Lease{Until: now.Add(time.Minute), Before: 1000}
			return r
		}},
		{"-setceiling alice@pool 4 -duration 60", func(r accountant.Record) accountant.Record {
			r.Ceiling, r.CeilingLease = accountant.LimitOf(4), accountant.Lease{Until: now.Add(time.Minute), Before: -1}
			return r
		}},
		{"-r alice@pool", func(r accountant.Record) accountant.Record {
			r.Slots, r.Weighted, r.Begin = accountant.Usage{}, accountant.Usage{}, now
			return r
		}},
		{"-setprio erin@pool 3 -create", func(accountant.Record) accountant.Record { r := fresh; r.Name, r.Priority = "erin@pool", 3; return r }},
		{"-setfloor erin@pool 3 -create", func(accountant.Record) accountant.Record { r := fresh; r.Name, r.Floor = "erin@pool", 3; return r }},
		{"-delete bob@pool", func(accountant.Record) accountant.Record {
			r := fresh
			r.Name, r.ResourcesUsed, r.InUse = "bob@pool", 1, 2*accountant.One
			return r
		}},
	} {
		fill(t)
		must(t, c.args)
		want := c.want(alice)
		if got, known := record(t, want.Name); !known || spool.SubmitterRow(got) != spool.SubmitterRow(want) {
			t.Errorf("after userprio %s: %s, want\n%s", c.args, spool.SubmitterRow(got), spool.SubmitterRow(want))
		}
	}
}

func TestLeases(t *testing.T) {
	fill(t)
	must(t, "-setfloor alice@pool 2")
	must(t, "-setfloor alice@pool 9 -duration 60")
	cmdtest.Refuses(t, command(), 1, "-setfloor", "alice@pool", "3", "-duration", "60") // a second lease
	must(t, "-setfloor alice@pool 5")                                                   // for good
	if r, _ := record(t, "alice@pool"); r.Floor != 5 || r.FloorLease != (accountant.Lease{}) {
		t.Errorf("-setfloor over a lease: %d, %v, want 5 without a lease", r.Floor, r.FloorLease)
	}
	must(t, "-setfloor alice@pool 9 -duration 60")
	must(t, "-cancelfloorlease alice@pool")
	if r, _ := record(t, "alice@pool"); r.Floor != 5 || r.FloorLease != (accountant.Lease{}) {
		t.Errorf("-cancelfloorlease: %d, %v, want 5 without a lease", r.Floor, r.FloorLease)
	}
	// One that is over is none, and its value is back.
	must(t, "-setfloor alice@pool 9 -duration 60")
	later := fmt.Sprint(cmdtest.Now + 60)
	cmdtest.Refuses(t, command(), 1, "-now", later, "-cancelfloorlease", "alice@pool")
	must(t, "-now "+later+" -setfloor alice@pool 7 -duration 60")
	if r, _ := record(t, "alice@pool"); r.Floor != 7 || r.FloorLease.Before != 5 {
		t.Errorf("a lease after one: %d, %v, want 7, and 5 before", r.Floor, r.FloorLease)
	}
}

func TestDelete(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for _, name := range []string{"group_physics@pool", "group_a", "group_a.x", "dave@pool"} {
			tx.PutSubmitter(accountant.Record{Name: name, Priority: 30, At: time.Unix(cmdtest.Now, 0), HalfLife: time.Hour})
		}
	})
	for _, c := range []struct{ name, gone string }{
		{"group_physics@pool", "group_physics@pool"}, // whose jobs named a group without a user
		{"group_a", "group_a"},
		{"group_a.x", "group_a.x"},
	} {
		if out, want := must(t, "-delete "+c.name), "The accountant record named "+c.name+" was deleted\n"; out != want {
			t.Errorf("-delete %s = %q, want %q", c.name, out, want)
		}
		if r, known := record(t, c.gone); known {
			t.Errorf("after -delete %s: %v", c.name, r)
		}
	}
	for _, c := range []struct {
		name   string
		status int
	}{{"dave", 2}, {"dave@elsewhere", 1}, {"dave@pool@pool", 1}} {
		cmdtest.Refuses(t, command(), c.status, "-delete", c.name)
	}
}

// A slot of no weight is in use like any other, and its end is counted.
func TestDeleteWithoutWeight(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.PutSubmitter(accountant.Record{Name: "alice@pool", Priority: 30, At: time.Unix(cmdtest.Now, 0), HalfLife: time.Hour, ResourcesUsed: 1})
	})
	must(t, "-delete alice@pool")
	if r, known := record(t, "alice@pool"); !known || r.ResourcesUsed != 1 || r.Priority != accountant.MinPriority {
		t.Errorf("alice, who holds a slot, after -delete: %+v, %v, want a RUP of 0.5 and 1 slot in use", r, known)
	}
}

// Whatever was set, a submitter that is deleted and added again is a new one.
func TestDeleteLeavesNoTrace(t *testing.T) {
	some := rapid.SliceOfN(rapid.SampledFrom([]string{
		"-setprio alice@pool 99", "-setfactor alice@pool 5", "-setfactor alice@pool 6 -duration 60", "-setceiling alice@pool 3",
		"-setceiling alice@pool 2 -duration 60", "-setfloor alice@pool 3", "-setfloor alice@pool 2 -duration 60",
		"-setaccum alice@pool 7", "-setbegin alice@pool 7", "-setlast alice@pool 7", "-resetusage alice@pool", "-resetall",
	}), 0, 5)
	for seed := range 8 {
		fill(t)
		edits := some.Example(seed)
		for _, args := range edits {
			userprio(strings.Fields(args)...) // a second lease is refused
		}
		must(t, "-delete alice@pool")
		must(t, "-setprio alice@pool 3 -create")
		must(t, "-setprio fresh@pool 3 -create")
		got, _ := record(t, "alice@pool")
		want, _ := record(t, "fresh@pool")
		if want.Name = got.Name; spool.SubmitterRow(got) != spool.SubmitterRow(want) {
			t.Errorf("deleted and added again after %q: %s, want %s", edits, spool.SubmitterRow(got), spool.SubmitterRow(want))
		}
	}
}

func TestRefusesEdits(t *testing.T) {
	fill(t)
	before := journalText(t)
	for _, c := range []struct {
		args   string
		status int
	}{
		{"-setprio alice 5", 2},
		{"-setprio a@b@c 5", 2},
		{"-setfactor a@b@c 5", 2},
		{"-setprio @pool 5", 2},
		{"-setprio alice@pool abc", 2},
		{"-setprio alice@pool 0x10", 2},
		{"-setprio alice@pool nan", 2},
		{"-setprio alice@pool 1e999", 2},
		{"-setprio alice@pool 0.4", 2},
		{"-setprio alice@pool -3", 2},
		{"-setfactor alice@pool 0.99", 2},
		{"-setfactor alice@pool 5x", 2},
		{"-setfactor alice@pool", 2},
		{"-setaccum alice@pool -1", 2},
		{"-setaccum alice@pool 1e16", 2},
		{"-setbegin alice@pool -1", 2},
		{"-setlast alice@pool 1.5", 2},
		{"-setlast alice@pool 253402300800", 2},
		{"-setceiling alice@pool -2", 2},
		{"-setceiling alice@pool 2.5", 2},
		{"-setfloor alice@pool -1", 2},
		{"-setfloor alice@pool 3 -duration 0", 2},
		{"-setfloor alice@pool 3 -duration 1h", 2},
		{"-setprio alice@pool 3 -duration 60", 2},
		{"-cancelfloorlease alice@pool", 1},
		{"-cancelceilinglease dave@pool", 1},
		{"-delete alise@pool", 1},
		{"-delete a@b@c", 1},
		{"-resetusage zebra@zoo", 1},
		{"-resetusage group_a", 2},
		{"-delete alice@pool bob@pool", 2},
		{"-delete alice@pool -all", 2},
		{"-setprio alice@pool 5 -setfactor alice@pool 5", 2},
		{"-setfactor alice@pool 5 -setceiling alice@pool 5", 2},
		{"-resetall alice@pool", 2},
		{"-log -reason x", 2},
		{"-undo x", 2},
		{"-undo 1", 1},
		{"-undo 7", 1},
		{"-export " + os.Getenv("FAIRSPOOL_DIR") + "/x", 2},
		{"-export /no/such/place", 1},
		{"-export /dev/null", 1},
		{"-import /no/such/place", 1},
	} {
		cmdtest.Refuses(t, command(), c.status, strings.Fields(c.args)...)
	}
	for _, why := range []string{"", " ", "two\nlines", "\x1b[2J"} {
		if status, _, bad := userprio("-setprio", "alice@pool", "5", "-reason", why); status != 2 || !strings.Contains(bad, "-reason: ") {
			t.Errorf("-reason %q = %d, %q, want 2", why, status, bad)
		}
	}
	if got := journalText(t); got != before {
		t.Errorf("refused commands changed the journal to\n%s", got)
	}
}

package userprio

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
	"fairspool/spool"
)

// Undone in turn, the newest first, edits leave nothing behind; undone again, the
// undoing does.
func TestUndoRestoresAll(t *testing.T) {
	some := rapid.SliceOfN(rapid.SampledFrom([]string{
		"-setprio alice@pool 99", "-setprio dave@pool 7", "-setfactor bob@pool 5", "-setfactor alice@pool 6 -duration 60",
		"-setceiling alice@pool 3", "-setfloor bob@pool 3", "-setaccum bob@pool 7", "-setbegin alice@pool 7", "-setlast alice@pool 7",
		"-resetusage bob@pool", "-resetall", "-delete alice@pool", "-delete bob@pool", "-delete dave@pool", "-cancelfactorlease alice@pool",
	}), 1, 6)
	for seed := range 8 {
		fill(t)
		states := []string{recordsText(t)} // and after each edit, the first of which is number 2
		for _, args := range some.Example(seed) {
			if status, _, _ := userprio(strings.Fields(args)...); status == 0 {
				states = append(states, recordsText(t))
			}
		}
		last := len(states)
		for number := last; number > 1; number-- {
			must(t, fmt.Sprint("-undo ", number))
			if got, want := recordsText(t), states[number-2]; got != want {
				t.Fatalf("seed %d: after -undo %d:\n%swant\n%s", seed, number, got, want)
			}
		}
		for number := 2; number <= last; number++ {
			undoing := last + 1 + last - number
			must(t, fmt.Sprint("-undo ", undoing))
			if got, want := recordsText(t), states[number-1]; got != want {
				t.Fatalf("seed %d: after -undo %d:\n%swant\n%s", seed, undoing, got, want)
			}
		}
	}
}

func TestUndo(t *testing.T) {
	fill(t)
	must(t, "-setfactor alice@pool 4")   // 2
	must(t, "-setprio alice@pool 50")    // 3
	must(t, "-setfactor alice@pool 5")   // 4
	must(t, "-setfactor alice@pool 5")   // 5, which changes nothing
	must(t, "-setaccum alice@pool 7200") // 6
	later := fmt.Sprint("-now ", cmdtest.Now+86400, " ")
	for _, c := range []struct {
		args   string
		status int
	}{
		{"-undo 2", 1},
		{later + "-undo 3 -reason no", 0}, // 7
		{"-undo 3", 1},
		{later + "-undo 4", 0}, // 8
		{later + "-undo 2", 0}, // 9
		{later + "-undo 8", 1},
		{later + "-undo 9", 0}, // 10
		{later + "-undo 2", 0}, // 11
		{"-undo 1", 1},
	} {
		status, out, bad := userprio(strings.Fields(c.args)...)
		if status != c.status {
			t.Errorf("userprio %s = %d, want %d", c.args, status, c.status)
		}
		cmdtest.Printed(t, "userprio "+c.args, status, out, bad)
	}
	r, _ := record(t, "alice@pool")
	if r.Priority < 5-1e-9 || r.Priority > 5+1e-9 || r.Factor != 1000 || r.Weighted != (accountant.Usage{Millis: 7200000}) {
		t.Errorf("after undoing all but the usage: %+v, want RUP 5, factor 1000, 7200 s", r)
	}
}

// What was charged since an edit stays when that is undone.
func TestUndoWhileUsed(t *testing.T) {
	fill(t)
	must(t, "-resetusage bob@pool")
	must(t, "-delete bob@pool")
	cmdtest.Update(t, func(tx *spool.Tx) {
		r, _ := tx.Submitter("bob@pool")
		p := accountant.Params{HalfLife: 24 * time.Hour}
		tx.PutSubmitter(r.End(time.Unix(cmdtest.Now+3600, 0), 2*accountant.One, p))
	})
	later := fmt.Sprint("-now ", cmdtest.Now+7200, " ")
	must(t, later+"-undo 3")
	must(t, later+"-undo 2")
	r, _ := record(t, "bob@pool")
	if r.ResourcesUsed != 0 || r.InUse != 0 || r.Slots.Seconds() != 7200 || r.Weighted.Seconds() != 14400 {
		t.Errorf("bob, an hour before and one after = %+v, want 7200 s, with weight 14400 s, and nothing in use", r)
	}
}

// Of two who undo the same edit one is told that it is done.
func TestUndoOvertaken(t *testing.T) {
	fill(t)
	must(t, "-setaccum alice@pool 7200")
	s, err := spool.Open(spoolDir(), spool.Options{Program: "userprio", UIDDomain: "pool", Now: time.Unix(cmdtest.Now, 0)})
	testenv.OK(t, err)
	defer s.Close()
	u, err := undoingOf(s, 2, accountant.Params{HalfLife: 24 * time.Hour})
	testenv.OK(t, err)
	must(t, "-undo 2")
	before := journalText(t)
	if err := s.Update(func(tx *spool.Tx) error { return u.make(&trail{tx: tx}, time.Unix(cmdtest.Now, 0), "") }); err != errOvertaken {
		t.Errorf("undoing what was undone meanwhile = %v, want %v", err, errOvertaken)
	}
	if journalText(t) != before {
		t.Errorf("it was undone twice")
	}
}

// TestUndoChangesThePast holds that the history is told where a record is as of a
// time before its last event, or gone, and not otherwise.
func TestUndoChangesThePast(t *testing.T) {
	fill(t)
	past := func() (text string) {
		cmdtest.View(t, func(v *spool.View) { text = lifecycle.Past(v) })
		return text
	}
	for _, c := range []struct {
		args string
		want bool
	}{
		{"-setprio alice@pool 5", false}, {"-setfactor new@pool 5 -create", false}, {"-undo 2", true}, {"-delete new@pool", true}, {"-resetall", false},
	} {
		before := past()
		if status, _, bad := userprio(strings.Fields(c.args)...); status != 0 {
			t.Fatalf("userprio %s = %d, %s", c.args, status, bad)
		}
		if got := past() != before; got != c.want {
			t.Errorf("userprio %s: the past changed: %v, want %v", c.args, got, c.want)
		}
	}
}

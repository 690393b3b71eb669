package userprio

import (
	"encoding/json"
	"fmt"
	"os/user"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// oneBlank returns what a table says, with single blanks between its words.
func oneBlank(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestLog(t *testing.T) {
	fill(t) // transaction 1
	userprio("-setfactor", "alice@pool", "4", "-reason", "a \"talk\" -- soon")
	must(t, "-setceiling bob@pool 3 -duration 60")
	must(t, "-undo 2")
	must(t, "-delete alice@pool")
	printsLog(t, "-log")
	printsLog(t, "-log bob")
	printsLog(t, "-log nobody")
}

// printsLog compares a log with the golden page, but for its user and the clock's time.
func printsLog(t *testing.T, args string) {
	t.Helper()
	me, err := user.Current()
	testenv.OK(t, err)
	out := strings.ReplaceAll(oneBlank(must(t, args)), fmt.Sprintf("%s (%s)", me.Username, me.Uid), "USER (UID)")
	cmdtest.Printed(t, "userprio "+args, 0, madeAt.ReplaceAllString(out, "made at TIME"), "")
}

var madeAt = regexp.MustCompile(`made at [-0-9]+ [0-9:]+`)

func TestLogJSON(t *testing.T) {
	fill(t)
	must(t, "-setfactor carol@pool 4 -duration 60 -create")
	must(t, "-setlast carol@pool 5")
	must(t, "-undo 3")
	var all struct {
		Edits []struct {
			Number, Undoes, UndoneBy uint64
			Time, MachineTime        float64
			User, Program, Operation string
			Uid                      *int
			Arguments                []string
			Reason                   string
			Changes                  []map[string]any
		}
	}
	err := json.Unmarshal([]byte(must(t, "-log -json")), &all)
	got := all.Edits
	if err != nil || len(got) != 3 {
		t.Fatalf("-log -json = %v, %v", got, err)
	}
	for i, want := range []string{
		"2 0 0 1795217646 set priority factor[carol@pool 4 for 60 seconds] [map[Attribute:PriorityFactor Name:carol@pool New:4 NewLeaseUntil:1.795217706e+09 Old:<nil>]]",
		"3 0 4 1795217646 set last usage time[carol@pool 5] [map[Attribute:LastUsageTime Name:carol@pool New:5 Old:<nil>]]",
		"4 3 0 1795217646 undo edit[3] [map[Attribute:LastUsageTime Name:carol@pool New:<nil> Old:5]]",
	} {
		e := got[i]
		if text := fmt.Sprint(e.Number, e.Undoes, e.UndoneBy, int(e.Time), " ", e.Operation, e.Arguments, " ", e.Changes); oneBlank(text) != oneBlank(want) {
			t.Errorf("edit %d = %s, want %s", i, text, want)
		}
		if e.Uid == nil || e.Program != "userprio" || e.MachineTime < 1.7e9 {
			t.Errorf("edit %d: who and when = %v, %q, %v", i, e.Uid, e.Program, e.MachineTime)
		}
	}
	cmdtest.Spool(t, nil)
	if out := must(t, "-log -json"); out != "{\n  \"SchemaVersion\": 1,\n  \"Edits\": []\n}\n" {
		t.Errorf("-log -json of a new spool = %q", out)
	}
}

// The log names thousands by their number, and one of them in full.
func TestLogOfMany(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for i := range 100 {
			tx.PutSubmitter(accountant.Record{Name: fmt.Sprintf("u%d@pool", i), Priority: 1, At: time.Unix(cmdtest.Now, 0), HalfLife: time.Hour,
				Slots: accountant.Usage{Millis: 3}})
		}
		tx.PutSubmitter(accountant.Record{Name: "group_a", Priority: 1, At: time.Unix(cmdtest.Now, 0), HalfLife: time.Hour})
	})
	must(t, "-resetall")
	printsLog(t, "-log")
	printsLog(t, "-log u7@pool")
	must(t, "-undo 2")
	if r, _ := record(t, "u42@pool"); r.Slots.Millis != 3 || !r.Begin.IsZero() {
		t.Errorf("after -undo of -resetall: %v", r)
	}
}

// An edit of an earlier version did not keep what was there before.
func TestLogOfOld(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.Op("set user priority", "alice@pool", "7")
		tx.PutSubmitter(accountant.Record{Name: "alice@pool", Priority: 7, At: time.Unix(cmdtest.Now, 0), HalfLife: time.Hour})
	})
	printsLog(t, "-log alice")
	cmdtest.Refuses(t, command(), 1, "-undo", "1")
}

// TestEditJSON holds that an edit prints with -json what -log then prints of it.
func TestEditJSON(t *testing.T) {
	fill(t)
	edits := func(args string) (list []json.RawMessage) {
		t.Helper()
		var all struct{ Edits []json.RawMessage }
		testenv.OK(t, json.Unmarshal([]byte(must(t, args+" -json")), &all))
		return all.Edits
	}
	for _, args := range []string{
		"-setfactor carol@pool 4 -duration 60 -create", "-setprio alice@pool 9 -reason why", "-undo 3", "-cancelfactorlease carol@pool",
		"-resetusage alice@pool", "-delete bob@pool", "-resetall",
	} {
		made, log := edits(args), edits("-log")
		if len(made) != 1 || string(made[0]) != string(log[len(log)-1]) {
			t.Errorf("%s: printed %s, and the log has %s", args, made, log[len(log)-1])
		}
	}
	state := t.TempDir() + "/state"
	must(t, "-export "+state)
	if made := edits("-import " + state); len(made) > 0 {
		t.Errorf("an import that changes nothing: %s", made)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os/user"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
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
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	who := fmt.Sprintf("%s (%s)", me.Username, me.Uid)
	at := "2026-11-20 23:34:06 " + who + " userprio "
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-log", []string{
			"Edit When Who Program What Name Attribute Old New Remarks",
			"2 " + at + "set priority factor alice@pool PriorityFactor 1000 4 undone by 4; [made]; a \"talk\" -- soon",
			"3 " + at + "set ceiling bob@pool Ceiling none 3 until 2026-11-20 23:35:06 [made]",
			"4 " + at + "undo edit alice@pool PriorityFactor 4 1000 undoes 2; [made]",
			"5 " + at + "delete submitter alice@pool Priority 10 0.5 [made]",
			"alice@pool PriorityFactor 1000 computed",
			"alice@pool AccumulatedUsage 180000 0",
			"alice@pool WeightedAccumulatedUsage 360000 0",
			"alice@pool BeginUsageTime 2026-11-10 23:34:06 never",
			"alice@pool LastUsageTime 2026-11-20 22:34:06 never",
		}},
		{"-log bob", []string{
			"Edit When Who Program What Name Attribute Old New Remarks",
			"3 " + at + "set ceiling bob@pool Ceiling none 3 until 2026-11-20 23:35:06 [made]",
		}},
		{"-log nobody", nil},
	} {
		got := oneBlank(must(t, c.args))
		var lines []string
		for line := range strings.Lines(got) {
			if i := strings.Index(line, "made at "); i >= 0 {
				line = line[:i] + "[made]" + line[i+len("made at 2026-11-20 23:34:06"):]
			}
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
		if strings.Join(lines, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("userprio %s:\n%s\nwant\n%s", c.args, strings.Join(lines, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestLogJSON(t *testing.T) {
	fill(t)
	must(t, "-setfactor carol@pool 4 -duration 60")
	must(t, "-setlast carol@pool 5")
	must(t, "-undo 3")
	var got []struct {
		Number, Undoes, UndoneBy uint64
		Time, MachineTime        float64
		User, Program, Operation string
		Uid                      *int
		Arguments                []string
		Reason                   string
		Changes                  []map[string]any
	}
	if err := json.Unmarshal([]byte(must(t, "-log -json")), &got); err != nil || len(got) != 3 {
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
	if out := must(t, "-log -json"); out != "[]\n" {
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
	if out := oneBlank(must(t, "-log")); !strings.Contains(out, "reset all usage 101 records made at") || strings.Count(out, "\n") != 1 {
		t.Errorf("-log of 101 records:\n%s", out)
	}
	if out := oneBlank(must(t, "-log u7@pool")); !strings.Contains(out, "u7@pool AccumulatedUsage 0.003 0 made at") || strings.Contains(out, "u70") {
		t.Errorf("-log of one of 101:\n%s", out)
	}
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
	if out := oneBlank(must(t, "-log alice")); !strings.Contains(out, "set user priority alice@pool to 7; made at") {
		t.Errorf("-log of an old edit:\n%s", out)
	}
	if status, _, bad := userprio("-undo", "1"); status != 1 || bad != "userprio: edit 1: it did not keep what was there before: make the contrary edit\n" {
		t.Errorf("-undo of an old edit = %d, %q, want 1", status, bad)
	}
}

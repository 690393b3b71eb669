package joblog

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// deliver has the owed events written, and returns how many files with some there are then.
func (p *pendingPool) deliver() (left int) {
	Deliver(p.Spool, "", func(format string, args ...any) { p.warnings = append(p.warnings, fmt.Sprintf(format, args...)) })
	return len(Owed(p.Spool))
}

// owe leaves a file with owed events, made at a time, for each of the logs. It returns its path.
func (p *pendingPool) owe(made time.Time, of ...batch) string {
	p.Helper()
	path := owedName(p.ClaimLock(""), made)
	if err := putOwed(path, of); err != nil {
		p.Fatal(err)
	}
	return path
}

func (p *pendingPool) batch(log string, events ...userlog.Event) batch {
	return batch{p.log(log), userlog.Text(events...)}
}

// is holds a log to the numbers of its events.
func (p *pendingPool) is(when, log string, want ...int) {
	p.Helper()
	if got := p.numbers(log); !reflect.DeepEqual(got, want) {
		p.Errorf("%s: %s has the events %v, want %v", when, log, got, want)
	}
}

// TestDeliver holds that events are delivered in the order in which they were owed, each once, and which
// of them stay.
func TestDeliver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's starter delivers")
	}
	now := time.Now()
	p := newPendingPool(t)
	held, released := p.event(userlog.Held{Reason: "a"}), p.event(userlog.Released{Reason: "b"})
	again := p.event(userlog.Held{Reason: "c"})
	if left := p.deliver(); left != 0 {
		t.Fatalf("%d files where nothing is owed", left)
	}
	p.owe(now, p.batch("two", released), p.batch("one", again))
	p.owe(now.Add(-time.Minute), p.batch("one", held, released))
	if left := p.deliver(); left != 0 {
		t.Errorf("%d files stay", left)
	}
	p.is("in order", "one", 12, 13, 12)
	p.is("in order", "two", 13)

	// A delivery that was begun may have written anything from nothing to all.
	begun := p.owe(now, p.batch("one", again, p.event(userlog.Released{Reason: "d"})), p.batch("three", held))
	if err := os.Rename(begun, begun+begunName); err != nil {
		t.Fatal(err)
	}
	if left := p.deliver(); left != 0 {
		t.Errorf("%d files stay of a delivery that was begun", left)
	}
	p.is("begun before", "one", 12, 13, 12, 13)
	p.is("begun before", "three", 12)

	// A log that cannot be written keeps its own events alone, also those that are owed later.
	if err := os.Mkdir(filepath.Join(p.dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.owe(now.Add(-time.Second), p.batch("folder", held), p.batch("two", held))
	p.owe(now, p.batch("two", released), p.batch("folder", released))
	if left := p.deliver(); left != 2 || len(p.warnings) > 0 {
		t.Errorf("%d files stay, want 2; warnings %q", left, p.warnings)
	}
	p.is("beside a log that cannot be written", "two", 13, 12, 13)
	if err := os.Remove(filepath.Join(p.dir, "folder")); err != nil {
		t.Fatal(err)
	}
	if left := p.deliver(); left != 0 {
		t.Errorf("%d files stay when the log can be written", left)
	}
	p.is("when it can be written", "folder", 12, 13)
	p.is("when another one can be written", "two", 13, 12, 13)
}

// TestDeliverGivesUp holds what is given up, and that this is told.
func TestDeliverGivesUp(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's starter delivers")
	}
	p := newPendingPool(t)
	held := p.event(userlog.Held{Reason: "a"})
	if err := os.Mkdir(filepath.Join(p.dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.owe(time.Now().Add(-2*tryFor), p.batch("folder", held), p.batch("log", held))
	if left := p.deliver(); left != 0 || len(p.warnings) != 1 {
		t.Errorf("after a long time %d files stay; warnings %q, want one", left, p.warnings)
	}
	p.is("beside what is given up", "log", 12)
	torn := p.owe(time.Now(), p.batch("log", held))
	if err := os.Truncate(torn, 30); err != nil {
		t.Fatal(err)
	}
	if left := p.deliver(); left != 0 || len(p.warnings) != 2 {
		t.Errorf("%d files stay that are torn; warnings %q, want two", left, p.warnings)
	}
	p.is("behind a torn file", "log", 12)
}

// TestOwe holds that the account's events come to the logs as they would have been written, whether a
// file has kept them or not.
func TestOwe(t *testing.T) {
	p := newPendingPool(t)
	for _, kept := range []bool{false, true} {
		var v Events
		v.add(p.log("log"), pool.JobID{Cluster: 2}, userlog.Held{Reason: "a"})
		if kept {
			if err := v.Keep(p.Spool, at); err != nil {
				t.Fatal(err)
			}
		}
		v.date(at)
		if err := v.owe(p.Dir()); err != nil {
			t.Fatal(err)
		}
		files := Owed(p.Spool)
		if len(files) != 1 || time.Since(owedAt(files[0])) > time.Hour {
			t.Fatalf("kept %t: %v is owed, want one file of now", kept, files)
		}
		text, err := os.ReadFile(files[0])
		want := OwedText(p.log("log").Path, "", userlog.Event{Job: pool.JobID{Cluster: 2}, At: at, Body: userlog.Held{Reason: "a"}})
		if err != nil || string(text) != want {
			t.Errorf("kept %t: %q, %v, want %q", kept, text, err, want)
		}
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
	}
	var none Events
	if err := none.owe(p.Dir()); err != nil || len(Owed(p.Spool)) > 0 {
		t.Errorf("without events %v is owed, %v", Owed(p.Spool), err)
	}
	if err := putOwed(filepath.Join(p.dir, "none", "x"), nil); err == nil {
		t.Error("a file is left in no folder")
	}
	if !owedAt("owed-x").IsZero() {
		t.Error("a name without a time says when it was made")
	}
}

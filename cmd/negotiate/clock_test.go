package main

import (
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/spool"
)

const alice = "alice@pool"

// TestClockWasSet holds that a cycle after the clock was set back charges what
// runs for what it really ran, and says that once.
func TestClockWasSet(t *testing.T) {
	s := fill(t, 1)
	t.Setenv("FAIRSPOOL_NOW", "")
	negotiate("-q")
	// An hour ago by the machine's clock, the clock was an hour ahead.
	p := accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}
	began := time.Now()
	if err := s.Update(func(tx *spool.Tx) error {
		clock, err := accountant.ParseClock(tx.Mark("clock"))
		if err != nil || !clock.Known() {
			t.Fatalf("the spool keeps %q of the clock, %v", tx.Mark("clock"), err)
		}
		clock.Offset += time.Hour
		tx.Op("test")
		tx.PutMark("clock", clock.String())
		tx.PutSubmitter(accountant.Record{Name: alice}.Start(began, accountant.One, p))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	const said = "negotiate: the clock was set back by 1:00:00: the accounts go on as if it had not been\n"
	if status, _, bad := negotiate("-q", "-dry-run"); status != 0 || bad != "" {
		t.Errorf("a dry run: status %d, complains %q, want nothing", status, bad)
	}
	if status, _, bad := negotiate("-q"); status != 0 || bad != said {
		t.Errorf("status %d, complains %q, want %q", status, bad, said)
	}
	if _, _, bad := negotiate("-q"); bad != "" {
		t.Errorf("the next cycle complains %q, want nothing", bad)
	}
	if err := s.View(func(v *spool.View) error {
		r, _ := v.Submitter(alice)
		if want := began.Add(-time.Hour); r.At.Sub(want).Abs() > 2*time.Second {
			t.Errorf("in use since %v, want since %v", r.At, want)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestTimeFarAhead holds that a cycle far ahead of the machine's clock is refused where
// cycles go by that, before anything is changed, and is not where none does.
func TestTimeFarAhead(t *testing.T) {
	fill(t, 1, 1)
	t.Setenv("FAIRSPOOL_NOW", "")
	negotiate("-q")
	before := everyFile(t)
	const said = "negotiate: -now 9999-12-31T23:59:59Z is more than a day ahead of the machine's clock: until then jobs would add nothing to usage; nothing was changed, and -force takes it all the same\n"
	if status, out, bad := negotiate("-now", "253402300799"); status != 1 || out != "" || bad != said {
		t.Errorf("negotiate -now = %d, %q, %q, want 1, %q", status, out, bad, said)
	}
	for name, text := range everyFile(t) {
		if before[name] != text && !strings.HasSuffix(name, ".lock") {
			t.Errorf("a cycle that was refused changed %s", name)
		}
	}
	if status, _, bad := negotiate("-q", "-dry-run", "-now", "253402300799"); status != 0 {
		t.Errorf("negotiate -dry-run -now = %d, %q, want it shown", status, bad)
	}
	if status, _, bad := negotiate("-q", "-force", "-now", "253402300799"); status != 0 || bad != "" {
		t.Errorf("negotiate -force -now = %d, %q, want a cycle", status, bad)
	}
	fill(t, 1, 1)
	for _, at := range []string{"253402300798", "253402300799"} {
		if status, _, bad := negotiate("-q", "-now", at); status != 0 || bad != "" {
			t.Errorf("negotiate -now %s of a spool that is played = %d, %q, want a cycle", at, status, bad)
		}
	}
}

// TestTimeBeforeTheLastEvent holds that a time that is given too early is said to
// be.
func TestTimeBeforeTheLastEvent(t *testing.T) {
	fill(t, 1, 1)
	negotiate("-q")
	const said = "negotiate: now is 0:10:06 before the last event; this counts as of then\n"
	if _, _, bad := negotiate("-q", "-now", "2026-11-20T23:24:00Z"); bad != said {
		t.Errorf("complains %q, want %q", bad, said)
	}
	if _, out, bad := negotiate(); bad != "" || !strings.Contains(out, "1 slot") {
		t.Errorf("prints %q and complains %q, want no complaint", out, bad)
	}
}

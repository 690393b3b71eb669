package negotiate

import (
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
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
	if status, _, bad := negotiate("-q", "-dry-run"); status != 0 || bad != "" {
		t.Errorf("a dry run: status %d, complains %q, want nothing", status, bad)
	}
	status, out, bad := negotiate("-q")
	cmdtest.Printed(t, "negotiate -q", status, out, bad)
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
	cmdtest.Refuses(t, Command(), 1, "-now", "253402300799")
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
	status, out, bad := negotiate("-q", "-now", "2026-11-20T23:24:00Z")
	cmdtest.Printed(t, "negotiate -q -now 2026-11-20T23:24:00Z", status, out, bad)
	if _, out, bad := negotiate(); bad != "" || !strings.Contains(out, "1 slot") {
		t.Errorf("prints %q and complains %q, want no complaint", out, bad)
	}
}

package negotiate

import (
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

const alice = "alice@pool"

// TestClockWasSet holds that a clock that was set while something is charged changes no time of the
// pool, as -health tells, and that the first cycle at rest follows it.
func TestClockWasSet(t *testing.T) {
	s := fill(t, 1)
	t.Setenv("FAIRSPOOL_NOW", "")
	negotiate("-q")
	p := accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}
	account := func(change func(r accountant.Record, now time.Time) accountant.Record) {
		t.Helper()
		testenv.OK(t, s.Update(func(tx *spool.Tx) error {
			tx.Op("test")
			r, _ := tx.Submitter(alice)
			tx.PutSubmitter(change(r, time.Now().Add(time.Hour)))
			return nil
		}))
	}
	clock := func() (c accountant.Clock) {
		t.Helper()
		if err := s.View(func(v *spool.View) (err error) {
			c, err = accountant.ParseClock(v.Mark(accountant.ClockMark))
			return err
		}); err != nil || !c.Known() {
			t.Fatalf("the spool keeps the clock %v, %v", c, err)
		}
		return c
	}
	right := clock()
	ahead := right // until the clock was set back by an hour
	ahead.Offset += time.Hour
	if err := s.Update(func(tx *spool.Tx) error { tx.Op("test"); tx.PutMark(accountant.ClockMark, ahead.String()); return nil }); err != nil {
		t.Fatal(err)
	}
	account(func(r accountant.Record, now time.Time) accountant.Record {
		return r.Start(now.Add(-10*time.Minute), accountant.One, p)
	})
	if status, _, bad := negotiate("-q"); status != 0 || bad != "" || clock() != ahead {
		t.Errorf("negotiate = %d, complains %q, and the pool's clock is %v, want %v and nothing said", status, bad, clock(), ahead)
	}
	if status, out, _ := negotiate("-health"); status == 0 || !strings.Contains(out, "clock was set back by 1:00:00 while") {
		t.Errorf("negotiate -health = %d, %q, want a failure and that the clock was set back by an hour", status, out)
	}
	testenv.OK(t, s.View(func(v *spool.View) error {
		r, _ := v.Submitter(alice)
		r = r.AsOf(time.Now().Add(time.Hour), p)
		if got := r.Slots.Seconds(); got < 599 || got > 900 {
			t.Errorf("used for %v s, want ten minutes and a little", got)
		}
		return nil
	}))
	account(func(r accountant.Record, now time.Time) accountant.Record {
		r = accountant.Record{Name: alice, Priority: 1, HalfLife: time.Hour}
		r.At = now.Add(-2 * time.Hour)
		return r
	})
	negotiate("-q")
	if d := clock().Offset - right.Offset; d.Abs() > time.Minute {
		t.Errorf("at rest the pool's clock is %v from the machine's", d)
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

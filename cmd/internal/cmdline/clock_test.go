package cmdline

import (
	"testing"
	"time"

	"fairspool/lib/accountant"
)

// readings runs a command, and returns what it reads of the clock at its start
// and, twice, later; and the machine's clock before and after.
func readings(t *testing.T, args ...string) (at, later, last accountant.Reading, from, to time.Time) {
	t.Helper()
	alone(t)
	from = time.Now().Round(0)
	if status, _, bad := execute(func(c *Call) error {
		at, later = c.Reading(), c.Later()
		last = c.Later()
		return nil
	}, args...); status != 0 {
		t.Fatalf("exit status %d: %s", status, bad)
	}
	return at, later, last, from, time.Now().Round(0)
}

// TestReading holds that a command without a time of its own has the machine's,
// and knows the clock that it has it from.
func TestReading(t *testing.T) {
	at, later, last, from, to := readings(t)
	if at.Now.Before(from) || later.Now.Before(at.Now) || last.Now.Before(later.Now) || last.Now.After(to) {
		t.Errorf("read %v, %v and %v between %v and %v", at.Now, later.Now, last.Now, from, to)
	}
	if at.Clock.Boot != later.Clock.Boot || !at.Clock.Known() {
		t.Errorf("the clock is %v, then %v, want one and the same boot", at.Clock, later.Clock)
	}
	// No clock of a machine that runs tests is set meanwhile; between reading two
	// of them time passes.
	if d := last.Clock.Offset - at.Clock.Offset; d.Abs() > to.Sub(from)+time.Millisecond {
		t.Errorf("the clock was set by %v", d)
	}
	if got, err := accountant.ParseClock(at.Clock.String()); err != nil || got != at.Clock {
		t.Errorf("ParseClock(%q) = %v, %v, want what it was", at.Clock.String(), got, err)
	}
	if up := at.Now.Sub(at.Clock.Booted()); up <= 0 || up > 20*365*24*time.Hour {
		t.Errorf("booted %v ago, at %v", up, at.Clock.Booted())
	}
}

// TestReadingOfTheUsersOwn holds that a time that was given goes on from there,
// and says nothing of the machine's clock.
func TestReadingOfTheUsersOwn(t *testing.T) {
	at, later, last, from, to := readings(t, "-now", "2026-01-02T12:00:00Z")
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	if !at.Now.Equal(noon) || later.Now.Before(noon) || last.Now.Before(later.Now) || last.Now.Sub(noon) > to.Sub(from)+time.Second {
		t.Errorf("read %v, %v and %v within %v, want %v and on", at.Now, later.Now, last.Now, to.Sub(from), noon)
	}
	if at.Clock.Known() || last.Clock.Known() {
		t.Errorf("the clock is %v and %v, want nothing known", at.Clock, last.Clock)
	}
	if at.Ahead != 0 || last.Ahead != 0 {
		t.Errorf("%v is %v and then %v ahead, want it to be behind", noon, at.Ahead, last.Ahead)
	}
	// What goes on from a time that was taken is not asked again how far ahead it is.
	at, later, _, from, to = readings(t, "-now", "253402300799")
	if want := at.Now.Sub(from); at.Ahead > want || at.Ahead < at.Now.Sub(to) || later.Ahead != 0 {
		t.Errorf("%v is %v and then %v ahead, want %v and 0", at.Now, at.Ahead, later.Ahead, want)
	}
}

package cmdline

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Reading returns Now and the pool's clock: where Now is the user's own, by -now or
// FAIRSPOOL_NOW, only how far it is ahead of the machine's, and with Force not even that.
func (c *Call) Reading() accountant.Reading {
	if !c.simulated {
		return readingOf(c.Now, c.up)
	}
	r := accountant.Reading{Now: c.Now}
	if !c.Has(Force.Name) {
		r.Ahead = max(0, c.ahead)
	}
	return r
}

// MachineClock returns the time of the machine's clock, even if the pool has another
// time.
func MachineClock() accountant.Reading { return readingOf(readClocks()) }

// Uptime names the boot of this machine, empty if it has no name, and returns the time since that boot,
// suspended or not. Neither a change of the clock nor -now changes it.
func Uptime() (boot string, up time.Duration) { return bootName(), sinceBoot() }

// Pace makes Now the pool's time, which is the spool's from now on: by the clock that the spool
// keeps for this boot. After another boot the pool's time is the machine's, but not before
// the last event. A Now of the user's own stays.
func (c *Call) Pace(s *spool.Spool) {
	at := c.Reading()
	if !at.Clock.Known() {
		return
	}
	// What keeps the spool from being read is for whoever asks it for more to tell.
	s.View(func(v *spool.View) error {
		kept, err := accountant.ParseClock(v.Mark(accountant.ClockMark))
		if err != nil || !kept.Known() {
			return nil
		}
		if at = at.By(kept); kept.Boot != at.Clock.Boot {
			if last := pool.LastEvent(v, spool.Flocked.All(v), time.Time{}); last.After(at.Now) {
				at.Now = last.Local()
			}
		}
		return nil
	})
	c.Now = at.Now
	s.At(c.Now)
}

// OwnTime reports whether Now is the user's own, by -now or FAIRSPOOL_NOW.
func (c *Call) OwnTime() bool { return c.simulated }

// Force is the flag of the commands that record events of the accounts: they refuse a
// time of the user's own that is far ahead of the machine's clock otherwise.
var Force = Flag{Name: "force", Help: "accept a -now that is more than a day ahead of the machine's clock, even if the accounts go by that clock"}

// Later returns Now plus the time that has really passed since, even if the machine's clock
// was set or the machine suspended meanwhile.
func (c *Call) Later() accountant.Reading { return c.Again().Reading() }

// readingOf returns a time, and the clock that says so when the machine was booted so long ago.
func readingOf(now time.Time, up time.Duration) accountant.Reading {
	boot := bootName()
	if boot == "" {
		return accountant.Reading{Now: now}
	}
	offset := now.Sub(time.Unix(0, 0)) - up
	return accountant.Reading{Now: now, Clock: accountant.Clock{Boot: boot, Offset: offset.Round(time.Millisecond)}}
}

// readClocks returns the wall clock and the time since the boot, of the same
// moment. Where the process was kept waiting between the two it tries again.
func readClocks() (now time.Time, up time.Duration) {
	const tries, close = 5, time.Millisecond
	least := time.Duration(0)
	for try := range tries {
		before := sinceBoot()
		t := time.Now().Round(0)
		after := sinceBoot()
		if d := after - before; try == 0 || d < least {
			now, up, least = t, before+d/2, d
		}
		if least < close {
			break
		}
	}
	return now, up
}

// sinceBoot returns how long ago the machine was booted, suspended or not. Every Linux since 2.6.39
// tells.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// bootName names the time since the boot: the boot and, as containers may count
// from another moment, the time namespace. It is empty where the boot has no
// name, and the same for as long as a process lives.
var bootName = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	name := strings.TrimSpace(string(id))
	if space, err := os.Readlink("/proc/self/ns/time"); err == nil {
		name += "/" + space
	}
	if strings.ContainsAny(name, " \t\n") {
		return ""
	}
	return name
})

// maxTime is the last second of the year 9999.
const maxTime = 253402300799

// ParseTime reads a point in time: Unix seconds, whole or with up to nine
// decimals, or RFC 3339 ("2026-11-21T08:00:00Z"). It lies between 1970 and
// 9999 and is returned in the local time zone.
func ParseTime(text string) (time.Time, error) {
	t, ok := unixTime(text)
	if !ok {
		var err error
		if t, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return time.Time{}, fmt.Errorf("%q: want Unix seconds or a time like 2026-11-21T08:00:00Z", text)
		}
	}
	if t.Unix() < 0 || t.Unix() > maxTime {
		return time.Time{}, fmt.Errorf("%q: want a time between 1970 and 9999", text)
	}
	return t.Local(), nil
}

// unixTime reads seconds since 1970 without going through a float, which
// would blur the milliseconds.
func unixTime(text string) (time.Time, bool) {
	whole, part, dot := strings.Cut(text, ".")
	seconds, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || dot && part == "" || len(part) > 9 {
		return time.Time{}, false
	}
	nanos := uint64(0)
	if dot {
		if nanos, err = strconv.ParseUint(part+strings.Repeat("0", 9-len(part)), 10, 63); err != nil {
			return time.Time{}, false
		}
	}
	if seconds > maxTime {
		seconds = maxTime + 1
	}
	return time.Unix(int64(seconds), int64(nanos)), true
}

// lengths are the letters that a length of time may end in.
var lengths = map[byte]time.Duration{
	's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
}

// longest is how long ago a point in time may be when it is told by a length.
const longest = 100 * 365 * 24 * time.Hour

// ParseSince reads a point in time as ParseTime does, a day, which begins at
// midnight by now's time zone, or a length of time before now: a number and one
// letter of s, m, h, d and w.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if t, ok := before(text, now); ok {
		return t, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil && day.Unix() >= 0 {
		return day, nil
	}
	t, err := ParseTime(text)
	if err != nil {
		return t, fmt.Errorf("%w, a day like 2026-11-21, or so long ago, like 90m, 2h or 1d", err)
	}
	return t, nil
}

// ParseComing reads a point in time to come: + and a length of time with one letter of s, m, h, d and w, counted from
// from; now, which is from; a date with an hour in from's time zone; or a time that ParseSince reads, except a length
// of time.
func ParseComing(text string, from time.Time) (time.Time, error) {
	if text == "now" {
		return from, nil
	}
	if length, plus := strings.CutPrefix(text, "+"); plus {
		if t, ok := before(length, from); ok {
			return from.Add(from.Sub(t)), nil
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, from.Location()); err == nil && t.Unix() >= 0 {
			return t, nil
		}
	}
	t, err := ParseTime(text)
	if err != nil {
		return t, fmt.Errorf("%w, a time like \"2026-11-21 08:00\", a day like 2026-11-21, or a length from now on, like +2h or +1d", err)
	}
	return t, nil
}

// before reads a length of time.
func before(text string, now time.Time) (time.Time, bool) {
	n := len(text) - 1
	if n < 1 {
		return now, false
	}
	unit, ok := lengths[text[n]]
	f, err := strconv.ParseFloat(text[:n], 64)
	if !ok || err != nil || !(f >= 0 && f*float64(unit) <= float64(longest)) {
		return now, false
	}
	return now.Add(-time.Duration(f * float64(unit))), true
}

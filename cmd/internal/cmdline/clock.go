package cmdline

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/accountant"
)

// Reading returns Now and what there is to know of the machine's clock as of
// then: where Now is the user's own, by -now or FAIRSPOOL_NOW, only how far it is ahead,
// and with Force not even that.
func (c *Call) Reading() accountant.Reading {
	r := c.reading(c.Now, c.up)
	if c.simulated && !c.Has(Force.Name) {
		r.Ahead = max(0, c.ahead)
	}
	return r
}

// OwnTime reports whether Now is the user's own, by -now or FAIRSPOOL_NOW.
func (c *Call) OwnTime() bool { return c.simulated }

// Force is the flag of the commands that record events of the accounts: they refuse a
// time of the user's own that is far ahead of the machine's clock otherwise.
var Force = Flag{Name: "force", Help: "take a -now that is more than a day ahead of the machine's clock, also where the accounts go by that"}

// Later returns what the policy time is by now, and the clock as of then: what the
// machine's clock says or, where the call's Now is the user's own, that and
// what has passed since the call began. A machine that was suspended meanwhile
// makes no difference.
func (c *Call) Later() accountant.Reading {
	now, up := readClocks()
	if c.simulated {
		now = c.Now.Add(up - c.up)
	}
	return c.reading(now, up)
}

func (c *Call) reading(now time.Time, up time.Duration) accountant.Reading {
	if c.simulated {
		return accountant.Reading{Now: now}
	}
	boot := bootName()
	if boot == "" || up == 0 {
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

// sinceBoot returns how long ago the machine was booted, suspended or not; 0
// where it does not tell.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// bootName names the time since the boot: the boot and, as containers may count
// from another moment, the time namespace. It is empty where the boot has no
// name.
func bootName() string {
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
}

package launch

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// ParseSignal reads a signal's name, with or without SIG and in any case, or
// its number, 1 to 64.
func ParseSignal(text string) (syscall.Signal, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > 64 {
			return 0, fmt.Errorf("%s: want a signal number from 1 to 64", text)
		}
		return syscall.Signal(n), nil
	}
	name := strings.ToUpper(text)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	if s := unix.SignalNum(name); s != 0 {
		return s, nil
	}
	return 0, fmt.Errorf("%q: not the name of a signal", text)
}

// attrHoldKillSig is the signal for a job that is held.
const attrHoldKillSig = "HoldKillSig"

// Leaving is why a job is told to leave its machine.
type Leaving int

// Why a job may have to leave.
const (
	Vacated Leaving = iota // it is to run again
	Removed                // it was removed
	Held                   // it was held
)

// KillSignal returns the signal that asks a job to leave its machine:
// RemoveKillSig when it is being removed and has one, HoldKillSig likewise when it
// is held, else KillSig, else SIGTERM (manual, "Details About How HTCondor Jobs
// Vacate Machines"), or SIGTSTP for a job of the standard universe. An attribute
// that names no signal counts as missing: the job has to go in any case.
func KillSignal(ad *classad.Ad, why Leaving) syscall.Signal {
	names := []string{pool.AttrKillSig}
	switch why {
	case Removed:
		names = []string{pool.AttrRemoveKillSig, pool.AttrKillSig}
	case Held:
		names = []string{attrHoldKillSig, pool.AttrKillSig}
	}
	for _, name := range names {
		v := ad.Eval(&classad.Context{}, name, nil)
		text, ok := v.Text()
		if n, isInt := v.Int(); isInt {
			text, ok = strconv.FormatInt(n, 10), true
		}
		if !ok {
			continue
		}
		if sig, err := ParseSignal(strings.TrimSpace(text)); err == nil {
			return sig
		}
	}
	if n, ok := ad.EvalInt(&classad.Context{}, pool.AttrJobUniverse); ok && pool.Universe(n) == pool.Standard {
		return syscall.SIGTSTP
	}
	return syscall.SIGTERM
}

// VacateTime returns how long a job may take to leave after the kill signal:
// JobMaxVacateTime, else KillSigTimeout (both in seconds), and never more than
// the machine allows, which is also what a job gets that asks for nothing. A
// time below zero is none.
func VacateTime(ad *classad.Ad, machine time.Duration) time.Duration {
	for _, name := range []string{pool.AttrMaxVacateTime, pool.AttrKillSigTimeout} {
		seconds, ok := ad.EvalNumber(&classad.Context{}, name)
		if !ok {
			continue
		}
		// Compared as numbers, for a great many seconds overflow a Duration, and
		// the wrong way round for a NaN.
		if !(seconds < machine.Seconds()) {
			return machine
		}
		return time.Duration(max(seconds, 0) * float64(time.Second))
	}
	return machine
}

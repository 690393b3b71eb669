package launch

import (
	"fmt"
	"math"
	"os"
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

// Leaving is the reason why a job must leave its machine.
type Leaving int

// Why a job may have to leave.
const (
	Vacated   Leaving = iota // it was told to, or is at a limit of its own, and is to run again
	Removed                  // it was removed
	Held                     // it was held
	Preempted                // another job is to have its slot
	Drained                  // its machine is to be empty
)

// Retires reports whether a job that leaves for this reason is let run for its retirement
// time first: the reason is neither the job's own nor its owner's.
func (why Leaving) Retires() bool { return why == Preempted || why == Drained }

// KillSignal returns the signal that asks a job to leave its machine: RemoveKillSig when
// it is being removed and has one, HoldKillSig likewise when it is held, else KillSig,
// else SIGTERM (manual, "Details About How HTCondor Jobs Vacate Machines"). A job of the
// standard universe gets SIGTSTP in the place of SIGTERM if handles reports that the
// job's own process catches it: a process that does not would only be stopped by it. nil
// catches nothing. It is SIGKILL for a job that is removed and has WantGracefulRemoval =
// false. An attribute with an invalid signal counts as missing: the job has to go in any
// case.
func KillSignal(ad *classad.Ad, why Leaving, handles func(syscall.Signal) bool) syscall.Signal {
	names := []string{pool.AttrKillSig}
	switch why {
	case Removed:
		if graceful, ok := ad.EvalBool(&classad.Context{}, pool.AttrWantGracefulRemoval); ok && !graceful {
			return syscall.SIGKILL
		}
		names = []string{pool.AttrRemoveKillSig, pool.AttrKillSig}
	case Held:
		names = []string{pool.AttrHoldKillSig, pool.AttrKillSig}
	}
	for _, name := range names {
		if sig, ok := signalOf(ad, name); ok {
			return sig
		}
	}
	n, ok := ad.EvalInt(&classad.Context{}, pool.AttrJobUniverse)
	if ok && pool.Universe(n) == pool.Standard && handles != nil && handles(syscall.SIGTSTP) {
		return syscall.SIGTSTP
	}
	return syscall.SIGTERM
}

// signalOf returns the signal that an attribute names.
func signalOf(ad *classad.Ad, name string) (syscall.Signal, bool) {
	v := ad.Eval(setting, name, nil)
	text, ok := v.Text()
	if n, isInt := v.Int(); isInt {
		text, ok = strconv.FormatInt(n, 10), true
	}
	if !ok {
		return 0, false
	}
	sig, err := ParseSignal(strings.TrimSpace(text))
	return sig, err == nil
}

// Handles reports whether a process catches a signal by a function of its own. One that
// cannot be looked at, or is gone, does not.
func Handles(pid int, sig syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && isIn("SigCgt:", string(status), sig)
}

// Drops reports whether the kernel drops a signal that would end a process, as it does if this is the first one of a container and
// does nothing about the signal.
func Drops(pid int, sig syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	switch sig {
	case unix.SIGKILL, unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT, unix.SIGCHLD, unix.SIGURG, unix.SIGWINCH:
		return false
	}
	return err == nil && !isIn("SigCgt:", string(status), sig) && !isIn("SigIgn:", string(status), sig)
}

// isIn reports whether a set of signals has one, by what proc(5) says of a process: bit
// n-1 of SigCgt or SigIgn, a hexadecimal number, is signal n.
func isIn(set, status string, sig syscall.Signal) bool {
	for line := range strings.Lines(status) {
		if mask, ok := strings.CutPrefix(line, set); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && sig >= 1 && sig <= 64 && bits>>(sig-1)&1 == 1
		}
	}
	return false
}

// longest is a time that no job and no machine needs, but that a Duration holds.
const longest = 1e9 * time.Second

// durationOf returns a number of seconds as a time from 0 to longest; ok is false for a
// NaN.
func durationOf(seconds float64) (d time.Duration, ok bool) {
	switch {
	case math.IsNaN(seconds):
		return 0, false
	case seconds >= longest.Seconds():
		return longest, true
	}
	return time.Duration(max(seconds, 0) * float64(time.Second)), true
}

// VacateTime returns how long a job may take to leave after the kill signal:
// JobMaxVacateTime, else KillSigTimeout (both in seconds; a negative time is ignored),
// but no more than the machine allows, which is also the default. A job that asks for
// more may use what remains of its retirement time for it, if that is more than the
// machine allows. Source: condor.md's section on vacating, HTCondor's
// Resource::evalMaxVacateTime.
func VacateTime(ad *classad.Ad, machine, remaining time.Duration) time.Duration {
	for _, name := range []string{pool.AttrMaxVacateTime, pool.AttrKillSigTimeout} {
		seconds, ok := ad.EvalNumber(&classad.Context{}, name)
		if !ok {
			continue
		}
		if asked, ok := durationOf(seconds); ok {
			return min(asked, max(machine, remaining))
		}
	}
	return machine
}

// Retirement returns how long a job may run, from its start on, though another is to have
// its slot or its machine is to be empty: the slot's MaxJobRetirementTime, else limit,
// evaluated with the slot as MY and the job as TARGET, both in seconds. The job's own
// MaxJobRetirementTime may shorten it. A value that is no number counts as 0 for the
// slot, and as missing for the job. It is for a Leaving that Retires.
func Retirement(c *classad.Context, limit *classad.Expr, slot, job *classad.Ad) time.Duration {
	v := limit.Eval(c, slot, job)
	if slot.Has(pool.AttrMaxJobRetirementTime) {
		v = slot.Eval(c, pool.AttrMaxJobRetirementTime, job)
	}
	seconds, _ := v.Number()
	allowed, _ := durationOf(seconds)
	if wants, ok := job.Eval(c, pool.AttrMaxJobRetirementTime, slot).Number(); ok {
		if d, ok := durationOf(wants); ok {
			return min(d, allowed)
		}
	}
	return allowed
}

// Retiring returns how long a job that has run for ran may still run before it is told to
// leave, and how long it may then take. Together they end with its retirement time, even
// if it takes all the time that it may, or as soon as the machine allows. A job that does
// not retire is told at once, with a retirement of 0. Source: HTCondor's
// Resource::retirementExpired.
func Retiring(ad *classad.Ad, machine, retirement, ran time.Duration) (wait, vacate time.Duration) {
	remaining := max(retirement-max(ran, 0), 0)
	vacate = VacateTime(ad, machine, remaining)
	return max(remaining-vacate, 0), vacate
}

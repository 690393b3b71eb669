package launch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

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

// Leaving is why a job is told to leave its machine.
type Leaving int

// Why a job may have to leave.
const (
	Vacated   Leaving = iota // it was told to, or is at a limit of its own, and is to run again
	Removed                  // it was removed
	Held                     // it was held
	Preempted                // another job is to have its slot
	Drained                  // its machine is to be empty
)

// Retires tells whether a job that leaves for this reason is let run for its retirement
// time first: the reason is not its own, nor that of whoever it belongs to.
func (why Leaving) Retires() bool { return why == Preempted || why == Drained }

// KillSignal returns the signal that asks a job to leave its machine:
// RemoveKillSig when it is being removed and has one, HoldKillSig likewise when it
// is held, else KillSig, else SIGTERM (manual, "Details About How HTCondor Jobs
// Vacate Machines"). A job of the standard universe gets SIGTSTP in the place of
// SIGTERM if handles, which tells what the job's own process catches, says so: one
// that does not would only be stopped by it. nil catches nothing. It is SIGKILL for a
// job that is removed and whose WantGracefulRemoval is false. An attribute that names no
// signal counts as missing: the job has to go in any case.
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
	v := ad.Eval(&classad.Context{}, name, nil)
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

// Handles tells whether a process catches a signal by a function of its own. One that
// cannot be looked at, or is gone, does not.
func Handles(pid int, sig syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && catches(string(status), sig)
}

// catches reads the signals that are caught from what proc(5) says of a process: bit
// n-1 of SigCgt, a hexadecimal number, is signal n.
func catches(status string, sig syscall.Signal) bool {
	for line := range strings.Lines(status) {
		if mask, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && sig >= 1 && sig <= 64 && bits>>(sig-1)&1 == 1
		}
	}
	return false
}

// Package postpone keeps signals from a process for as long as it has a lock: one that stops a process
// which has a lock stops all that wait for the lock.
package postpone

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stopping are the signals by which a terminal stops a process.
var Stopping = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

// postponing is what this process does with the signals that stop it, for as long as it has locks.
// Package signal never takes its handler of such a signal away, and without a channel the handler drops
// the signal. So sigaction(2) puts the handler in and takes it out, without SIG_IGN in between, at which
// the kernel forgets a pending signal; and the channel stays for ever. A signal that is on its way when
// the last lock is freed comes to the channel or stops the process.
var postponing struct {
	sync.Mutex
	locks    int
	came     []os.Signal
	coming   chan os.Signal            // nil: there was no lock so far
	handlers map[syscall.Signal]action // Go's
	before   map[syscall.Signal]action // what the signals did before the first of the locks
}

// Signals keeps signals from the process until release is called, which sends it those that came. The
// list has all of Stopping, or nothing.
func Signals(signals []os.Signal) (release func()) {
	if len(signals) == 0 {
		return func() {}
	}
	holdStops()
	ends := make(chan os.Signal, 8)
	if signals = slices.DeleteFunc(slices.Clone(signals), isStop); len(signals) > 0 {
		signal.Notify(ends, signals...)
	}
	return func() {
		var all []os.Signal
		if len(signals) > 0 {
			signal.Stop(ends)
			for len(ends) > 0 {
				all = with(all, <-ends)
			}
		}
		all = append(all, freeStops()...)
		for _, sig := range all {
			syscall.Kill(os.Getpid(), sig.(syscall.Signal))
		}
	}
}

func isStop(sig os.Signal) bool { return slices.Contains(Stopping, sig) }

// holdStops keeps signals that stop the process from doing so.
func holdStops() {
	p := &postponing
	p.Lock()
	defer p.Unlock()
	if p.locks++; p.locks > 1 {
		return
	}
	p.before = map[syscall.Signal]action{}
	for _, sig := range Stopping {
		p.before[sig.(syscall.Signal)] = actionOf(sig.(syscall.Signal))
	}
	if p.coming == nil {
		p.coming, p.handlers = make(chan os.Signal, 8), map[syscall.Signal]action{}
		signal.Notify(p.coming, Stopping...)
		for sig := range p.before {
			p.handlers[sig] = actionOf(sig)
		}
		go collectStops()
	}
	for sig, a := range p.before {
		if !a.handles() {
			p.handlers[sig].put(sig)
		}
	}
}

// freeStops ends that for one lock, and returns the signals that came, if it was the last.
func freeStops() (came []os.Signal) {
	p := &postponing
	p.Lock()
	defer p.Unlock()
	if p.locks--; p.locks > 0 {
		return nil
	}
	for sig, a := range p.before {
		if !a.handles() {
			a.put(sig)
		}
	}
	came, p.came = p.came, nil
	return came
}

// collectStops notes the signals that come while there are locks. One that comes behind them was on
// its way: the process heeds it now, unless a handler of its own has it.
func collectStops() {
	p := &postponing
	for s := range p.coming {
		sig := s.(syscall.Signal)
		p.Lock()
		late := p.locks == 0
		if !late {
			p.came = with(p.came, sig)
			if sig != syscall.SIGTSTP && !p.before[sig].handles() {
				ignored.put(sig) // or the kernel has the use of the terminal tried again for ever
			}
		}
		p.Unlock()
		if late && !actionOf(sig).handles() {
			syscall.Kill(os.Getpid(), sig)
		}
	}
}

// with adds a signal to a list of different ones.
func with(all []os.Signal, sig os.Signal) []os.Signal {
	if slices.Contains(all, sig) {
		return all
	}
	return append(all, sig)
}

// action is what the kernel does at a signal: its struct sigaction, which begins with the handler.
type action [64]byte

func actionOf(sig syscall.Signal) (a action) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&a)), signalSet, 0, 0)
	return a
}

const signalSet = 8 // bytes

// ignored is the action that lets a signal come to nothing.
var ignored = action{ignore}

const ignore = 1 // SIG_IGN as a handler; 0 is SIG_DFL

// handles reports whether the action is a handler of the program's.
func (a action) handles() bool { return *(*uintptr)(unsafe.Pointer(&a)) > ignore }

// put makes it what the kernel does at a signal. A signal that is pending is not lost, unless it is
// ignored from now on.
func (a action) put(sig syscall.Signal) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&a)), 0, signalSet, 0, 0)
}

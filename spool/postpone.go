package spool

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Signals of a terminal. One that stops a process which has a lock stops all that wait for the lock.
var (
	stopping = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}
	ending   = []os.Signal{syscall.SIGINT, syscall.SIGQUIT}
)

// postponed returns the signals that have to wait for the end of what is done under a lock. Those
// that end the process are not among them for a cycle, which may take long, and leaves nothing to be
// repaired. A process that watches over a machine may be stopped.
func (o Options) postponed(lock string) []os.Signal {
	switch lock {
	case "lock":
		if o.OwnSignals {
			return stopping
		}
		return slices.Concat(stopping, ending)
	case "negotiate.lock", "fold.lock":
		return stopping
	}
	return nil
}

// postponing counts the locks of this process for which signals are postponed.
var postponing struct {
	sync.Mutex
	locks  int
	before map[syscall.Signal]action // of the signals that stop it, before the first of them
}

// postpone keeps signals from the process until release is called, which sends it those that came.
func postpone(signals []os.Signal) (release func()) {
	if len(signals) == 0 {
		return func() {}
	}
	coming, over, came := make(chan os.Signal, 8), make(chan struct{}), make(chan []os.Signal)
	postponing.Lock()
	if postponing.locks++; postponing.locks == 1 {
		postponing.before = map[syscall.Signal]action{}
		for _, sig := range stopping {
			postponing.before[sig.(syscall.Signal)] = actionOf(sig.(syscall.Signal))
		}
	}
	signal.Notify(coming, signals...)
	postponing.Unlock()
	go collect(coming, over, came)
	return func() {
		close(over)
		all := <-came // before what the signals do is restored: collect may change that
		postponing.Lock()
		signal.Stop(coming)
		for len(coming) > 0 {
			all = with(all, <-coming)
		}
		if postponing.locks--; postponing.locks == 0 {
			for sig, a := range postponing.before {
				a.restore(sig)
			}
		}
		postponing.Unlock()
		for _, sig := range all {
			syscall.Kill(os.Getpid(), sig.(syscall.Signal))
		}
	}
}

// collect sends all signals that come until it is over.
func collect(coming <-chan os.Signal, over <-chan struct{}, came chan<- []os.Signal) {
	var all []os.Signal
	for {
		select {
		case sig := <-coming:
			all = with(all, sig)
			if sig == syscall.SIGTTIN || sig == syscall.SIGTTOU {
				signal.Ignore(sig) // or the kernel has the use of the terminal tried again for ever
			}
		case <-over:
			came <- all
			return
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

// restore gives a signal back an action that is no handler of Go's: package signal does not, for
// signals that stop a process.
func (a action) restore(sig syscall.Signal) {
	const ignore = 1
	if handler := *(*uintptr)(unsafe.Pointer(&a)); handler > ignore {
		return
	}
	signal.Ignore(sig) // so that Go knows that its handler is gone
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&a)), 0, signalSet, 0, 0)
}

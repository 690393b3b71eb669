package launch

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// How late a timer of a process may be (PR_SET_TIMERSLACK, prctl(2)). A process inherits that of the thread that
// starts it.
const (
	usualSlack = 50 * time.Microsecond // of every process that nobody has set another for
	lazySlack  = 2 * time.Millisecond
)

// Lazily calls start, which starts a supervisor, such that the supervisor's timers may be 2 ms late. Go's
// runtime looks every 20 µs after threads that wait for the kernel: of a supervisor that runs one short job after the other
// that took a sixth of the processor time. The jobs have usual timers. It changes nothing for a caller whose timers
// are unusual themselves.
func Lazily(start func()) { withSlack(usualSlack, lazySlack, start) }

// promptly calls start, which starts a job, such that the job's timers are as usual in a supervisor started by Lazily.
func promptly(start func()) { withSlack(lazySlack, usualSlack, start) }

// withSlack calls fn on one thread, whose timers may be as late as now for that time, if that is was for them before.
func withSlack(was, now time.Duration, fn func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil && time.Duration(before) == was {
		unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(now), 0, 0, 0)
		defer unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(was), 0, 0, 0)
	}
	fn()
}

package launch

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// How late a timer of a process may be (PR_SET_TIMERSLACK, prctl(2)). A process inherits this from the thread
// that starts it.
const (
	usualSlack = 50 * time.Microsecond // the default of processes
	lazySlack  = 2 * time.Millisecond
)

// Lazily calls start, which starts a supervisor, such that the supervisor's timers may be 2 ms late. Go's runtime
// checks every 20 µs on threads that wait for the kernel: in a supervisor that runs one short job after another this
// took a sixth of the processor time. The jobs have usual timers. Lazily changes nothing for a caller with unusual
// timers.
func Lazily(start func()) { withSlack(usualSlack, lazySlack, start) }

// promptly calls start, which starts a job, such that the job's timers are as usual in a supervisor started by Lazily.
func promptly(start func()) { withSlack(lazySlack, usualSlack, start) }

// withSlack calls fn on one thread with timer slack now, if the thread's slack was the given one before.
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

package family

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// reapOn takes away adopted children when they have ended, lest they gather, until
// ended is closed.
func (f *Family) reapOn(ended <-chan struct{}) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	defer signal.Stop(died)
	f.reap() // what ended before we were told
	for {
		select {
		case <-died:
			f.reap()
		case <-ended:
			return
		}
	}
}

// reap takes away the adopted children that have ended. The job's own process, and
// programs that we run for ourselves, are for those to wait for who started them.
func (f *Family) reap() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.removed {
		return // by now they may be another family's
	}
	for _, pid := range children("self") {
		if pid != f.leader && f.adopted(pid) {
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// adopted tells whether a child of ours has another session than we have. Nothing that the
// job started is in ours: a session is inherited or new, and the job has its own.
func (f *Family) adopted(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && session != f.session
}

// childless tells whether we have no child at all, when those that have ended are
// reaped.
func (f *Family) childless() bool {
	none := func() bool {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		return err == unix.ECHILD
	}
	if none() {
		return true
	}
	f.reap()
	return none()
}

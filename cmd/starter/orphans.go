package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// adopt makes this process, instead of init, the parent of all orphans among
// its descendants. So a supervisor finds what its job has started, also what
// left the job's process group and closed the claim's lock, as daemons do.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl: %w", err)
	}
	return nil
}

// children returns the process ids of this process's children. One may be
// missing when another ends at that moment.
func children() []int { return childrenOf("self") }

// reapOrphans takes away adopted children when they have ended, lest they
// gather while the job runs. The job's own process is left to lib/launch.
func reapOrphans(job int) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	for range ended {
		for _, pid := range children() {
			if pid != job {
				unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
	}
}

// endOrphans kills all children and what these leave behind in their turn,
// when the job's own process has been reaped, and waits for that at most so
// long. A process that is there even then is stuck in the kernel and runs no
// more of its own code.
func endOrphans(patience time.Duration) error {
	for end := time.Now().Add(patience); !childless(); time.Sleep(time.Millisecond) {
		left := children()
		for _, pid := range left {
			unix.Kill(pid, unix.SIGKILL) // until it is reaped the number is its own
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes that the job left behind are still there %v after SIGKILL", len(left), patience)
		}
	}
	return nil
}

// childless reaps the children that have ended and tells whether none is left.
func childless() bool {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case err == unix.ECHILD:
			return true
		case err == nil && pid == 0:
			return false
		}
	}
}

// handNothingOn keeps files that our caller left open, such as the lock of a
// flock(1) in a crontab, from the processes that we start, which would keep
// them open for as long as a job runs.
func handNothingOn() {
	files, _ := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

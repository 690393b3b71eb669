package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

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

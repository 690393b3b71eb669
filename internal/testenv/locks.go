package testenv

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Opened watches a file and returns a function that waits until some process opens it from
// now on, be it for reading.
func Opened(t testing.TB, path string) (wait func()) {
	t.Helper()
	return watched(t, path, unix.IN_OPEN, "is opened")
}

// Refused watches the lock file of a spool, which somebody holds, and returns a function that
// waits until some process has tried to take the lock from now on: for each try it opens the
// file for writing, and closes it again.
func Refused(t testing.TB, path string) (wait func()) {
	t.Helper()
	return watched(t, path, unix.IN_CLOSE_WRITE, "is refused to a process that asks for it")
}

func watched(t testing.TB, path string, events uint32, what string) (wait func()) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err == nil {
		t.Cleanup(func() { unix.Close(fd) })
		_, err = unix.InotifyAddWatch(fd, path, events)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("inotify: %s: %w", path, err))
	}
	return func() {
		t.Helper()
		Until(t, path+" "+what, func() bool {
			n, err := unix.Read(fd, make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1))
			if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
				t.Fatal(os.NewSyscallError("read", err))
			}
			return n > 0
		})
	}
}

package testenv

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Opened watches a file and returns a function that waits until some process opens it from
// now on: a process that waits for a lock opens the lock's file for each try.
func Opened(t testing.TB, path string) (wait func()) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err == nil {
		t.Cleanup(func() { unix.Close(fd) })
		_, err = unix.InotifyAddWatch(fd, path, unix.IN_OPEN)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("inotify: %s: %w", path, err))
	}
	return func() {
		t.Helper()
		Until(t, path+" is opened", func() bool {
			n, err := unix.Read(fd, make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1))
			if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
				t.Fatal(os.NewSyscallError("read", err))
			}
			return n > 0
		})
	}
}

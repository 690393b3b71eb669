package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Opened watches a file and returns a function that waits until some process opens it from
// now on, be it for reading.
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

// UntilWaiting waits until a process waits for the lock on a file of a spool, which another process
// has: it has the file open for writing, as readers never have.
func UntilWaiting(t testing.TB, pid int, path string) {
	t.Helper()
	Until(t, fmt.Sprintf("process %d waits for %s", pid, path), func() bool { return opensForWriting(pid, path) })
}

// opensForWriting reports whether a process has a file open for writing.
func opensForWriting(pid int, path string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || to != path {
			continue
		}
		info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, filepath.Base(link)))
		_, rest, _ := strings.Cut(string(info), "flags:\t")
		text, _, _ := strings.Cut(rest, "\n")
		if flags, err := strconv.ParseUint(text, 8, 64); err == nil && flags&unix.O_ACCMODE == unix.O_RDWR {
			return true
		}
	}
	return false
}

// Package stir says when something is written to a spool.
package stir

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// calm is how often a watch looks at a spool though nothing stirs there.
	calm = time.Second
	// blind is how often it does where the system does not say when something stirs.
	blind = 100 * time.Millisecond
	// breath is how long it waits before it checks again for activity: writes in one go
	// count once.
	breath = 20 * time.Millisecond
)

// Watch returns what receives when something is written to the directory of a spool, or events are
// owed to the logs of its jobs, by inotify(7), and how often to look there all the same. Waiting for
// that costs nothing.
func Watch(dir string) (<-chan struct{}, time.Duration) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, blind
	}
	events := os.NewFile(uintptr(fd), "inotify")
	const mask = unix.IN_MODIFY | unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	if _, err := unix.InotifyAddWatch(fd, dir, mask); err != nil {
		events.Close()
		return nil, blind
	}
	unix.InotifyAddWatch(fd, filepath.Join(dir, "claims.d"), unix.IN_MOVED_TO) // a pass delivers them, too
	stir := make(chan struct{}, 1)
	go func() {
		for b := make([]byte, 64<<10); ; time.Sleep(breath) {
			if _, err := events.Read(b); err != nil {
				return
			}
			select {
			case stir <- struct{}{}:
			default: // it has not looked yet since the last one
			}
		}
	}()
	return stir, calm
}

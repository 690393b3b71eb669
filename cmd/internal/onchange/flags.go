package onchange

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// fileName is the name of the file in the spool.
const fileName = "change.lock"

// The flags, by their places in the file.
const (
	waits  = 0 // a change waits for a cycle
	making = 1 // a driver is making one
)

// What the file has in the places of the flags when both are set, and when neither is.
const (
	set   = "wm"
	unset = "--"
)

// file is change.lock, opened.
type file struct {
	*os.File
	own string // what stands behind the flags
}

// open opens the file of the spool in dir. It is made there if make is true; otherwise a missing
// file is fs.ErrNotExist, and so is that of another user's spool, of which root would start a cycle.
func open(dir string, make bool) (file, error) {
	if !isOurs(dir) {
		return file{}, fs.ErrNotExist
	}
	flag := os.O_RDWR
	if make {
		flag |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(dir, fileName), flag, 0o600)
	if err != nil {
		return file{}, err
	}
	opened, err := opened(f)
	if err == nil && make {
		err = opened.mend()
	}
	if err != nil {
		f.Close()
	}
	return opened, err
}

// isOurs reports whether a spool belongs to this process's effective user.
func isOurs(dir string) bool {
	var s unix.Stat_t
	return unix.Stat(dir, &s) == nil && int(s.Uid) == os.Geteuid()
}

// opened returns a file that is open.
func opened(f *os.File) (file, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return file{}, err
	}
	return file{f, fmt.Sprintf(" %d\n", s.Ino)}, nil
}

// mend makes a file that is new, a copy, or what a power cut has left one in which no flag is
// set. The caller sets one: so none is lost when two do this at a time.
func (f file) mend() error {
	text, err := f.text()
	if err != nil || f.sound(text) {
		return err
	}
	_, err = f.WriteAt([]byte(unset+f.own), 0)
	if err == nil {
		err = f.Truncate(int64(len(unset) + len(f.own)))
	}
	return err
}

// sound reports whether a text is one of the file's own.
func (f file) sound(text string) bool {
	if rest, ok := strings.CutSuffix(text, f.own); !ok || len(rest) != len(set) {
		return false
	}
	for i := range set {
		if text[i] != set[i] && text[i] != unset[i] {
			return false
		}
	}
	return true
}

// text returns what the file holds, as far as it is read.
func (f file) text() (string, error) {
	var b [32]byte
	n, err := f.ReadAt(b[:], 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return string(b[:n]), err
}

// put sets or clears a flag. It leaves the other one alone, which another process may be
// setting at this moment.
func (f file) put(flag int, on bool) error {
	from := unset
	if on {
		from = set
	}
	_, err := f.WriteAt([]byte(from[flag:flag+1]), int64(flag))
	return err
}

// flags returns which flags are set. In a copy of the file neither is: who looks at a copy of a
// spool is not to start its jobs.
func (f file) flags() (w, m bool, err error) {
	text, err := f.text()
	if err != nil || !f.sound(text) {
		return false, false, err
	}
	return text[waits] == set[waits], text[making] == set[making], nil
}

// lock takes the flock, and reports whether it could.
func (f file) lock() (bool, error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return true, nil
		case unix.EWOULDBLOCK:
			return false, nil
		case unix.EINTR:
		default:
			return false, os.NewSyscallError("flock", err)
		}
	}
}

// unlock frees the flock, also where another process has the same open file.
func (f file) unlock() error {
	return os.NewSyscallError("flock", unix.Flock(int(f.Fd()), unix.LOCK_UN))
}

// lastCycle returns when a cycle of the spool in dir began or ended last; zero: never.
func lastCycle(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "negotiate.lock"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

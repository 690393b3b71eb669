// Package claimlock has the two files of a claim that show whether its supervisor, and processes of its
// attempt, are alive; package desk explains them.
package claimlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// ErrBusy says that another process holds a lock on the file of a claim.
var ErrBusy = errors.New("another process has the claim")

// Lock is the file of a claim with the record lock on it, and the pipe that shows the processes of
// the attempt (package desk). A process must not open the file once more: closing that would free
// the record lock.
type Lock struct {
	Path string
	File *os.File // has the record lock, which requires opening for writing
	// Pipe is the reading end, which the job inherits. A job of another user, even a hostile one,
	// cannot free, fill or forge anything by it. nil: it was not opened.
	Pipe *os.File
}

// PipeName ends the name of a claim's pipe, which is next to its file.
const PipeName = ".pipe"

func (l *Lock) PipePath() string { return l.Path + PipeName }

// Close frees the lock and closes the pipe.
func (l *Lock) Close() {
	l.File.Close()
	if l.Pipe != nil {
		l.Pipe.Close()
	}
}

// Open takes the record lock on a claim's file, and opens its pipe. It never waits: it returns ErrBusy
// if another process has the lock, or a process of the attempt is alive.
func Open(path string) (*Lock, error) {
	l, err := TakeCharge(path)
	if err != nil {
		return nil, err
	}
	if err := l.openPipe(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// TakeCharge takes the record lock on a claim's file, which it makes if it
// is missing; ErrBusy if another process has the lock.
//
// The process with the lock may remove the file. So a lock counts only if the
// path still leads to the locked file; otherwise two processes could have the locks of two
// files of one name.
func TakeCharge(path string) (*Lock, error) {
	for {
		l, err := openLock(path)
		if err != nil {
			return nil, err
		}
		ours, err := l.lock()
		if ours {
			return l, nil
		}
		l.Close()
		if err != nil {
			return nil, err
		}
	}
}

// lock takes the record lock on an open file, and reports whether the path still leads to that file;
// ErrBusy if another process has the lock.
func (l *Lock) lock() (ours bool, err error) {
	locked, err := spool.LockClaim(l.File)
	if err == nil && !locked {
		err = ErrBusy
	}
	if err != nil {
		return false, err
	}
	return l.isThere()
}

// openLock opens a claim's file without a lock.
func openLock(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	return &Lock{Path: path, File: f}, nil
}

// isThere reports whether the path still leads to the open file.
func (l *Lock) isThere() (bool, error) { return leadsTo(l.Path, l.File) }

// openPipe opens the pipe, which it makes if it is missing; ErrBusy if a process of the attempt is
// alive. The caller has the lock.
func (l *Lock) openPipe() error {
	alive, err := l.IsAlive()
	if err == nil && alive {
		return ErrBusy
	}
	if err == nil {
		err = unix.Mkfifo(l.PipePath(), 0o600)
	}
	if errors.Is(err, unix.EEXIST) {
		err = nil
	}
	if err == nil {
		l.Pipe, err = os.OpenFile(l.PipePath(), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.PipePath(), cmdline.Cause(err))
	}
	return nil
}

// IsAlive reports whether a process of the attempt is alive: such a process has the pipe open for reading,
// and otherwise opening it for writing only fails. IsAlive removes a file that is no pipe.
func (l *Lock) IsAlive() (bool, error) {
	for {
		fd, err := unix.Open(l.PipePath(), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
		case unix.EINTR:
			continue
		case unix.ENXIO, unix.ENOENT:
			return false, nil
		default:
			return false, err
		}
		var about unix.Stat_t
		err = unix.Fstat(fd, &about)
		unix.Close(fd)
		if err != nil || about.Mode&unix.S_IFMT == unix.S_IFIFO {
			return err == nil, err
		}
		if err := os.Remove(l.PipePath()); err != nil {
			return false, err
		}
	}
}

// leadsTo reports whether path is the name of the open file.
func leadsTo(path string, f *os.File) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(open, named), nil
}

// Gone reports whether the claim's file was removed or replaced, maybe with the
// whole spool. Then the locks protect the claim no more. A folder that was only moved away
// or is not mounted may come back; meanwhile no other process has the claim either.
func (l *Lock) Gone() bool {
	open, err := l.File.Stat()
	if err != nil {
		return false
	}
	if about, ok := open.Sys().(*syscall.Stat_t); ok && about.Nlink == 0 {
		return true
	}
	if ours, err := leadsTo(l.Path, l.File); ours || err != nil {
		return false
	}
	_, err = os.Stat(filepath.Dir(l.Path))
	return err == nil
}

// Sign leaves a sign of life: the file's time of change, which is the pool's time, and the
// machine's where the policy time is the user's own.
func (l *Lock) Sign(at accountant.Reading) error {
	if ours, err := leadsTo(l.Path, l.File); !ours || err != nil {
		return err
	}
	if !at.Clock.Known() {
		at.Now = time.Now()
	}
	return os.Chtimes(l.Path, time.Time{}, at.Now)
}

// Signed returns the time of the last sign of life; zero if that is unknown.
func (l *Lock) Signed() time.Time {
	info, err := l.File.Stat()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Leave does as Remove, unless the file keeps events that the log of the job does not have yet:
// then it stays, without its pipe, and a pass looks after it.
func (l *Lock) Leave() {
	info, err := l.File.Stat()
	l.end(err == nil && info.Size() == 0)
}

// Remove removes the file and the pipe, and frees the lock. Remaining processes of the job keep a pipe
// without a name.
func (l *Lock) Remove() { l.end(true) }

// end removes the pipe, and the file too if file is true, and frees the lock.
func (l *Lock) end(file bool) {
	if ours, err := leadsTo(l.Path, l.File); ours && err == nil {
		os.Remove(l.PipePath())
		if file {
			os.Remove(l.Path)
		}
	}
	l.Close()
}

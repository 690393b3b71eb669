package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// errBusy says that somebody holds a lock on the file of a claim.
var errBusy = errors.New("the claim is in other hands")

// claimLock is the file of a claim with the record lock on it, and the pipe by which the processes
// of the attempt are known (see doc.go). A process must not open the file once more: closing that
// would free the record lock.
type claimLock struct {
	path string
	file *os.File // has the record lock, for which it is open for writing
	// pipe is the reading end, which the job inherits, who may be another user and a hostile
	// one: there is nothing that it could free, fill or forge by it. nil: it was not opened.
	pipe *os.File
}

// pipeName ends the name of a claim's pipe, which stands beside its file.
const pipeName = ".pipe"

func (l *claimLock) pipePath() string { return l.path + pipeName }

// close frees the lock, and lets go of the pipe.
func (l *claimLock) close() {
	l.file.Close()
	if l.pipe != nil {
		l.pipe.Close()
	}
}

// lockClaim takes the record lock on a claim's file, and opens its pipe. It never waits: when others
// are in charge, or a process of the attempt is alive, it fails with errBusy.
func lockClaim(path string) (*claimLock, error) {
	l, err := takeCharge(path)
	if err != nil {
		return nil, err
	}
	if err := l.openPipe(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// takeCharge takes the record lock on a claim's file, which is made when it
// is not there; errBusy when another process is in charge.
//
// Whoever is in charge may remove the file. So the lock counts only if the
// path still leads to the file that was locked; two could be in charge of two
// files of one name otherwise.
func takeCharge(path string) (*claimLock, error) {
	for {
		l, err := openLock(path)
		if err != nil {
			return nil, err
		}
		ours, err := l.lock()
		if ours {
			return l, nil
		}
		l.close()
		if err != nil {
			return nil, err
		}
	}
}

// lock takes the record lock on an open file, and reports whether the path still leads to that;
// errBusy when another process is in charge.
func (l *claimLock) lock() (ours bool, err error) {
	locked, err := spool.LockClaim(l.file)
	if err == nil && !locked {
		err = errBusy
	}
	if err != nil {
		return false, err
	}
	return l.isThere()
}

// openLock opens a claim's file, without any lock.
func openLock(path string) (*claimLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	return &claimLock{path: path, file: f}, nil
}

// isThere reports whether the path still leads to what is open.
func (l *claimLock) isThere() (bool, error) { return leadsTo(l.path, l.file) }

// openPipe opens the pipe, which is made if it is missing; errBusy when a process of the attempt is
// alive. The caller is in charge.
func (l *claimLock) openPipe() error {
	alive, err := l.isAlive()
	if err == nil && alive {
		return errBusy
	}
	if err == nil {
		err = unix.Mkfifo(l.pipePath(), 0o600)
	}
	if errors.Is(err, unix.EEXIST) {
		err = nil
	}
	if err == nil {
		l.pipe, err = os.OpenFile(l.pipePath(), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.pipePath(), cmdline.Cause(err))
	}
	return nil
}

// isAlive reports whether a process of the attempt is alive: it has the pipe open for reading, for
// otherwise nobody may open it for writing only. A file that is no pipe is removed.
func (l *claimLock) isAlive() (bool, error) {
	for {
		fd, err := unix.Open(l.pipePath(), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
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
		if err := os.Remove(l.pipePath()); err != nil {
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

// gone reports whether the claim's file was removed or replaced, maybe with the
// whole spool. Then the locks keep nobody from the claim any more. While the
// folder of the file is not there, nobody else has the claim either.
func (l *claimLock) gone() bool {
	if ours, err := leadsTo(l.path, l.file); ours || err != nil {
		return false
	}
	_, err := os.Stat(filepath.Dir(l.path))
	return err == nil
}

// sign leaves a sign of life: the file's time of change, which is the pool's time, and the
// machine's where the policy time is the user's own.
func (l *claimLock) sign(at accountant.Reading) error {
	if ours, err := leadsTo(l.path, l.file); !ours || err != nil {
		return err
	}
	if !at.Clock.Known() {
		at.Now = time.Now()
	}
	return os.Chtimes(l.path, time.Time{}, at.Now)
}

// signed returns the time of the last sign of life; zero when that cannot be told.
func (l *claimLock) signed() time.Time {
	info, err := l.file.Stat()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// leave does as remove, unless the file keeps events that the log of the job does not have yet:
// then it stays, without its pipe, and a pass looks after it.
func (l *claimLock) leave() {
	info, err := l.file.Stat()
	l.end(err == nil && info.Size() == 0)
}

// remove removes the file and the pipe, and frees the lock. What is left of the job, if
// anything, holds on to a pipe without a name, which harms nobody.
func (l *claimLock) remove() { l.end(true) }

// end removes the pipe, and the file if that is wanted, and frees the lock.
func (l *claimLock) end(file bool) {
	if ours, err := leadsTo(l.path, l.file); ours && err == nil {
		os.Remove(l.pipePath())
		if file {
			os.Remove(l.path)
		}
	}
	l.close()
}

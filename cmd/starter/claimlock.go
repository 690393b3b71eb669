package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/spool"
)

// errBusy says that somebody holds a lock on the file of a claim.
var errBusy = errors.New("the claim is in other hands")

// claimLock is the file of a claim with one or both of the locks on it (see
// doc.go). A process must not open the file once more: closing that would
// free the record lock.
type claimLock struct {
	path string
	file *os.File // has the record lock, for which it is open for writing
	// reader has the flock, and is what the job inherits, which may be another user's and a
	// hostile one's: it is open for reading only, lest that fills the spool or forges signs
	// of life.
	reader *os.File
	held   *os.File // what has the flock: reader, or file where that does not do
}

// close frees both locks.
func (l *claimLock) close() {
	l.file.Close()
	l.reader.Close()
}

// lockClaim takes both locks on a claim's file. It never waits: when one of
// them is held by others it fails with errBusy.
func lockClaim(path string) (*claimLock, error) {
	l, err := takeCharge(path)
	if err != nil {
		return nil, err
	}
	if err := l.flock(); err != nil {
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
		ours, err := spool.LockClaim(l.file)
		if err == nil && !ours {
			err = errBusy
		}
		if err == nil {
			ours, err = l.isThere()
		}
		if ours {
			return l, nil
		}
		l.close()
		if err != nil {
			return nil, err
		}
	}
}

// openLock opens a claim's file, without any lock.
func openLock(path string) (*claimLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	return &claimLock{path, f, reader, reader}, nil
}

// isThere tells whether the path still leads to what is open.
func (l *claimLock) isThere() (bool, error) {
	ours, err := leadsTo(l.path, l.file)
	if ours && err == nil {
		ours, err = leadsTo(l.path, l.reader)
	}
	return ours, err
}

// flock takes the flock; errBusy when a process of the attempt holds it.
func (l *claimLock) flock() error {
	for {
		switch err := unix.Flock(int(l.held.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return nil
		case err == unix.EINTR:
		case err == unix.EBADF && l.held == l.reader: // NFS wants it open for writing
			l.held = l.file
		case err == unix.EWOULDBLOCK:
			return errBusy
		default:
			return fmt.Errorf("%s: flock: %w", l.path, err)
		}
	}
}

// leadsTo tells whether path is the name of the open file.
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

// gone tells whether the claim's file was removed or replaced, maybe with the
// whole spool. Then the locks keep nobody from the claim any more. While the
// folder of the file is not there, nobody else has the claim either.
func (l *claimLock) gone() bool {
	if ours, err := leadsTo(l.path, l.file); ours || err != nil {
		return false
	}
	_, err := os.Stat(filepath.Dir(l.path))
	return err == nil
}

// sign leaves a sign of life: the file's time of change.
func (l *claimLock) sign() error {
	if ours, err := leadsTo(l.path, l.file); !ours || err != nil {
		return err
	}
	return os.Chtimes(l.path, time.Time{}, time.Now())
}

// signed returns the time of the last sign of life, by the clock as it was then;
// zero when that cannot be told.
func (l *claimLock) signed() time.Time {
	info, err := l.file.Stat()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// leave does as remove, unless the file keeps events that the log of the job does not have yet:
// then it frees the locks, and a pass looks after the file.
func (l *claimLock) leave() {
	if info, err := l.file.Stat(); err == nil && info.Size() == 0 {
		l.remove()
		return
	}
	l.close()
}

// remove removes the file and frees the locks. What is left of the job, if
// anything, holds on to a file without a name, which harms nobody.
func (l *claimLock) remove() {
	if ours, err := leadsTo(l.path, l.file); ours && err == nil {
		os.Remove(l.path)
	}
	l.close()
}

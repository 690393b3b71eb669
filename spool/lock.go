package spool

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked says that somebody else held a lock of the spool for longer than
// the caller was willing to wait.
var ErrLocked = errors.New("the spool is locked")

// lockPoll is how often a waiting writer tries again. flock(2) itself cannot
// wait for a bounded time.
const lockPoll = 3 * time.Millisecond

// lineSize is the length of each of the two lines in the lock file. They are
// padded with blanks and written in place, each by one write.
const lineSize = 128

// ack is what the lock file says of the journal: which one is in force and
// how far it was acknowledged.
type ack struct {
	Generation int
	End        int64  // bytes
	Seq        uint64 // number of the last transaction
	Next       int    // the next free cluster number
	CRC        uint32 // of the last transaction
}

func (a ack) line() string {
	text := fmt.Sprintf("acknowledged %d %d %d %d %08x ", a.Generation, a.End, a.Seq, a.Next, a.CRC)
	text += fmt.Sprintf("%08x", crc32.Checksum([]byte(text), castagnoli))
	return fmt.Sprintf("%-*s\n", lineSize-1, text)
}

// parseAck reads line; ok is false for an empty or torn one, after which the
// journal itself has to be read.
func parseAck(line string) (a ack, ok bool) {
	text := strings.TrimRight(line, " \n")
	i := strings.LastIndexByte(text, ' ')
	if i < 0 || fmt.Sprintf("%08x", crc32.Checksum([]byte(text[:i+1]), castagnoli)) != text[i+1:] {
		return ack{}, false
	}
	n, err := fmt.Sscanf(text, "acknowledged %d %d %d %d %x", &a.Generation, &a.End, &a.Seq, &a.Next, &a.CRC)
	return a, err == nil && n == 5
}

// readAck reads the acknowledged end from the lock file f.
func readAck(f file) (ack, bool, error) {
	b := make([]byte, lineSize)
	n, err := f.ReadAt(b, lineSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return ack{}, false, err
	}
	a, ok := parseAck(string(b[:n]))
	return a, ok, nil
}

// locked runs fn with the flock on the named lock file held, waiting at most
// wait for it. A wait of zero or less tries once.
func (s *Spool) locked(name string, wait time.Duration, fn func(lock file) error) (err error) {
	path := filepath.Join(s.dir, name)
	l, err := acquire(path, wait)
	if errors.Is(err, ErrLocked) {
		return fmt.Errorf("%w for more than %v: %s", ErrLocked, max(wait, 0), s.holder(path))
	}
	if err != nil {
		return err
	}
	defer func() {
		if e := l.Close(); err == nil {
			err = e
		}
	}()
	f, err := s.files.Open(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := writeHolder(f, fmt.Sprintf("held by pid %d (%s) since %s", os.Getpid(), s.options.Program, time.Now().UTC().Format(time.RFC3339))); err != nil {
		return err
	}
	defer writeHolder(f, unheld) // for whoever reads it; the flock itself is what counts
	return fn(f)
}

// writeHolder writes the first line of a lock file.
func writeHolder(f file, text string) error {
	_, err := f.WriteAt([]byte(fmt.Sprintf("%-*.*s\n", lineSize-1, lineSize-1, text)), 0)
	return err
}

// acquire takes the flock on the file at path, which it makes if need be. A
// lock counts only if the path leads to the file that was locked: otherwise
// somebody removed it meanwhile, and others may have locked another.
func acquire(path string, wait time.Duration) (*flock.Flock, error) {
	for end := time.Now().Add(wait); ; {
		l := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR))
		if err := try(l, time.Until(end)); err != nil {
			l.Close()
			return nil, err
		}
		ours, err := leadsTo(path, l)
		if ours {
			return l, nil
		}
		l.Close()
		if err != nil {
			return nil, err
		}
	}
}

// leadsTo tells whether path is the name of the locked file.
func leadsTo(path string, l *flock.Flock) (bool, error) {
	locked, err := l.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(locked, named), err
}

// try waits for a lock, at most wait long.
func try(l *flock.Flock, wait time.Duration) error {
	ok, err := l.TryLock()
	if ok || err != nil {
		return err
	}
	if wait <= 0 {
		return ErrLocked
	}
	c, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	_, err = l.TryLockContext(c, lockPoll)
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrLocked
	}
	return err
}

// unheld is the first line of a lock file that no fairspool program holds.
const unheld = "free"

// holder says who holds a lock file, as far as its first line tells.
func (s *Spool) holder(path string) string {
	b, err := contents(s.files, path)
	if err != nil || len(b) < lineSize {
		return path
	}
	line := strings.TrimSpace(string(b[:lineSize]))
	if line == unheld {
		line = "held by another program, such as a backup by flock(1)"
	}
	return path + ", " + line
}

// ErrNegotiating says that another negotiation cycle is going on.
var ErrNegotiating = fmt.Errorf("another cycle is running: %w", ErrLocked)

// Negotiating runs fn while no other negotiation cycle runs on this spool,
// and fails with ErrNegotiating, which is an ErrLocked, when one is going on.
func (s *Spool) Negotiating(fn func() error) error {
	began := false
	err := s.locked("negotiate.lock", 0, func(file) error {
		began = true
		return fn()
	})
	if !began && errors.Is(err, ErrLocked) {
		return fmt.Errorf("%w: %s", ErrNegotiating, s.holder(filepath.Join(s.dir, "negotiate.lock")))
	}
	return err
}

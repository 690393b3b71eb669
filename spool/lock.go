package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"fairspool/spool/internal/files"
	"fairspool/spool/internal/flocks"
	"fairspool/spool/internal/lockline"
	"fairspool/spool/internal/postpone"
)

// ErrLocked says that another process held a lock of the spool for longer than the caller waits.
var ErrLocked = files.ErrLocked

// ack is what the lock file says of the journal: which one is in force and how far it was acknowledged.
type ack struct {
	Generation int
	End        int64  // bytes
	Seq        uint64 // number of the last transaction
	Next       int    // the next free cluster number
	CRC        uint32 // of the last transaction
}

// line writes the ack behind a word, with a checksum, padded to a fixed length.
func (a ack) line(word string) string {
	return lockline.Of(fmt.Sprintf("%s %d %d %d %d %08x", word, a.Generation, a.End, a.Seq, a.Next, a.CRC))
}

// parseAck reads a line that begins with a word.
func parseAck(word, line string) (a ack, ok bool) {
	text, ok := lockline.Text(line)
	if !ok {
		return ack{}, false
	}
	n, err := fmt.Sscanf(text, word+" %d %d %d %d %x", &a.Generation, &a.End, &a.Seq, &a.Next, &a.CRC)
	return a, err == nil && n == 5
}

// ackState tells what was found in the lock file.
type ackState int

const (
	ackNone ackState = iota // nothing yet
	ackGood
	ackBad // something that does not check
)

// readAck reads the acknowledged end from the lock file f. One that does not check is mentioned: a writer that dies in the middle of its
// line leaves such a one, with a whole journal; and so does damage.
func (s *Spool) readAck(f files.File) (ack, ackState, error) {
	b := make([]byte, lockline.Size)
	for try := 1; ; try++ {
		n, err := f.ReadAt(b, lockline.Size)
		if err != nil && !errors.Is(err, io.EOF) {
			return ack{}, ackNone, err
		}
		if lockline.IsEmpty(b[:n]) {
			return ack{}, ackNone, nil
		}
		if a, ok := parseAck("acknowledged", string(b[:n])); ok {
			return a, ackGood, nil
		}
		if try == ackReads {
			s.warn("%s: its second line does not check: the journal is read to its end instead", s.path("lock"))
			return ack{}, ackBad, nil
		}
		time.Sleep(time.Millisecond) // another process may be opening it just now
	}
}

// ackReads is how often a line that does not check is read.
const ackReads = 3

// acknowledge notes the journal's end in the lock file. The transaction is committed by now, so a failure here is no failure of it: the
// next writer finds the end by itself.
func (s *Spool) acknowledge(lock files.File, end ack) {
	if _, err := lock.WriteAt([]byte(end.line("acknowledged")), lockline.Size); err != nil {
		s.warn("%s/lock: the change is made, but its end could not be noted: %v", s.dir, err)
	}
}

// unsynced is a transaction that stands in the journal and may not be on the disk yet.
type unsynced struct {
	spool   *Spool
	journal files.File
	durable ack // how much was known to be durable before
	before  ack // where it begins
	end     ack
	months  []*month // what it wrote to the history
}

// sync makes a transaction durable, without a lock: other writers add theirs meanwhile, and a sync is good for all that stands in the
// journal when it begins.
func (u *unsynced) sync() error {
	defer u.journal.Close()
	s := u.spool
	lock, err := s.files.Open(s.path("lock"), files.ReadWrite, 0)
	if err == nil {
		defer lock.Close()
		if u.acknowledged(lock) {
			return nil
		}
	}
	if err := u.journal.Sync(); err != nil {
		return u.resync(err)
	}
	if err == nil && !u.acknowledged(lock) {
		s.acknowledge(lock, u.end)
	}
	return nil
}

// acknowledged reports whether the lock file says that the journal is durable up to the transaction's end, or that it was folded since.
func (u *unsynced) acknowledged(lock files.File) bool {
	b := make([]byte, lockline.Size)
	if _, err := lock.ReadAt(b, lockline.Size); err != nil {
		return false
	}
	known, ok := parseAck("acknowledged", string(b))
	return ok && (known.Generation > u.end.Generation || known.Generation == u.end.Generation && known.Seq >= u.end.Seq)
}

// resync is for a transaction whose sync failed for the reason why, and may have let go of it. It is cut off if it is the last; else it is
// written once more, with those behind it.
func (u *unsynced) resync(why error) error {
	s, done := u.spool, false
	err := s.locked("lock", s.options.LockWait, func(lock files.File) error {
		current, err := s.current()
		if err != nil {
			return err
		}
		size, err := u.journal.Size()
		switch {
		case err != nil:
			return err
		case current.Generation != u.end.Generation: // the journal was folded, durably
			done = true
			return nil
		case size == u.end.End && u.before != u.end:
			done = true
			err := cutBack(u.journal, u.before.End, why)
			if !errors.Is(err, files.ErrUncertain) {
				u.dropMonths()
			}
			return fmt.Errorf("journal: %w", err)
		}
		b := make([]byte, size-u.durable.End)
		_, err = u.journal.ReadAt(b, u.durable.End)
		if err == nil {
			_, err = u.journal.WriteAt(b, u.durable.End)
		}
		if err == nil {
			err = u.journal.Sync()
		}
		done = err == nil
		return err
	})
	if done {
		return err
	}
	return fmt.Errorf("journal: %w; it could not be cut back, so %w: %v", why, files.ErrUncertain, err)
}

// dropMonths takes back what the transaction wrote to the history.
func (u *unsynced) dropMonths() {
	for _, m := range u.months {
		if f, err := u.spool.files.Open(u.spool.path(historyFile(m.name)), files.ReadWrite, 0); err == nil {
			m.file = f
			m.drop()
			f.Close()
		}
	}
}

// locked runs fn with the flock on the named lock file held, waiting at most wait for it. A wait of zero or less tries once. What fn has
// done counts, also when the lock cannot be freed: closing the file frees it.
func (s *Spool) locked(name string, wait time.Duration, fn func(lock files.File) error) error {
	path := filepath.Join(s.dir, name)
	l, release, err := s.acquire(name, wait)
	if errors.Is(err, ErrLocked) {
		return fmt.Errorf("%w for more than %v: %s", ErrLocked, max(wait, 0), s.holder(path))
	}
	if err != nil {
		return err
	}
	defer release()
	defer func() {
		if err := l.Unlock(); err != nil {
			s.warn("%s: unlocking failed: %v: what was done counts, and the lock is free: its file is closed", path, err)
		}
	}()
	f, err := s.files.Open(path, files.ReadWrite, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err == nil {
		err = writeHolder(f, lockline.Held(os.Getpid(), s.options.Program, time.Now()))
	}
	if err == nil && size == 0 {
		err = f.Sync() // or a power cut may leave room without a text in it
	}
	if err != nil {
		return err
	}
	defer writeHolder(f, lockline.Free) // for readers; the flock itself is what counts
	return fn(f)
}

// acquire does as the function acquire, and postpones signals from before it has the lock until release is called. They may come while it
// waits; the file stays open meanwhile, by which /proc shows what the process waits for. A process that queues tries once, and waits in the
// kernel.
func (s *Spool) acquire(name string, wait time.Duration) (l files.Lock, release func(), err error) {
	path, signals := filepath.Join(s.dir, name), s.options.postponed(name)
	if s.queues {
		release = postpone.Signals(signals)
		if l, err = acquire(s.files, path, wait); err != nil {
			release()
		}
		return l, release, err
	}
	var waits *os.File
	pause := files.Poll / 16 // twice as long each time: the lock is most often held for less
	for end := time.Now().Add(wait); ; time.Sleep(min(pause, max(0, time.Until(end)))) {
		pause = min(2*pause, files.Poll)
		late := time.Until(end) <= 0 // a process that was stopped tries once more
		release = postpone.Signals(signals)
		if l, err = acquire(s.files, path, 0); err == nil {
			return l, release, nil
		}
		release()
		if !errors.Is(err, ErrLocked) || late {
			return nil, nil, err
		}
		if waits == nil {
			if waits, err = os.OpenFile(path, os.O_RDWR, 0); err == nil { // as a writer of it
				defer waits.Close()
			}
		}
	}
}

// Queue has the process wait for locks in the kernel's queue, which costs it less than to try again and again, and postpones the signals of
// a terminal meanwhile. It is for a process that has no terminal.
func (s *Spool) Queue() { s.queues = true }

// writeHolder writes the first line of a lock file.
func writeHolder(f files.File, text string) error {
	_, err := f.WriteAt([]byte(lockline.Of(text)), 0)
	return err
}

// acquire takes the flock on the file at path, which it makes if need be, waiting at most wait; ErrLocked: it is still held elsewhere then.
// A lock counts only if the path leads to the file that was locked: otherwise the file was removed meanwhile, and others may have locked a
// new one.
func acquire(fsys files.Layer, path string, wait time.Duration) (files.Lock, error) {
	for end := time.Now().Add(wait); ; {
		l, err := lockFile(fsys, path, files.ReadWrite|files.Create, false, time.Until(end))
		if err != nil {
			return nil, err
		}
		ours, err := leadsTo(path, l)
		if ours {
			return l, nil
		}
		l.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// lockFile takes the flock on a file, waiting at most wait, whatever signals come.
func lockFile(fsys files.Layer, name string, flag int, shared bool, wait time.Duration) (l files.Lock, err error) {
	for end := time.Now().Add(wait); ; {
		if l, err = fsys.Lock(name, flag, shared, time.Until(end)); !errors.Is(err, syscall.EINTR) {
			return l, err
		}
	}
}

// leadsTo reports whether path is the name of the locked file.
func leadsTo(path string, l files.Lock) (bool, error) {
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

// holder says which process holds a lock file, as far as its first line tells.
func (s *Spool) holder(path string) string {
	b, err := files.Contents(s.files, path)
	if err != nil || len(b) < lockline.Size {
		return path
	}
	line, ok := lockline.Text(string(b[:lockline.Size]))
	if !ok || line == lockline.Free {
		line = "held by another program, such as a backup by flock(1)"
	}
	return path + ", " + line
}

// ErrNegotiating says that another negotiation cycle is going on.
var ErrNegotiating error = busy("another cycle is running")

// busy is an ErrLocked that speaks of something other than the whole spool.
type busy string

func (b busy) Error() string        { return string(b) }
func (b busy) Is(target error) bool { return target == ErrLocked }

// Negotiating runs fn while no other negotiation cycle runs on this spool, and fails with ErrNegotiating, which is an ErrLocked, if another
// one is still running after wait.
func (s *Spool) Negotiating(wait time.Duration, fn func() error) error {
	began := false
	err := s.locked("negotiate.lock", wait, func(files.File) error {
		began = true
		if err := s.refreshDomain(); err != nil {
			return err
		}
		return fn()
	})
	if !began && errors.Is(err, ErrLocked) {
		return fmt.Errorf("%w: %s", ErrNegotiating, s.holder(filepath.Join(s.dir, "negotiate.lock")))
	}
	return err
}

// ending are the signals of a terminal that end a process.
var ending = []os.Signal{syscall.SIGINT, syscall.SIGQUIT}

// postponed returns the signals that have to wait for the end of what is done under a lock. Those that end the process are not among them
// for a cycle, which may take long, and leaves nothing to be repaired. A process that watches over a machine may be stopped.
func (o Options) postponed(lock string) []os.Signal {
	switch lock {
	case "lock":
		if o.OwnSignals {
			return postpone.Stopping
		}
		return slices.Concat(postpone.Stopping, ending)
	case "negotiate.lock", "fold.lock":
		return postpone.Stopping
	}
	return nil
}

// Holder is a process that has one of the spool's locks.
type Holder struct {
	Lock    string // the name of its file, such as negotiate.lock
	PID     int
	Program string // empty: unknown, as the lock is not a fairspool program's
	// Since is when it took the lock, to the second; zero where Program is empty.
	Since time.Time
	// Stopped: it was stopped by a signal, and goes on only at SIGCONT.
	Stopped bool
}

// Holders returns the processes that have some of the spool's locks, by the names of their files, such as lock, negotiate.lock and
// fold.lock, for which others wait, and WatchLock. It touches no lock, and knows of processes of this machine only. One may be missed while
// other processes of the machine free locks: the kernel's table is read in pieces.
func (s *Spool) Holders(locks ...string) (list []Holder, err error) {
	var there []os.FileInfo
	for _, name := range locks {
		info, err := os.Stat(s.path(name))
		if err == nil {
			there = append(there, info)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	holders, err := flocks.Holders(there)
	for _, h := range holders {
		list = append(list, s.heldBy(h))
	}
	return list, err
}

// heldBy returns the holder of a lock, of which the first line of the file tells more.
func (s *Spool) heldBy(by flocks.Holder) Holder {
	h := Holder{Lock: by.File.Name(), PID: by.PID, Stopped: by.Stopped}
	if b, err := files.Contents(s.files, s.path(h.Lock)); err == nil {
		h.Program, h.Since = lockline.Holder(b, h.PID)
	}
	return h
}

// ClaimLocked reports whether a process is in charge of the claim with this LockName: it has the lock that LockClaim takes. The caller must
// not have it, as this would free it.
func (s *Spool) ClaimLocked(name string) (bool, error) {
	f, err := os.Open(s.ClaimLock(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	whole := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &whole); err != nil {
		return false, fmt.Errorf("%s: fcntl: %w", f.Name(), err)
	}
	return whole.Type != syscall.F_UNLCK, nil
}

// Inside reports whether a file or folder, which need not exist yet, is a directory or is in it, by whatever name: also through symbolic
// links.
func Inside(name, dir string) bool {
	home, err := os.Stat(dir)
	if err != nil {
		return false
	}
	if name, err = filepath.Abs(name); err != nil {
		return false
	}
	for {
		info, err := os.Stat(name)
		if err == nil && os.SameFile(info, home) {
			return true
		}
		if real, e := filepath.EvalSymlinks(name); err == nil && e == nil {
			name = real
		}
		parent := filepath.Dir(name)
		if parent == name {
			return false
		}
		name = parent
	}
}

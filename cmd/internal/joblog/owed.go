package joblog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// Where root's starter runs the jobs of a spool as their owners, the spool's account may not write
// to their logs. So what a process of the account has to tell them it owes: it leaves the events in
// claims.d, once their transaction is committed, in a file of the form of pending ones whose name
// begins with owed- and the time. Root's starter delivers them with the rights of the owners, the
// oldest first, before it writes anything else to a log. It says in the name of a file that it
// begins with it: one that it finds so may have been delivered already, and only what is missing in
// the logs is written.

const (
	owedPrefix = "owed-"
	begunName  = ".begun" // ends the name of a file whose delivery has begun
)

// owes reports whether this process leaves events for the logs of jobs of the spool in dir to
// root's starter.
func owes(dir string) bool { return !asuser.Privileged() && spool.RunByRoot(dir) }

var owing atomic.Int64

// owedName returns the path of a new file with owed events in a folder. Names are in the order in
// which the files were made.
func owedName(folder string, at time.Time) string {
	return filepath.Join(folder, fmt.Sprintf("%s%020d-%d-%d", owedPrefix, at.UnixNano(), os.Getpid(), owing.Add(1)))
}

// owe leaves the events to root's starter.
func (v *Events) owe(dir string) error {
	if v.kept != nil {
		defer v.kept.Close()
		return os.Rename(v.kept.Name(), owedName(filepath.Dir(v.kept.Name()), time.Now()))
	}
	if len(v.logs) == 0 {
		return nil
	}
	return putOwed(owedName(filepath.Join(dir, "claims.d"), time.Now()), v.batches())
}

// putOwed gives a file with owed events its name when it is whole.
func putOwed(path string, batches []batch) error {
	f, err := os.CreateTemp(filepath.Dir(path), "owing-*")
	if err != nil {
		return err
	}
	err = errors.Join(fill(f, batches), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Owed returns the paths of the files of a spool with events that are owed to logs, the oldest
// first.
func Owed(sp *spool.Spool) (paths []string) {
	folder := sp.ClaimLock("")
	entries, _ := os.ReadDir(folder)
	for _, e := range entries { // in the order of their names
		if strings.HasPrefix(e.Name(), owedPrefix) {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths
}

// owedAt returns when a file with owed events was made; zero for a name that does not say so.
func owedAt(path string) (at time.Time) {
	var nanoseconds int64
	if _, err := fmt.Sscanf(filepath.Base(path), owedPrefix+"%d-", &nanoseconds); err == nil {
		at = time.Unix(0, nanoseconds)
	}
	return at
}

// Deliver writes the events that are owed to the logs of jobs, where this process can: it is root's.
// The parameter nobody is the NOBODY_SLOT_USER. While another process delivers it waits, at most
// Patience. Events for a log that cannot be written stay, with all later ones for that log; once they are
// older than tryFor, Deliver gives them up with a warning.
func Deliver(sp *spool.Spool, nobody string, warn func(format string, args ...any)) {
	if !asuser.Privileged() || len(Owed(sp)) == 0 {
		return
	}
	folder, err := lockFolder(sp.ClaimLock(""))
	if err != nil {
		warn("job log: %v", err)
	}
	if folder == nil {
		return
	}
	defer folder.Close()
	f, late := finisher{sp, nobody, warn}, map[string]bool{}
	for seen := map[string]bool{}; ; {
		paths := slices.DeleteFunc(Owed(sp), func(path string) bool { return seen[strings.TrimSuffix(path, begunName)] })
		if len(paths) == 0 {
			return
		}
		for _, path := range paths {
			seen[strings.TrimSuffix(path, begunName)] = true
			if err := f.deliver(path, late); err != nil {
				warn("%s: %v", path, err)
			}
		}
	}
}

// lockFolder takes the flock on the folder of claims, which only those who deliver take. It
// returns nil if another process keeps it for longer than Patience.
func lockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(Patience); ; time.Sleep(5 * time.Millisecond) {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return f, nil
		case err != unix.EWOULDBLOCK && err != unix.EINTR:
			f.Close()
			return nil, os.NewSyscallError("flock", err)
		case time.Now().After(end):
			f.Close()
			return nil, nil
		}
	}
}

// deliver writes the events of a file to the logs, but for those in late, to which it adds those
// that cannot be written. The file stays with the events that are not written.
func (f finisher) deliver(path string, late map[string]bool) error {
	name, again := strings.CutSuffix(path, begunName)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	batches, whole := batchesOf(text)
	if !whole {
		f.warn("%s: it is not whole: some events may be missing in the logs of jobs", path)
	}
	if !again {
		if err := os.Rename(path, name+begunName); err != nil {
			return err
		}
	}
	write, left := userlog.AppendText, Patience
	if again {
		write = userlog.AppendMissing
	}
	var rest []batch
	for _, b := range batches {
		if late[b.Path] {
			rest = append(rest, b)
			continue
		}
		err := asuser.Do(b.Owner, f.nobody, func() error { return write(&left, b.Path, b.text) })
		switch {
		case err == nil:
		case time.Since(owedAt(path)) < tryFor:
			late[b.Path] = true
			rest = append(rest, b)
		default:
			f.warn("job log: %v; all else is done", err)
		}
	}
	if len(rest) > 0 {
		if err := putOwed(name, rest); err != nil { // it was not begun
			return err
		}
	}
	return os.Remove(name + begunName)
}

// OwedText returns the text of a file with events that are owed to a log.
func OwedText(path, owner string, events ...userlog.Event) string {
	return string(textOf([]batch{{Log{Path: path, Owner: owner}, userlog.Text(events...)}}))
}

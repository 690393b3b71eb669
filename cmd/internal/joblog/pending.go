package joblog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/hooks"
	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// Events of a transaction that ends an attempt, or takes jobs out of the queue that have none,
// are kept in a file of the spool until the logs have them:
//
//  1. The transaction writes the events to the file, which its process has locked.
//  2. The transaction is committed.
//  3. The events are appended to the logs.
//  4. The file is removed.
//
// The file stands in claims.d. For an attempt it is the file of its claim, on which the process
// that ends the attempt has the record lock of fcntl(2) anyway; a command makes one with such a
// lock for all the jobs that it takes out of the queue, named CLUSTER.PROC.0-NUMBER after the
// first. Without the lock it belongs to a process that was killed. Then the spool shows whether
// the transaction was committed, and the log whether it has the events (userlog.AppendMissing).
// So each event is written once, whichever process is killed.
//
// The file need not be durable: the logs are not, either.

// Keep keeps the events of an attempt's end for the log of its job in the file of the claim, on
// which the caller has the record lock: the last thing that the transaction does. It replaces
// what an earlier transaction kept that was not committed, also if there are no events. The
// modification time of the file, which is a sign of life, stays. An error says that the events
// are lost if this process is killed.
func Keep(claim *os.File, log Log, events ...userlog.Event) error {
	info, err := claim.Stat()
	none := log.Path == "" || len(events) == 0
	if err == nil && none && info.Size() == 0 {
		return nil
	}
	if err == nil && info.Size() > 0 {
		err = claim.Truncate(0)
	}
	if err == nil && !none {
		err = fill(claim, []batch{{log, userlog.Text(log.informed(events)...)}})
	}
	if err == nil {
		signed := unix.NsecToTimeval(info.ModTime().UnixNano())
		err = unix.Futimes(int(claim.Fd()), []unix.Timeval{signed, signed})
	}
	return unkept(err)
}

// Keep keeps the events, dated with the time at, until Write has written them or Release is
// called. It is the last step of a transaction that takes jobs out of the queue. Errors are
// those of the function Keep. Events are not kept if none is a job's last.
func (v *Events) Keep(sp *spool.Spool, at time.Time) error {
	v.date(at)
	v.spool = sp
	if err := v.keepOrders(sp.ClaimLock("")); err != nil {
		return fmt.Errorf("%w: the command for an event is not run if this process is killed before it says so", err)
	}
	first, ends := v.aborts(func(pool.JobID) bool { return true })
	if !ends {
		return nil
	}
	for _, p := range pendingFiles(sp, func(p pendingFile) bool {
		_, same := v.aborts(func(id pool.JobID) bool { return id == p.Job })
		return p.Attempt == 0 && same
	}) {
		os.Remove(p.path) // of a transaction that was not committed: the job would be gone
	}
	f, err := create(sp.ClaimLock(pool.Claim{Job: first}.LockName()) + "-*")
	if err != nil {
		return unkept(err)
	}
	if err := fill(f, v.batches()); err != nil {
		os.Remove(f.Name())
		f.Close()
		return unkept(err)
	}
	v.kept = f
	return nil
}

// batches returns the events by log.
func (v *Events) batches() []batch {
	list := make([]batch, len(v.logs))
	for i, log := range v.logs {
		list[i] = batch{log, userlog.Text(log.informed(v.of[log])...)}
	}
	return list
}

func unkept(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: events are missing in the log if this process is killed before it writes them", err)
	}
	return err
}

// aborts returns the first of some jobs that leave the queue, false if none does.
func (v *Events) aborts(which func(pool.JobID) bool) (id pool.JobID, ok bool) {
	for _, log := range v.logs {
		for _, e := range v.of[log] {
			if _, aborted := e.Body.(userlog.Aborted); aborted && which(e.Job) {
				return e.Job, true
			}
		}
	}
	return id, false
}

// Release leaves the events to others, as this process does not know whether the transaction
// was committed.
func (v *Events) Release() {
	if v.kept != nil {
		v.kept.Close()
	}
}

// drop removes what kept the events, when they are written.
func (v *Events) drop() {
	if v.kept != nil {
		os.Remove(v.kept.Name())
		v.kept.Close()
	}
}

// fill writes the events to an empty file: all of them or, where that fails, none.
func fill(f *os.File, batches []batch) error {
	_, err := f.WriteAt(textOf(batches), 0)
	if err != nil {
		f.Truncate(0)
	}
	return err
}

// create makes a locked file with a name like the pattern. Before it is locked others may take
// it for a killed process's, and remove it: then it is made again.
func create(pattern string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(filepath.Dir(pattern), filepath.Base(pattern))
		if err != nil {
			return nil, err
		}
		if locked, _ := spool.LockClaim(f); locked && isLinked(f) {
			return f, nil
		}
		f.Close()
	}
}

// isLinked reports whether an open file still has a name.
func isLinked(f *os.File) bool {
	var s unix.Stat_t
	return unix.Fstat(int(f.Fd()), &s) == nil && s.Nlink > 0
}

// batch is the events of one log, as they are to stand there.
type batch struct {
	Log
	text []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const endLine = "end "

// textOf returns the file of batches: a line with the log's path and owner before the events
// of each, and a checksum at the end.
func textOf(batches []batch) (b []byte) {
	for _, x := range batches {
		b = strconv.AppendQuote(append(b, "log "...), x.Path)
		b = append(strconv.AppendQuote(append(b, ' '), x.Owner), '\n')
		b = append(b, x.text...)
	}
	b = append(b, endLine...)
	return fmt.Appendf(b, "%08x\n", crc32.Checksum(b, castagnoli))
}

// batchesOf is the inverse of textOf; false for an incomplete text.
func batchesOf(text []byte) (batches []batch, ok bool) {
	at := bytes.LastIndex(text, []byte("\n"+endLine)) + len("\n"+endLine)
	if at < len("\n"+endLine) || string(text[at:]) != fmt.Sprintf("%08x\n", crc32.Checksum(text[:at], castagnoli)) {
		return nil, false
	}
	const end = "\n...\n"
	for rest := text[:at-len(endLine)]; len(rest) > 0; {
		line, events, _ := bytes.Cut(rest, []byte("\n"))
		var x batch
		if _, err := fmt.Sscanf(string(line), "log %q %q", &x.Path, &x.Owner); err != nil {
			return nil, false
		}
		size := len(events)
		if next := bytes.Index(events, []byte(end+"log ")); next >= 0 {
			size = next + len(end)
		}
		x.text, rest = events[:size], events[size:]
		batches = append(batches, x)
	}
	return batches, true
}

// pendingFile is a file with events that are still to be written.
type pendingFile struct {
	pool.Claim // its Job and Attempt; 0: a command's
	path       string
}

// pendingFiles returns the chosen pending files of a spool; nil chooses all.
func pendingFiles(sp *spool.Spool, which func(pendingFile) bool) (list []pendingFile) {
	folder := sp.ClaimLock("")
	entries, _ := os.ReadDir(folder)
	return pendingOf(folder, entries, which)
}

// pendingOf is pendingFiles of a folder with these entries.
func pendingOf(folder string, entries []os.DirEntry, which func(pendingFile) bool) (list []pendingFile) {
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), "-")
		dot := max(strings.LastIndexByte(name, '.'), 0)
		id, err := pool.ParseJobID(name[:dot])
		attempt, bad := strconv.Atoi(strings.TrimPrefix(name[dot:], "."))
		p := pendingFile{pool.Claim{Job: id, Attempt: attempt}, filepath.Join(folder, e.Name())}
		if err != nil || bad != nil || which != nil && !which(p) {
			continue
		}
		info, err := e.Info()
		if err == nil && (attempt == 0 || info.Size() > 0) { // most attempts have not ended
			list = append(list, p)
		}
	}
	return list
}

// Pending is a file with events that the logs of jobs may lack.
type Pending struct {
	Logs  []string  // the logs; none if the file does not read
	Since time.Time // when it was written last, by the machine's clock
}

// Unwritten returns the files with events that no process is about to write, and with those that are
// owed: a later call of Finish writes them, or gives them up. It takes no lock.
func Unwritten(sp *spool.Spool) (list []Pending) {
	for _, p := range pendingFiles(sp, nil) {
		locked, err := sp.ClaimLocked(filepath.Base(p.path))
		text, bad := os.ReadFile(p.path)
		info, gone := os.Stat(p.path)
		if locked || err != nil || bad != nil || gone != nil {
			continue
		}
		list = append(list, Pending{logsOf(text), info.ModTime()})
	}
	for _, path := range Owed(sp) {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it was delivered meanwhile
		}
		list = append(list, Pending{logsOf(text), owedAt(path)})
	}
	return list
}

// logsOf returns the logs that the text of a file is for.
func logsOf(text []byte) (paths []string) {
	batches, _ := batchesOf(text)
	for _, b := range batches {
		paths = append(paths, b.Path)
	}
	return paths
}

// tryFor is for how long events that cannot be written are tried again.
var tryFor = time.Hour

// Finish writes the events that are owed to logs, as Deliver does, and the pending events of
// processes that were killed, unless this process leaves that to root's starter. The caller must not
// have the lock on the file of any claim, as this would free it. The parameter nobody is the
// NOBODY_SLOT_USER. Events for a log that cannot be written are left to a later call; once they are
// older than tryFor, Finish gives them up with a warning.
func Finish(sp *spool.Spool, nobody string, warn func(format string, args ...any)) {
	if owes(sp.Dir()) {
		return
	}
	Deliver(sp, nobody, warn)
	f, folder := finisher{sp, nobody, warn}, sp.ClaimLock("")
	entries, _ := os.ReadDir(folder)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	for _, p := range pendingOf(folder, entries, nil) {
		f.finish(p)
	}
	_, kept := hooks.Files(folder, names)
	f.finishHooks(kept)
}

// Await waits until the pending events of a job's attempts with lower numbers than before are
// written, as the caller's next events are to follow them. It writes those of killed
// processes itself, as Finish does. It waits at most Patience.
func Await(sp *spool.Spool, nobody string, warn func(format string, args ...any), id pool.JobID, before int) {
	Deliver(sp, nobody, warn)
	f := finisher{sp, nobody, warn}
	f.await(func(p pendingFile) bool { return p.Job == id && p.Attempt < before })
}

// finisher writes the pending events of others.
type finisher struct {
	spool  *spool.Spool
	nobody string
	warn   func(format string, args ...any)
}

// await waits until the events of the files that which selects are written, at most
// Patience.
func (f finisher) await(which func(pendingFile) bool) {
	for end := time.Now().Add(Patience); ; time.Sleep(5 * time.Millisecond) {
		busy := false
		for _, p := range pendingFiles(f.spool, which) {
			busy = !f.finish(p) || busy
		}
		if !busy || time.Now().After(end) {
			return
		}
	}
}

// finish writes the events of a file unless another process still has its lock. It reports
// false if the events are still to be waited for.
func (f finisher) finish(p pendingFile) bool {
	file, err := os.OpenFile(p.path, os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	if locked, _ := spool.LockClaim(file); !locked {
		return false
	}
	over, err := f.isOver(p)
	if err != nil {
		f.warn("%s: %v", p.path, err)
		return false
	}
	if !isLinked(file) { // another has finished it, or its transaction was not committed
		return true
	}
	written := over && f.write(file)
	switch {
	case over && !written: // another may succeed later
	case p.Attempt == 0:
		os.Remove(p.path)
	case over:
		file.Truncate(0) // the rest of the attempt's remains is the starter's
	}
	return true
}

// isOver reports whether the transaction was committed: the attempt has ended, or the job
// that had none is removed.
func (f finisher) isOver(p pendingFile) (over bool, err error) {
	err = f.spool.View(func(v *spool.View) error {
		claim, claimed := v.Claim(p.Job)
		if p.Attempt > 0 {
			over = !claimed || claim.Attempt != p.Attempt
			return nil
		}
		ad, there := v.Job(p.Job)
		if over = !there; there && !claimed {
			status, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
			over = pool.Status(status) == pool.Removed
		}
		return nil
	})
	return over, err
}

// write writes the events of a file to their logs, where they are missing. It reports false
// if that is to be tried again.
func (f finisher) write(file *os.File) bool {
	text, err := io.ReadAll(file)
	batches, whole := batchesOf(text)
	if err != nil || !whole && len(text) > 0 {
		f.warn("%s: it is incomplete: some events may be missing in the logs of jobs", file.Name())
	}
	left := Patience
	var bad []error
	for _, b := range batches {
		err := asuser.Do(b.Owner, f.nobody, func() error { return userlog.AppendMissing(&left, b.Path, b.text) })
		if err != nil {
			bad = append(bad, err)
		}
	}
	var kept unix.Stat_t // the content's time of change is a sign of life, the status's is not
	if err := unix.Fstat(int(file.Fd()), &kept); len(bad) > 0 && err == nil && time.Since(time.Unix(kept.Ctim.Unix())) < tryFor {
		return false
	}
	for _, err := range bad {
		f.warn("job log: %v; everything else is done", err)
	}
	return true
}

// If root's starter runs the jobs of a spool as their owners, the spool's account may not write to
// their logs. So a process of the account owes them its events: it leaves them in claims.d, once
// their transaction is committed, in a file of the form of pending ones with a name that begins
// with owed- and the time. Root's starter delivers them with the rights of the owners, the oldest
// first, before it writes anything else to a log. It marks the name of a file when it begins with
// it: a file with the mark may have been delivered already, and only events that the logs lack are
// written.

const (
	owedPrefix = "owed-"
	begunName  = ".begun" // ends the name of a file whose delivery has begun
)

// owes reports whether this process leaves events for the logs of jobs of the spool in dir to
// root's starter.
func owes(dir string) bool { return !asuser.Privileged() && spool.RunByRoot(dir) }

var owing atomic.Int64

// owedName returns the path of a new file with owed events in a folder. Names sort in the order
// of creation.
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
	return putOwed(owedName(claims(dir), time.Now()), v.batches())
}

// claims returns the folder of claims of a spool.
func claims(dir string) string { return filepath.Join(dir, "claims.d") }

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
func owedAt(path string) time.Time { return hooks.NamedAt(path, owedPrefix) }

// Deliver writes the events that are owed to the logs of jobs, if this process can, as one of root's. The
// parameter nobody is the NOBODY_SLOT_USER. While another process delivers it waits, at most Patience.
// Events for a log that cannot be written stay, with all later ones for that log; once they are older
// than tryFor, Deliver gives them up with a warning.
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

// lockFolder takes the flock on the folder of claims, which only deliverers take. It
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

// deliver writes the events of a file to the logs, except to logs in late, to which it adds logs
// that cannot be written. The file stays with the events that are not written.
func (f finisher) deliver(path string, late map[string]bool) error {
	name, again := strings.CutSuffix(path, begunName)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	batches, whole := batchesOf(text)
	if !whole {
		f.warn("%s: it is incomplete: some events may be missing in the logs of jobs", path)
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
			f.warn("job log: %v; everything else is done", err)
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

package spool

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// Archived is a file of the history or the log that Archive has moved out of the
// spool.
type Archived struct {
	File    string // in the spool, such as history/2026-10.ads
	To      string // where it is now; empty: it was missing
	Bytes   int64
	CRC     uint32 // CRC-32C of the bytes
	Damaged bool   // it did not check, or was missing
}

// archived notes that nothing of a file counts any more.
func (s *state) archived(file string) error {
	folder, name, _ := strings.Cut(file, "/")
	months := map[string]map[string]stretch{"history": s.history, "log": s.log}[folder]
	name = strings.TrimSuffix(name, ".ads")
	if months == nil || !aMonth.MatchString(name) {
		return fmt.Errorf("%q: not a file of the history or the log", file)
	}
	if _, ok := months[name]; ok {
		months[name] = stretch{}
	}
	return nil
}

// Archive moves the history and the log of a month that has passed to a directory,
// which it makes if need be, empty for the folder archive of the spool, and records
// that they are archived. They are held to their checksums first. With damaged it
// moves instead what does not check, as it stands, also of the present month, to
// names that end in .damaged. It returns what it has moved, nothing if all of that
// was archived before.
//
// The copies are complete and durable before anything is recorded, and what was
// copied is removed after that, so that a crash at any moment loses nothing and
// Archive can be called again.
func (s *Spool) Archive(month, dir string, damaged bool) ([]Archived, error) {
	if s.inUse {
		return nil, errNested
	}
	a := &archiving{spool: s, month: month, dir: dir, damaged: damaged, known: map[string]stretch{}}
	// Folds, which add to the log before they take the writers' lock, are kept out, and
	// so is another Archive.
	err := s.locked("fold.lock", s.options.LockWait, func(file) error { return a.do() })
	if err != nil {
		return nil, err
	}
	return a.files, nil
}

func (a *archiving) do() error {
	if err := a.begin(); err != nil {
		return err
	}
	for _, file := range []string{historyFile(a.month), logFile(a.month)} {
		if known, ok := a.known[file]; ok {
			if err := a.copy(file, known); err != nil {
				return err
			}
		}
	}
	switch {
	case len(a.files) > 0:
		return a.commit()
	case a.damaged:
		return fmt.Errorf("%s: nothing of it is damaged", a.month)
	}
	return nil
}

// archiving is an Archive at work.
type archiving struct {
	spool   *Spool
	month   string
	dir     string
	damaged bool
	known   map[string]stretch // what is recorded of the month's files; an end of 0: archived before
	files   []Archived
}

// archiveDir is the folder of the spool that months are archived in by default.
const archiveDir = "archive"

// begin checks that the month can be archived, and reads what is recorded of it.
func (a *archiving) begin() (err error) {
	s := a.spool
	if !aMonth.MatchString(a.month) {
		return fmt.Errorf("%q: not a month such as 2026-11", a.month)
	}
	if a.dir == "" {
		a.dir = s.path(archiveDir)
	}
	if a.dir, err = filepath.Abs(a.dir); err != nil {
		return err
	}
	if Inside(a.dir, s.dir) && a.dir != s.path(archiveDir) {
		return fmt.Errorf("%s: it lies in the spool: give a directory outside of it", a.dir)
	}
	for _, now := range []time.Time{time.Now(), s.options.Now} {
		if !a.damaged && !now.IsZero() && monthOf(now) == a.month {
			return fmt.Errorf("%s is not over, and more will be added to it: archive it next month, or what is damaged of it with -damaged", a.month)
		}
	}
	if err := s.refresh(); err != nil {
		return err
	}
	a.recorded(s.state, a.known)
	if len(a.known) == 0 {
		return fmt.Errorf("%s: neither history nor log is recorded of that month", a.month)
	}
	return nil
}

// recorded adds what a state has on record of the month's files.
func (a *archiving) recorded(st *state, to map[string]stretch) {
	if known, ok := st.history[a.month]; ok {
		to[historyFile(a.month)] = known
	}
	if known, ok := st.log[a.month]; ok {
		to[logFile(a.month)] = known
	}
}

// copy copies a file that is to be moved.
func (a *archiving) copy(file string, known stretch) error {
	path := a.spool.path(file)
	from, err := a.spool.files.Open(path, readOnly, 0)
	if errors.Is(err, fs.ErrNotExist) && (known.end == 0 || a.damaged) {
		if known.end > 0 {
			a.files = append(a.files, Archived{File: file, Damaged: true})
		}
		return nil
	}
	if err != nil {
		return refusedMonth(a.month, missing(path, err))
	}
	defer from.Close()
	to, err := a.target(file, from, known)
	if err != nil || to.To == "" {
		return err
	}
	a.files = append(a.files, to)
	return a.write(from, to)
}

// target returns what of a file is to be moved, and where to: nowhere if it stays.
// A file of which nothing is on record any more was left by an Archive that was
// killed.
func (a *archiving) target(file string, from file, known stretch) (to Archived, err error) {
	size, err := from.Size()
	if err != nil {
		return to, err
	}
	path := a.spool.path(file)
	wrong := shorter(path, size, known)
	if size >= known.end {
		wrong = sums(path, from, known)
	}
	switch {
	case wrong != nil && (!isDamage(wrong) || !a.damaged):
		return to, refusedMonth(a.month, wrong)
	case wrong == nil && a.damaged && known.end > 0:
		return to, nil
	}
	to = Archived{File: file, To: filepath.Join(a.dir, filepath.Base(file)), Bytes: known.end, CRC: known.crc, Damaged: wrong != nil}
	if strings.HasPrefix(file, "log/") {
		to.To += ".log"
	}
	if a.damaged {
		to.To += ".damaged"
	}
	if wrong != nil || known.end == 0 {
		to.Bytes = size
		to.CRC, err = sumTo(from, size)
	}
	return to, err
}

// write makes a durable copy of a file, unless it is there.
func (a *archiving) write(from file, to Archived) error {
	fsys := a.spool.files
	there, err := a.there(from, to)
	if err != nil {
		return err
	}
	if there { // its name may not be durable yet
		return fsys.SyncDir(a.dir)
	}
	if err := mkdirAll(fsys, a.dir); err != nil {
		return err
	}
	temporary := to.To + ".new"
	err = a.copyTo(temporary, from, to)
	if err == nil {
		err = fsys.Rename(temporary, to.To)
	}
	if err != nil {
		fsys.Remove(temporary)
		return err
	}
	return fsys.SyncDir(a.dir)
}

// there reports whether the copy is there, whole. The beginning of one is replaced: it
// was made by an Archive that did not record it, before the month had its last entries.
func (a *archiving) there(from file, to Archived) (whole bool, err error) {
	f, err := a.spool.files.Open(to.To, readOnly, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return false, err
	}
	least := min(size, to.Bytes)
	sum, err := sumTo(f, least)
	if err != nil {
		return false, err
	}
	want, err := sumTo(from, least)
	if err == nil && (size > to.Bytes || sum != want) {
		err = fmt.Errorf("%s: another file is there: name another directory", to.To)
	}
	return size == to.Bytes, err
}

// copyTo writes the bytes of a file that are to be archived to a new one.
func (a *archiving) copyTo(name string, from file, to Archived) (err error) {
	f, err := a.spool.files.Open(name, readWrite|create|truncate, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	b := make([]byte, min(to.Bytes, 1<<20))
	sum := uint32(0)
	for at := int64(0); at < to.Bytes; {
		n, err := from.ReadAt(b[:min(int64(len(b)), to.Bytes-at)], at)
		if n == 0 && err != nil {
			return err
		}
		if _, err := f.WriteAt(b[:n], at); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli, b[:n])
		at += int64(n)
	}
	if sum != to.CRC {
		return fmt.Errorf("%s changed while it was copied: run the command again", a.spool.path(to.File))
	}
	return f.Sync()
}

// commit records that the files are archived, and removes them.
func (a *archiving) commit() error {
	return a.spool.update(func(tx *Tx) error {
		tx.UseReserve() // for what is removed then
		tx.Op("archive", a.month, a.dir)
		now := map[string]stretch{}
		a.recorded(tx.state(), now)
		for _, to := range a.files {
			if now[to.File] != a.known[to.File] {
				return fmt.Errorf("%s changed meanwhile: run the command again", to.File)
			}
			if a.known[to.File].end > 0 {
				tx.put(record{Kind: 'h', Name: to.File})
			}
		}
		return nil
	}, a.remove)
}

// remove removes what was copied. What stays counts for nothing.
func (a *archiving) remove() {
	for _, to := range a.files {
		err := a.spool.files.Remove(a.spool.path(to.File))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.spool.warn("%s is archived, but could not be removed: %v: run the command again", to.File, err)
		}
	}
}

package spool

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/attrtext"
	"fairspool/spool/internal/files"
)

// historyBuffer is how much of the history is kept in memory: the ads of a large cluster are many times the size of what the spool stores
// of it.
const historyBuffer = 1 << 20

// monthOf names the month whose history or log something of that time goes to.
func monthOf(t time.Time) string { return t.UTC().Format("2006-01") }

// A footer stands behind the lines of each ad of the history: the CRC-32C of the file from its beginning up to the footer, and a blank
// line. A reader that begins at the end knows from the journal what the checksum is there, and from each footer what it is before the ad
// that follows: so it checks all that it reads without reading the rest. Readers of the long form take the footer for a comment.
const (
	footerHead = "# checksum "
	footerSize = len(footerHead) + len("00000000\n\n")
)

func appendFooter(b []byte, crc uint32) []byte {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc)
	return append(hex.AppendEncode(append(b, footerHead...), sum[:]), adEnd...)
}

// footerOf reads the footer that text ends with. It returns the checksum of the file up to the footer, and behind it.
func footerOf(text []byte) (before, behind uint32, ok bool) {
	if len(text) < footerSize {
		return 0, 0, false
	}
	footer := text[len(text)-footerSize:]
	n, err := strconv.ParseUint(string(footer[len(footerHead):footerSize-2]), 16, 32)
	before = uint32(n)
	if err != nil || !bytes.Equal(footer, appendFooter(make([]byte, 0, footerSize), before)) {
		return 0, 0, false
	}
	return before, crc32.Update(before, castagnoli, footer), true
}

// month is the end of one month's history or log while a transaction or a fold adds to it. What it writes lies behind the recorded end, and
// counts for nothing until the new end is committed.
type month struct {
	name   string // such as 2026-11
	file   files.File
	known  stretch // what is recorded
	end    int64   // behind what was written
	crc    uint32  // of all up to end and the buffer
	buffer []byte
}

// openMonth opens a file that is only appended to, to write behind its recorded end. A file that is missing or shorter, or that sound
// refuses, is damaged and left as it is. Bytes behind the end are a dead writer's and are cut off, once settled has succeeded.
func (s *Spool) openMonth(path, name string, known stretch, sound func(string, files.File, stretch) error, settled func() error) (*month, error) {
	path = s.path(path)
	flag := files.ReadWrite
	if known.end == 0 {
		flag |= files.Create
	}
	f, err := s.files.Open(path, flag, 0o600)
	if err != nil {
		return nil, refusedMonth(name, missing(path, err))
	}
	m := &month{name: name, file: f, known: known, end: known.end, crc: known.crc}
	size, err := f.Size()
	switch {
	case err != nil:
	case size < known.end:
		err = shorter(path, size, known)
	default:
		err = sound(path, f, known)
	}
	if err == nil && size > known.end {
		if err = settled(); err == nil {
			err = f.Truncate(known.end)
		}
	}
	if err != nil {
		f.Close()
		return nil, refusedMonth(name, err)
	}
	return m, nil
}

// openRecorded opens a file that is only appended to, to read what is recorded of it. A file that is missing or shorter is damaged.
func (s *Spool) openRecorded(path string, known stretch) (files.File, error) {
	f, err := s.files.Open(path, files.ReadOnly, 0)
	if err != nil {
		return nil, missing(path, err)
	}
	size, err := f.Size()
	if err == nil && size < known.end {
		err = shorter(path, size, known)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// shorter says that a file that is only appended to lacks bytes that were recorded.
func shorter(path string, size int64, known stretch) error {
	return &DamageError{path, 1, fmt.Sprintf("%d bytes are there, recorded are %d", size, known.end)}
}

// refusedMonth adds to damage that keeps a writer from adding to a month what to do about it.
func refusedMonth(name string, err error) error {
	var d *DamageError
	if errors.As(err, &d) {
		return &DamageError{d.File, d.Line, d.Why + ": restore the file from a copy, or set it aside with spool archive -damaged " + name}
	}
	return err
}

// put adds text to the buffer.
func (m *month) put(text ...[]byte) {
	begin := len(m.buffer)
	for _, t := range text {
		m.buffer = append(m.buffer, t...)
	}
	m.crc = crc32.Update(m.crc, castagnoli, m.buffer[begin:])
}

// putAd adds the lines of an ad of the history, and its footer.
func (m *month) putAd(lines ...[]byte) error {
	m.put(lines...)
	begin := len(m.buffer)
	m.buffer = appendFooter(m.buffer, m.crc)
	m.crc = crc32.Update(m.crc, castagnoli, m.buffer[begin:])
	if len(m.buffer) < historyBuffer {
		return nil
	}
	return m.flush()
}

// flush writes the buffer.
func (m *month) flush() error {
	if _, err := m.file.WriteAt(m.buffer, m.end); err != nil {
		return err
	}
	m.end += int64(len(m.buffer))
	m.buffer = m.buffer[:0]
	return nil
}

// keep makes what was written durable.
func (m *month) keep(s *Spool, dir string) error {
	err := m.flush()
	if err == nil {
		err = m.file.Sync()
	}
	if err == nil && m.known.end == 0 { // perhaps a new name in the directory
		err = s.files.SyncDir(s.path(dir))
	}
	return err
}

// drop puts the file back to the recorded end, as far as that succeeds. What stays behind it counts for nothing, and the next writer cuts
// it off.
func (m *month) drop() {
	if size, err := m.file.Size(); err == nil && size > m.known.end {
		m.file.Truncate(m.known.end)
	}
}

// history opens the month of a time for a transaction.
func (tx *Tx) history(t time.Time) (*month, error) {
	name := monthOf(t)
	if i := slices.IndexFunc(tx.months, func(m *month) bool { return m.name == name }); i >= 0 {
		return tx.months[i], nil
	}
	// A dead writer's transaction may have been cut from the journal and not durably so: a power cut would bring it back without its ads,
	// were they cut off first.
	m, err := tx.spool.openMonth(historyFile(name), name, tx.state().history[name], endsWithFooter, tx.settled)
	if err != nil {
		return nil, err
	}
	tx.months = append(tx.months, m)
	return m, nil
}

// historyFile returns the name of a month's history in the spool.
func historyFile(month string) string { return "history/" + month + ".ads" }

// endsWithFooter returns an error unless a month's history ends, where that is recorded, with the footer of the recorded checksum. Readers
// check the ads before it.
func endsWithFooter(path string, f files.File, known stretch) error {
	if known.end == 0 {
		return nil
	}
	at := max(known.end-int64(footerSize), 0)
	b := make([]byte, known.end-at)
	if n, err := f.ReadAt(b, at); n < len(b) {
		return err
	}
	if _, behind, ok := footerOf(b); !ok || behind != known.crc {
		return &DamageError{path, lineAt(f, at), "the last ad is not the one that was recorded"}
	}
	return nil
}

// Leave takes a job out of the queue at the time t and writes its ad, as it is now, to the history of t's month.
func (tx *Tx) Leave(id pool.JobID, t time.Time) { tx.LeaveRange(pool.Only(id), t) }

// LeaveRange does as Leave for some procs, all of which must be in the queue.
func (tx *Tx) LeaveRange(p pool.Procs, t time.Time) {
	if _, ok := tx.Cluster(p.Cluster); !ok {
		tx.fail(fmt.Errorf("cluster %d: not in the queue", p.Cluster))
		return
	}
	c, err := tx.loaded.jobs.change(tx.loaded.own, p.Cluster, (*Cluster).fork)
	if err == nil && tx.spool.forked == nil {
		err = remember(tx, c, p, t)
	}
	if err != nil {
		tx.fail(err)
		return
	}
	owner, before := c.Charged()
	tx.put(record{Kind: 'L', Procs: p})
	by := Owner{Jobs: -p.Count(), Bytes: c.bytes - before}
	if c.procs == 0 {
		by.Clusters = -1
		if c.Ad.Has(pool.AttrFlockedFrom) { // no other cluster has an input
			Inputs.Drop(tx, p.Cluster)
		}
	}
	tx.charge(owner, by)
}

// remember writes the ads of procs that leave at a time to the history.
func remember(tx *Tx, c *Cluster, p pool.Procs, t time.Time) error {
	from, to, err := c.cutOut(p)
	if err != nil {
		return err
	}
	m, err := tx.history(t)
	if err != nil {
		return err
	}
	for _, r := range c.Runs[from:to] {
		if err := m.add(r); err != nil {
			return err
		}
	}
	return nil
}

// add writes the ads of a run's procs: a line for each attribute, sorted, and a footer. Expressions are written as in the journal, so that
// a value with a line break in it stays one line. What the procs share is worked out once.
func (m *month) add(r Run) error {
	var before, after []byte // the lines before and behind that of ProcId
	for _, name := range r.Proc(r.First).Names() {
		if strings.EqualFold(name, pool.AttrProcID) || strings.EqualFold(name, pool.AttrBatchScript) {
			continue // a script of a thousand jobs would be there a thousand times
		}
		e, _ := r.Ad.Lookup(name)
		if strings.ToLower(name) < strings.ToLower(pool.AttrProcID) {
			before = appendHistory(before, name, e)
		} else {
			after = appendHistory(after, name, e)
		}
	}
	var line []byte
	for proc := r.First; proc <= r.Last; proc++ {
		line = fmt.Appendf(line[:0], "%s = %d\n", pool.AttrProcID, proc)
		if err := m.putAd(before, line, after); err != nil {
			return err
		}
	}
	return nil
}

func appendHistory(b []byte, name string, e *classad.Expr) []byte {
	b = append(attrtext.AppendName(b, name), " = "...)
	return append(e.AppendTo(b, classad.StyleSpool), '\n')
}

// Archived is a file of the history or the log that Archive has moved out of the spool.
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

// Archive moves the history and the log of a month that has passed to a directory, which it makes if need be, empty for the folder archive
// of the spool, and records that they are archived. They are held to their checksums first. With damaged it moves instead what does not
// check, as it stands, also of the present month, to names that end in .damaged. It returns what it has moved, nothing if all of that was
// archived before.
//
// The copies are complete and durable before anything is recorded, and what was copied is removed after that, so that a crash at any moment
// loses nothing and Archive can be called again.
func (s *Spool) Archive(month, dir string, damaged bool) ([]Archived, error) {
	if s.inUse {
		return nil, errNested
	}
	a := &archiving{spool: s, month: month, dir: dir, damaged: damaged, known: map[string]stretch{}}
	// Folds, which add to the log before they take the writers' lock, are kept out, and so is another Archive.
	err := s.locked("fold.lock", s.options.LockWait, func(files.File) error { return a.do() })
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
		return fmt.Errorf("%s: it is in the spool: give a directory outside of it", a.dir)
	}
	for _, now := range []time.Time{time.Now(), s.options.Now} {
		if !a.damaged && !now.IsZero() && monthOf(now) == a.month {
			return fmt.Errorf("%s is not over, and more will be added to it: archive it next month, or its damaged files with -damaged", a.month)
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
	from, err := a.spool.files.Open(path, files.ReadOnly, 0)
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

// target returns what of a file is to be moved, and where to: nowhere if it stays. A file of which nothing is on record any more was left
// by an Archive that was killed.
func (a *archiving) target(file string, from files.File, known stretch) (to Archived, err error) {
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
		to.CRC, err = files.Sum(from, size)
	}
	return to, err
}

// write makes a durable copy of a file, unless it is there.
func (a *archiving) write(from files.File, to Archived) error {
	fsys := a.spool.files
	there, err := a.there(from, to)
	if err != nil {
		return err
	}
	if there { // its name may not be durable yet
		return fsys.SyncDir(a.dir)
	}
	if err := files.MkdirAll(fsys, a.dir); err != nil {
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

// there reports whether the copy is there, whole. The beginning of one is replaced: it was made by an Archive that did not record it,
// before the month had its last entries.
func (a *archiving) there(from files.File, to Archived) (whole bool, err error) {
	f, err := a.spool.files.Open(to.To, files.ReadOnly, 0)
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
	sum, err := files.Sum(f, least)
	if err != nil {
		return false, err
	}
	want, err := files.Sum(from, least)
	if err == nil && (size > to.Bytes || sum != want) {
		err = fmt.Errorf("%s: another file is there: name another directory", to.To)
	}
	return size == to.Bytes, err
}

// copyTo writes the bytes of a file that are to be archived to a new one.
func (a *archiving) copyTo(name string, from files.File, to Archived) (err error) {
	f, err := a.spool.files.Open(name, files.ReadWrite|files.Create|files.Truncate, 0o600)
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

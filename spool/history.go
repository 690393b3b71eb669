package spool

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// historyBuffer is how much of the history is kept in memory: the ads of a
// large cluster are many times the size of what the spool stores of it.
const historyBuffer = 1 << 20

// monthOf names the month whose history or log something of that time goes to.
func monthOf(t time.Time) string { return t.UTC().Format("2006-01") }

// A footer stands behind the lines of each ad of the history: the CRC-32C of the
// file from its beginning up to the footer, and a blank line. A reader that begins
// at the end knows from the journal what the checksum is there, and from each
// footer what it is before the ad that follows: so it checks all that it reads
// without reading the rest. Readers of the long form take the footer for a comment.
const (
	footerHead = "# checksum "
	footerSize = len(footerHead) + len("00000000\n\n")
)

func appendFooter(b []byte, crc uint32) []byte {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc)
	return append(hex.AppendEncode(append(b, footerHead...), sum[:]), adEnd...)
}

// footerOf reads the footer that text ends with. It returns the checksum of the file
// up to the footer, and behind it.
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

// month is the end of one month's history or log while a transaction or a fold adds
// to it. What it writes lies behind the recorded end, and counts for nothing until
// the new end is committed.
type month struct {
	name   string // such as 2026-11
	file   file
	known  stretch // what is recorded
	end    int64   // behind what was written
	crc    uint32  // of all up to end and the buffer
	buffer []byte
}

// openMonth opens a file that is only appended to, to write behind its recorded
// end. A file that is missing or shorter, or that sound refuses, is damaged and
// left as it is. Bytes behind the end are a dead writer's and are cut off, once
// settled has succeeded.
func (s *Spool) openMonth(path, name string, known stretch, sound func(string, file, stretch) error, settled func() error) (*month, error) {
	path = s.path(path)
	flag := readWrite
	if known.end == 0 {
		flag |= create
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

// openRecorded opens a file that is only appended to, to read what is recorded of it. A
// file that is missing or shorter is damaged.
func (s *Spool) openRecorded(path string, known stretch) (file, error) {
	f, err := s.files.Open(path, readOnly, 0)
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

// refusedMonth adds to damage that keeps a writer from adding to a month what to do
// about it.
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

// drop puts the file back to the recorded end, as far as that succeeds. What
// stays behind it counts for nothing, and the next writer cuts it off.
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
	// A dead writer's transaction may have been cut from the journal and not durably
	// so: a power cut would bring it back without its ads, were they cut off first.
	m, err := tx.spool.openMonth(historyFile(name), name, tx.state().history[name], endsWithFooter, tx.settled)
	if err != nil {
		return nil, err
	}
	tx.months = append(tx.months, m)
	return m, nil
}

// historyFile returns the name of a month's history in the spool.
func historyFile(month string) string { return "history/" + month + ".ads" }

// endsWithFooter returns an error unless a month's history ends, where that is
// recorded, with the footer of the recorded checksum. Readers check the ads before it.
func endsWithFooter(path string, f file, known stretch) error {
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

// Leave takes a job out of the queue at the time t and writes its ad, as it is
// now, to the history of t's month.
func (tx *Tx) Leave(id pool.JobID, t time.Time) { tx.LeaveRange(pool.Only(id), t) }

// LeaveRange does as Leave for some procs, all of which must be in the queue.
func (tx *Tx) LeaveRange(p pool.Procs, t time.Time) {
	c, ok := tx.Cluster(p.Cluster)
	if !ok {
		tx.fail(fmt.Errorf("cluster %d: not in the queue", p.Cluster))
		return
	}
	from, to, err := c.cutOut(p)
	if err != nil {
		tx.fail(err)
		return
	}
	m, err := tx.history(t)
	if err != nil {
		tx.fail(err)
		return
	}
	for _, r := range c.Runs[from:to] {
		if err := m.add(r); err != nil {
			tx.fail(err)
			return
		}
	}
	owner, before := c.Charged()
	tx.put(record{Kind: 'L', Procs: p})
	by := Owner{Jobs: -p.Count(), Bytes: c.bytes - before}
	if c.procs == 0 {
		by.Clusters = -1
	}
	tx.charge(owner, by)
}

// add writes the ads of a run's procs: a line for each attribute, sorted, and a
// footer. Expressions are written as in the journal, so that a value with a
// line break in it stays one line. What the procs share is worked out once.
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
	b = append(appendName(b, name), " = "...)
	return append(e.AppendTo(b, classad.StyleSpool), '\n')
}

package spool

import (
	"fmt"
	"hash/crc32"
	"slices"
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

// month is the end of one month's history while a transaction adds to it. What
// it writes lies behind the end that the journal has on record, and counts for
// nothing until the transaction is committed with the new end.
type month struct {
	name     string // such as 2026-11
	file     file
	recorded int64  // the end on record
	start    int64  // where this transaction began to write
	end      int64  // behind what was written
	crc      uint32 // of all up to end
	buffer   []byte
}

// history opens the month of a time for a transaction. Bytes behind the end on
// record are a dead writer's and are cut off first.
func (tx *Tx) history(t time.Time) (*month, error) {
	name := monthOf(t)
	if i := slices.IndexFunc(tx.months, func(m *month) bool { return m.name == name }); i >= 0 {
		return tx.months[i], nil
	}
	s := tx.spool
	f, err := s.files.Open(s.path("history/"+name+".ads"), readWrite|create, 0o600)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	known := tx.state().history[name]
	m := &month{name: name, file: f, recorded: known.end}
	tx.months = append(tx.months, m)
	if err := m.open(known.crc, tx.settled); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return m, nil
}

// open gets ready to write behind the end on record. If the file is shorter,
// somebody took old ads away, which is theirs to do, and what is left counts.
func (m *month) open(crc uint32, settled func() error) error {
	size, err := m.file.Size()
	if err == nil && size > m.recorded {
		// Their transaction may have been cut from the journal and not durably
		// so: then a power cut would bring it back, without its ads.
		if err = settled(); err == nil {
			err = m.file.Truncate(m.recorded)
		}
	}
	if err != nil {
		return err
	}
	m.start, m.crc = min(size, m.recorded), crc
	if m.start < m.recorded {
		left, err := tail(m.file, 0)
		if err != nil {
			return err
		}
		m.crc = checksum(left)
	}
	m.end = m.start
	return nil
}

// flush writes the buffer.
func (m *month) flush() error {
	if _, err := m.file.WriteAt(m.buffer, m.end); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	m.end += int64(len(m.buffer))
	m.crc = crc32.Update(m.crc, castagnoli, m.buffer)
	m.buffer = m.buffer[:0]
	return nil
}

// keep makes what was written durable.
func (m *month) keep(s *Spool, dir string) error {
	err := m.flush()
	if err == nil {
		err = m.file.Sync()
	}
	if err == nil && m.start == 0 { // perhaps a new name in the directory
		err = s.files.SyncDir(s.path(dir))
	}
	return err
}

// drop puts the file back to the end on record, as far as that succeeds. What
// stays behind it counts for nothing, and the next writer cuts it off.
func (m *month) drop() {
	if size, err := m.file.Size(); err == nil && size > m.recorded {
		m.file.Truncate(m.recorded)
	}
}

// Leave takes a job out of the queue at the time t and writes its ad, as it is
// now, to the history of t's month.
func (tx *Tx) Leave(id pool.JobID, t time.Time) { tx.LeaveRange(id.Cluster, id.Proc, id.Proc, t) }

// LeaveRange does as Leave for the procs first to last, all of which must be in
// the queue.
func (tx *Tx) LeaveRange(cluster, first, last int, t time.Time) {
	c, ok := tx.Cluster(cluster)
	if !ok {
		tx.fail(fmt.Errorf("cluster %d: not in the queue", cluster))
		return
	}
	from, to, err := c.span(first, last)
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
	tx.put(record{Kind: 'L', Cluster: cluster, First: first, Last: last})
}

// add writes the ads of a run's procs: a line for each attribute, sorted, and a
// blank line. Expressions are written as in the journal, so that a value with a
// line break in it stays one line. What the procs share is worked out once.
func (m *month) add(r Run) error {
	var before, after []byte // the lines before and behind that of ProcId
	for _, name := range r.Proc(r.First).Names() {
		if strings.EqualFold(name, pool.AttrProcID) {
			continue
		}
		e, _ := r.Ad.Lookup(name)
		if strings.ToLower(name) < strings.ToLower(pool.AttrProcID) {
			before = appendHistory(before, name, e)
		} else {
			after = appendHistory(after, name, e)
		}
	}
	after = append(after, '\n')
	for proc := r.First; proc <= r.Last; proc++ {
		m.buffer = append(m.buffer, before...)
		m.buffer = fmt.Appendf(m.buffer, "%s = %d\n", pool.AttrProcID, proc)
		m.buffer = append(m.buffer, after...)
		if len(m.buffer) >= historyBuffer {
			if err := m.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func appendHistory(b []byte, name string, e *classad.Expr) []byte {
	b = append(appendName(b, name), " = "...)
	return append(e.AppendTo(b, classad.StyleSpool), '\n')
}

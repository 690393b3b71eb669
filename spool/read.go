package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// DamageError says that bytes of the journal which were once committed do not
// check. Nothing is read past them and nothing is overwritten.
type DamageError struct {
	File string
	Line int // where the transaction begins, or the record in it
	Why  string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s:%d: damaged: %s: restore the file from a copy; nothing was changed", e.File, e.Line, e.Why)
}

// position is how far a reader has come: behind transaction seq of the
// generation, whose journal it has read up to byte off. The zero position is
// nowhere; start is the beginning of a generation.
type position struct {
	generation int
	off        int64
	lines      int // lines of the journal up to off
	seq        uint64
	next       int // the next free cluster number
	crc        uint32
}

func start(generation int) position { return position{generation: generation, next: 1} }

// ack returns the position as the lock file would note it.
func (p position) ack() ack { return ack{p.generation, p.off, p.seq, p.next, p.crc} }

// pass moves the position behind a transaction.
func (p *position) pass(f frame, text []byte) {
	p.off += int64(f.Size)
	p.lines += bytes.Count(text, newline)
	p.seq, p.next, p.crc = f.Seq, f.Next, f.CRC
}

// contradicts tells whether what was read up to the position cannot be what
// was acknowledged: the same transaction reads otherwise, or a later one ended
// before it.
func (p position) contradicts(known ack) bool {
	if known.Generation == 0 { // not known
		return false
	}
	return known.Seq == p.seq && known != p.ack() || known.Seq > p.seq && known.End <= p.off
}

// View runs fn on the spool as of the last complete transaction. It takes no
// lock and never waits. A later View on the same Spool reads only what was
// added since.
func (s *Spool) View(fn func(*View) error) error {
	if s.updating {
		return errNested
	}
	if err := s.refresh(); err != nil {
		return err
	}
	return fn(&View{spool: s, loaded: s.state, seq: s.at.seq, next: s.at.next})
}

// refresh brings the state up to the last complete transaction.
func (s *Spool) refresh() error {
	generation, err := s.current()
	if err != nil {
		return err
	}
	if s.state == nil || generation != s.at.generation {
		s.state, s.at = newState(), start(generation)
	}
	err = s.advance(&s.at, s.state.applyBody)
	var damage *DamageError
	if errors.As(err, &damage) {
		// Before anybody is told to look for a copy, once more from the start:
		// what was read may have been cut off since by its writer, which never
		// acknowledged it, or have been changed by writers while it was read.
		s.state, s.at = newState(), start(generation)
		err = s.advance(&s.at, s.state.applyBody)
	}
	if err != nil {
		s.forget()
	}
	return err
}

// forget drops what was read.
func (s *Spool) forget() { s.state, s.at = nil, position{} }

// advance hands the transactions behind the position to apply, and moves it
// on. The acknowledged end is read before the journal: bytes before it were
// complete when the journal was read.
func (s *Spool) advance(p *position, apply func(body []byte, seq uint64) error) error {
	known, err := s.acknowledged(p.generation)
	if err != nil {
		return err
	}
	journal, err := s.files.Open(s.journal(p.generation), os.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer journal.Close()
	size, err := journal.Size()
	if err != nil {
		return err
	}
	if size < p.off || p.contradicts(known) {
		return s.damage(*p, "transaction %d is not the one that was read before", p.seq)
	}
	b, err := tail(journal, p.off)
	if err != nil {
		return err
	}
	for len(b) > 0 {
		f, err := parseFrame(b, p.seq+1)
		if err != nil {
			if p.off < known.End {
				return s.damage(*p, "%v", err)
			}
			if anyFrameIn(b, p.seq) {
				return s.damage(*p, "%v, and a later transaction stands behind it", err)
			}
			return nil // a writer is at work, or died: not yet, or never, there
		}
		if err := apply(f.Body, f.Seq); err != nil {
			return s.damagedRecord(*p, err)
		}
		p.pass(f, b[:f.Size])
		b = b[f.Size:]
		if p.contradicts(known) {
			return s.damage(*p, "transaction %d is not the one that was acknowledged", p.seq)
		}
	}
	if p.off < known.End {
		return s.damage(*p, "%d bytes are missing at the end", known.End-p.off)
	}
	return nil
}

// damage says that what stands at the position does not check.
func (s *Spool) damage(p position, format string, args ...any) error {
	return &DamageError{s.journal(p.generation), p.lines + 1, fmt.Sprintf(format, args...)}
}

// damagedRecord says that a transaction at the position checks, but that one
// of its records cannot be applied.
func (s *Spool) damagedRecord(p position, err error) error {
	line := p.lines + 1
	var l *lineError
	if errors.As(err, &l) {
		line += l.line
	}
	return &DamageError{s.journal(p.generation), line, err.Error()}
}

func (s *Spool) journal(generation int) string {
	return filepath.Join(s.dir, "journal."+strconv.Itoa(generation))
}

// current reads which generation is in force.
func (s *Spool) current() (int, error) {
	b, err := contents(s.files, filepath.Join(s.dir, "CURRENT"))
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(string(b), "\n"))
	if err != nil || n < 1 {
		return 0, &DamageError{filepath.Join(s.dir, "CURRENT"), 1, fmt.Sprintf("%q is no generation", b)}
	}
	return n, nil
}

// acknowledged reads the acknowledged end of a generation's journal; the zero
// ack when the lock file does not know one.
func (s *Spool) acknowledged(generation int) (ack, error) {
	f, err := s.files.Open(filepath.Join(s.dir, "lock"), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ack{}, nil // left out of a copy, say; the next writer makes it
	}
	if err != nil {
		return ack{}, err
	}
	defer f.Close()
	a, ok, err := readAck(f)
	if err != nil || !ok || a.Generation != generation {
		return ack{}, err
	}
	return a, nil
}

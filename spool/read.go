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

// View runs fn on the spool as of the last complete transaction. It takes no
// lock and never waits. A later View on the same Spool reads only what was
// added since.
func (s *Spool) View(fn func(*View) error) error {
	if err := s.refresh(); err != nil {
		return err
	}
	return fn(&View{spool: s, loaded: s.state, seq: s.seq, next: s.next})
}

// refresh brings the state up to the last complete transaction.
func (s *Spool) refresh() error {
	cached := s.state != nil
	err := s.catchUp()
	var damage *DamageError
	if cached && errors.As(err, &damage) {
		// What was read before may have been cut off since by its writer,
		// which never acknowledged it. From the start then.
		s.forget()
		err = s.catchUp()
	}
	if err != nil {
		s.forget()
	}
	return err
}

func (s *Spool) forget() {
	s.state, s.generation, s.off, s.lines, s.seq, s.next, s.crc = nil, 0, 0, 0, 0, 1, 0
}

// catchUp applies the transactions behind off. The acknowledged end is read
// before the journal: bytes before it were complete when the journal was read.
func (s *Spool) catchUp() error {
	generation, err := s.current()
	if err != nil {
		return err
	}
	if s.state == nil || generation != s.generation {
		s.forget()
		s.state, s.generation = newState(), generation
	}
	known, _, err := s.acknowledged()
	if err != nil {
		return err
	}
	journal, err := s.files.Open(s.journal(), os.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer journal.Close()
	b, err := tail(journal, s.off)
	if err != nil {
		return err
	}
	if known.End == s.off && known.Seq == s.seq && known.CRC != s.crc {
		return s.damage("transaction %d is not the one that was read before", s.seq)
	}
	for len(b) > 0 {
		f, err := parseFrame(b, s.seq+1)
		if err != nil {
			if s.off < known.End {
				return s.damage("%v", err)
			}
			if anyFrameIn(b, s.seq) {
				return s.damage("%v, and a later transaction stands behind it", err)
			}
			return nil // a writer is at work, or died: not yet, or never, there
		}
		if err := s.accept(f, b[:f.Size]); err != nil {
			return err
		}
		b = b[f.Size:]
	}
	if s.off < known.End {
		return s.damage("%d bytes are missing at the end", known.End-s.off)
	}
	return nil
}

// accept applies a transaction that checks.
func (s *Spool) accept(f frame, text []byte) error {
	if err := s.state.applyBody(f.Body, f.Seq); err != nil {
		line := s.lines + 1
		var l *lineError
		if errors.As(err, &l) {
			line += l.line
		}
		return &DamageError{s.journal(), line, err.Error()}
	}
	s.off += int64(f.Size)
	s.lines += bytes.Count(text, newline)
	s.seq, s.next, s.crc = f.Seq, f.Next, f.CRC
	return nil
}

func (s *Spool) damage(format string, args ...any) error {
	return &DamageError{s.journal(), s.lines + 1, fmt.Sprintf(format, args...)}
}

func (s *Spool) journal() string {
	return filepath.Join(s.dir, "journal."+strconv.Itoa(s.generation))
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

// acknowledged reads the acknowledged end of the journal in force; ok is
// false when the lock file does not know one.
func (s *Spool) acknowledged() (ack, bool, error) {
	f, err := s.files.Open(filepath.Join(s.dir, "lock"), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ack{}, false, nil // left out of a copy, say; the next writer makes it
	}
	if err != nil {
		return ack{}, false, err
	}
	defer f.Close()
	a, ok, err := readAck(f)
	if err != nil || !ok || a.Generation != s.generation {
		return ack{}, false, err
	}
	return a, true, nil
}

package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Update runs fn and commits what it changed as one transaction, after which
// it survives a power cut; fn's error, or a change that could not be made,
// leaves the spool as it was. Writers wait for one another, at most LockWait
// long, after which the error is ErrLocked. A transaction that changes nothing
// writes nothing.
func (s *Spool) Update(fn func(*Tx) error) error {
	return s.locked("lock", s.options.LockWait, func(lock file) error {
		generation, err := s.current()
		if err != nil {
			return err
		}
		if generation != s.generation {
			s.forget()
			s.generation = generation
		}
		journal, err := s.files.Open(s.journal(), os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		defer journal.Close()
		end, err := s.mend(lock, journal)
		if err != nil {
			return err
		}
		tx := s.begin(end)
		if err := tx.run(fn); err != nil {
			s.forget() // the state may have seen changes that are void now
			return err
		}
		return s.commit(tx, lock, journal, end)
	})
}

// begin returns a transaction that follows the journal's end. It reads the
// state when something asks for it.
func (s *Spool) begin(end ack) *Tx {
	tx := &Tx{View: View{spool: s, seq: end.Seq + 1, next: end.Next}}
	tx.load = func() *state {
		err := s.refreshTo(end)
		if err == nil {
			err = s.state.applyBody(tx.body, tx.seq)
		}
		if err != nil {
			tx.fail(err)
			return newState()
		}
		return s.state
	}
	return tx
}

// refreshTo brings the state to exactly that end of the journal.
func (s *Spool) refreshTo(end ack) error {
	for range 2 {
		if err := s.refresh(); err != nil {
			return err
		}
		if s.off == end.End && s.seq == end.Seq && s.crc == end.CRC {
			return nil
		}
		s.forget() // it held a transaction that its writer took back
	}
	return s.damage("it changed under the lock")
}

// run calls fn and looks whether all that it changed can be committed.
func (tx *Tx) run(fn func(*Tx) error) error {
	if err := fn(tx); err != nil {
		return err
	}
	tx.settle()
	if tx.err == nil && len(tx.body) > 0 && tx.op == "" {
		return errUnnamed
	}
	return tx.err
}

// mend makes sure that the journal ends with a whole transaction and returns
// that end. It reads only what stands behind the acknowledged end, or
// everything when that is not known.
func (s *Spool) mend(lock, journal file) (ack, error) {
	end, ok, err := readAck(lock)
	if err != nil {
		return ack{}, err
	}
	size, err := journal.Size()
	if err != nil {
		return ack{}, err
	}
	if !ok || end.Generation != s.generation {
		if err := s.refresh(); err != nil {
			return ack{}, err
		}
		end = ack{s.generation, s.off, s.seq, s.next, s.crc}
	} else if err := s.checkEnd(journal, end, size); err != nil {
		return ack{}, err
	}
	if size == end.End {
		return end, nil
	}
	return s.adopt(journal, end)
}

// checkEnd looks whether the acknowledged transaction's end line stands where
// the journal was acknowledged to end.
func (s *Spool) checkEnd(journal file, end ack, size int64) error {
	if end.Seq == 0 && end.End == 0 {
		return nil
	}
	last := fmt.Sprintf("%d %08x\n", end.Next, end.CRC)
	b := make([]byte, min(int64(96), end.End))
	if size >= end.End {
		if _, err := journal.ReadAt(b, end.End-int64(len(b))); err != nil {
			return err
		}
		i := bytes.LastIndex(b, []byte("\nE "))
		if i >= 0 && strings.HasPrefix(string(b[i+1:]), fmt.Sprintf("E %d ", end.Seq)) && strings.HasSuffix(string(b), last) {
			return nil
		}
	}
	// Read it all, for the line; that it does not check is certain.
	s.forget()
	if err := s.catchUp(); err != nil {
		return err
	}
	return s.damage("it does not end with transaction %d as was acknowledged", end.Seq)
}

// adopt takes the whole transactions behind end, whose writer died before it
// could acknowledge them, and cuts off what does not check behind those.
func (s *Spool) adopt(journal file, end ack) (ack, error) {
	b, err := tail(journal, end.End)
	if err != nil {
		return ack{}, err
	}
	for len(b) > 0 {
		f, err := parseFrame(b, end.Seq+1)
		if err != nil {
			if anyFrameIn(b, end.Seq) {
				s.forget()
				if err := s.catchUp(); err != nil {
					return ack{}, err
				}
				return ack{}, s.damage("%v", err)
			}
			break
		}
		end = ack{end.Generation, end.End + int64(f.Size), f.Seq, f.Next, f.CRC}
		b = b[f.Size:]
	}
	if len(b) > 0 {
		if err := journal.Truncate(end.End); err != nil {
			return ack{}, err
		}
		s.warn("%s: cut off %d bytes of a transaction that was never completed", s.journal(), len(b))
	}
	// Somebody may have read them; make sure that they stay.
	return end, journal.Sync()
}

// commit writes the transaction.
func (s *Spool) commit(tx *Tx, lock, journal file, end ack) error {
	if len(tx.body) == 0 {
		return s.acknowledge(lock, end)
	}
	for _, month := range tx.months {
		newEnd, err := s.writeHistory(month, tx.state().history[month], tx.leaving[month])
		if err != nil {
			s.forget()
			return fmt.Errorf("history: %w", err)
		}
		tx.put(record{Kind: 'H', Name: month, End: newEnd})
	}
	text, crc := appendFrame(nil, s.header(tx), tx.body, tx.next)
	if err := write(journal, text, end.End); err != nil {
		s.forget()
		return fmt.Errorf("journal: %w", err)
	}
	end = ack{end.Generation, end.End + int64(len(text)), tx.seq, tx.next, crc}
	if tx.loaded != nil {
		s.off, s.seq, s.next, s.crc = end.End, end.Seq, end.Next, end.CRC
		s.lines += bytes.Count(text, newline)
	}
	return s.acknowledge(lock, end)
}

// write appends text at offset and syncs; a failure cuts the file back.
func write(f file, text []byte, offset int64) error {
	_, err := f.WriteAt(text, offset)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		return nil
	}
	if cut := f.Truncate(offset); cut != nil {
		return errors.Join(err, fmt.Errorf("and it could not be cut back, so the change may yet turn out to be there: %w", cut))
	}
	return err
}

// acknowledge notes the journal's end in the lock file. The transaction is
// committed by now, so a failure here is no failure of it: the next writer
// finds the end by itself.
func (s *Spool) acknowledge(lock file, end ack) error {
	if _, err := lock.WriteAt([]byte(end.line()), lineSize); err != nil {
		s.warn("%s/lock: the change is made, but its end could not be noted: %v", s.dir, err)
	}
	return nil
}

func (s *Spool) header(tx *Tx) header {
	machine := time.Now()
	policy := s.options.Now
	if policy.IsZero() {
		policy = machine
	}
	return header{tx.seq, machine, policy, os.Geteuid(), s.user, s.options.Program, tx.op, tx.args}
}

package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"fairspool/lib/classad"
	"fairspool/spool/internal/files"
)

// DamageError says that bytes which were once committed do not check. Nothing is read past them and nothing is overwritten.
type DamageError struct {
	File string
	Line int // in the journal, where the transaction begins, or the record in it
	Why  string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s:%d: damaged: %s: nothing was changed; spool check and spool-repair(7) help", e.File, e.Line, legible(e.Why))
}

// position is how far a reader has come: behind transaction seq of the generation, whose journal it has read up to byte off. The zero
// position is nowhere.
type position struct {
	generation int
	off        int64
	lines      int // lines of the journal up to off
	seq        uint64
	next       int // the next free cluster number
	crc        uint32
}

// start returns the beginning of a generation's journal.
func (g *generation) start() position {
	return position{generation: g.number, seq: g.base.Seq, next: g.base.Next, crc: g.base.CRC}
}

// ack returns the position as the lock file would note it.
func (p position) ack() ack { return ack{p.generation, p.off, p.seq, p.next, p.crc} }

// pass moves the position behind a transaction.
func (p *position) pass(f frame, text []byte) {
	p.off += int64(f.Size)
	p.lines += bytes.Count(text, newline)
	p.seq, p.next, p.crc = f.Seq, f.Next, f.CRC
}

// contradicts reports whether what was read up to the position cannot be what was acknowledged: the same transaction reads otherwise, or a
// later one ended before it.
func (p position) contradicts(known ack) bool {
	return known.Seq == p.seq && known != p.ack() || known.Seq > p.seq && known.End <= p.off
}

// stands looks whether what was read up to the position is still what stands there: a writer may have taken its transaction back, and
// others may have filled its place to the byte.
func (p position) stands(journal files.File, size int64) (bool, error) {
	if p.off == 0 {
		return true, nil
	}
	return endsWith(journal, p.ack(), ack{}, size)
}

// View runs fn on the spool as of the last complete transaction. It takes no lock and never waits. A later View on the same Spool reads
// only what was added since. If something that fn asks for turns out to be damaged, fn is left at once and View returns the *DamageError.
// Inside fn the Spool itself is not to be used: what it reads or changes would show in the View.
func (s *Spool) View(fn func(*View) error) (err error) {
	if s.inUse {
		return errNested
	}
	if err := s.refresh(); err != nil {
		return err
	}
	s.inUse = true
	defer func() { s.inUse = false }()
	defer recovered(&err)
	return fn(&View{spool: s, loaded: s.state, seq: s.at.seq, next: s.at.next, digests: s.forked})
}

// Fork returns a spool that begins as the view and is kept in memory alone, to try what is never committed: what is changed in it costs
// what it changes, takes no lock, writes nothing, and leaves the view as it is. Slots that are written by hand may be changed in it as
// others. It lasts as long as the view. Its transactions see what the view shows. After one that failed it can be used no more.
func (v *View) Fork() *Spool {
	hand, _, _ := v.spool.handWritten()
	s := *v.spool
	s.files, s.forked, s.expressions, s.inUse = unwritable{s.files}, map[int][]byte{}, classad.NewInterner(), false
	s.alike = map[*classad.Ad]*likeness{}
	s.state, s.at.seq, s.at.next = v.state().fork(), v.seq, v.next
	maps.Copy(s.forked, v.digests)
	for _, slot := range slices.Backward(hand) { // of two of one name the first counts
		s.state.slots.put(slot.Name, &slot)
	}
	return &s
}

// InMemory returns an empty spool of a UID_DOMAIN that is kept in memory alone, as a fork is. Its jobs leave no history.
func InMemory(domain string) *Spool {
	s := &Spool{files: unwritable{}, domain: domain, forked: map[int][]byte{}, expressions: classad.NewInterner(), alike: map[*classad.Ad]*likeness{}}
	s.state, s.at = newState(s, pinned{generation: noGeneration(0)}), noGeneration(0).start()
	return s
}

// try runs a transaction of a fork.
func try(s *Spool, fn func(*Tx) error) error {
	if err := s.refresh(); err != nil {
		return err
	}
	s.inUse = true
	defer func() { s.inUse = false }()
	tx := &Tx{View: View{spool: s, loaded: s.state, seq: s.at.seq + 1, next: s.at.next, digests: s.forked}, Forked: true, expressions: s.expressions}
	tx.first = tx.next
	err := tx.run(fn)
	if err != nil {
		s.forget()
	} else if tx.changed {
		s.at.seq, s.at.next = tx.seq, tx.next
	}
	return err
}

var errFork = errors.New("a fork of the spool: it is in memory alone, and ends with a change that fails")

// unwritable is the file layer of a fork.
type unwritable struct{ files.Layer }

func (l unwritable) Open(name string, flag int, perm fs.FileMode) (files.File, error) {
	if flag != files.ReadOnly {
		return nil, errFork
	}
	return l.Layer.Open(name, flag, perm)
}

func (l unwritable) Lock(name string, flag int, shared bool, wait time.Duration) (files.Lock, error) {
	if !shared { // which readers take
		return nil, errFork
	}
	return l.Layer.Lock(name, flag, shared, wait)
}

func (unwritable) Rename(string, string) error     { return errFork }
func (unwritable) Remove(string) error             { return errFork }
func (unwritable) Mkdir(string, fs.FileMode) error { return errFork }
func (unwritable) SyncDir(string) error            { return errFork }

// NextCluster returns the number that the next cluster gets, unless another process adds one before. It takes no lock and reads no
// transaction.
func (s *Spool) NextCluster() (int, error) {
	if s.forked != nil {
		return s.at.next, nil
	}
	current, err := s.current()
	if err != nil {
		return 0, err
	}
	known, _, err := s.acknowledged(current)
	return known.Next, err
}

// abandon is what a look at something damaged throws, so that no caller ever takes it for something that is not there. It does not leave
// the package.
type abandon struct{ err error }

func must(err error) {
	if err != nil {
		panic(abandon{err})
	}
}

// recovered catches what must threw.
func recovered(err *error) {
	switch thrown := recover().(type) {
	case nil:
	case abandon:
		*err = thrown.err
	default:
		panic(thrown)
	}
}

// refresh brings the state up to the last complete transaction.
func (s *Spool) refresh() error {
	if s.forked != nil && s.state == nil {
		return errFork
	} else if s.forked != nil {
		return nil
	}
	return twice(func() error {
		current, err := s.enter()
		if err == nil {
			err = s.catchUp(current)
		}
		if err != nil {
			s.forget() // the next one reads from the start
		}
		return err
	})
}

// twice reads again what turned out to be damaged, before it is reported: what was read may have been cut off since by its writer, which
// never acknowledged it, or have been changed by writers while it was read.
func twice(read func() error) error {
	err := read()
	if errors.As(err, new(*DamageError)) {
		err = read()
	}
	return err
}

// catchUp reads what the journal says since the state.
func (s *Spool) catchUp(current ack) error {
	return s.advance(&s.at, current, func(f frame, line int) error {
		return s.state.take(f.Body, f.Seq, s.journal(s.at.generation), line+1)
	})
}

// enter makes the state one of the generation in force, and returns what CURRENT says of it.
func (s *Spool) enter() (ack, error) {
	if s.state != nil {
		current, err := s.current()
		if err != nil || current.Generation == s.at.generation {
			return current, err
		}
		s.forget()
	}
	base, current, err := s.pinCurrent()
	if err == nil {
		s.state, s.at = newState(s, base), base.start()
	}
	return current, err
}

// forget drops what was read.
func (s *Spool) forget() {
	if s.state != nil {
		s.state.base.release()
	}
	s.state, s.at = nil, position{}
}

// advance hands the transactions behind the position to apply, each with the line on which it begins, and moves the position on. The
// acknowledged end is read before the journal: bytes before it were complete when the journal was read.
func (s *Spool) advance(p *position, current ack, apply func(f frame, line int) error) error {
	known, sure, err := s.acknowledged(current)
	if err != nil {
		return err
	}
	journal, err := s.files.Open(s.journal(p.generation), files.ReadOnly, 0)
	if err != nil {
		return missing(s.journal(p.generation), err)
	}
	defer journal.Close()
	size, err := journal.Size()
	if err != nil {
		return err
	}
	if ok, err := p.stands(journal, size); err != nil {
		return err
	} else if !ok || p.contradicts(known) {
		return s.damage(*p, "transaction %d is not the one that was read before", p.seq)
	}
	b, err := files.Tail(journal, p.off)
	if err != nil {
		return err
	}
	for len(b) > 0 {
		f, err := parseFrame(b, p.seq+1)
		if err != nil {
			return s.ending(*p, b, known, sure, err)
		}
		if err := apply(f, p.lines+1); err != nil {
			return err
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

// ending judges bytes b at the position that are no transaction for the reason why: damage, or what a writer at work or a dead one has left
// (nil).
func (s *Spool) ending(p position, b []byte, known ack, sure bool, why error) error {
	switch {
	case p.off < known.End:
		return s.damage(p, "%v", why)
	case wasSynced(b, p.seq):
		return s.damage(p, "%v, and a later transaction follows it", why)
	case !sure:
		return s.damage(p, "%v, and the lock file, which would say whether it ever counted, does not check either", why)
	}
	return nil
}

// damage says that what stands at the position does not check.
func (s *Spool) damage(p position, format string, args ...any) error {
	return &DamageError{s.journal(p.generation), p.lines + 1, fmt.Sprintf(format, args...)}
}

// path returns where a file of the spool lies.
func (s *Spool) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Spool) journal(generation int) string { return s.path("journal." + strconv.Itoa(generation)) }

// current reads CURRENT: which generation is in force, and how far its journal went when it came to be so.
func (s *Spool) current() (ack, error) {
	b, err := files.Contents(s.files, s.path("CURRENT"))
	if err != nil {
		return ack{}, missing(s.path("CURRENT"), err)
	}
	a, ok := parseAck("current", string(b))
	if !ok {
		return ack{}, &DamageError{s.path("CURRENT"), 1, fmt.Sprintf("%.80q does not check", bytes.TrimSpace(b))}
	}
	return a, nil
}

// acknowledged returns how far the journal of the generation in force was acknowledged. It is not sure when the lock file's line does not
// check: then there may be more. The lock file tells of a generation only when CURRENT durably names it, so a later one than CURRENT names
// then is damage.
func (s *Spool) acknowledged(current ack) (known ack, sure bool, err error) {
	f, err := s.files.Open(s.path("lock"), files.ReadOnly, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return current, true, nil // left out of a copy, say; the next writer makes it
	}
	if err != nil {
		return ack{}, false, err
	}
	defer f.Close()
	a, state, err := s.readAck(f)
	if err != nil || state != ackGood || a.Generation < current.Generation {
		return current, state != ackBad, err
	}
	if a.Generation > current.Generation {
		now, err := s.current() // a fold may have replaced it since
		if err == nil && now.Generation < a.Generation {
			why := fmt.Sprintf("it says generation %d, and lock acknowledges generation %d", now.Generation, a.Generation)
			err = &DamageError{s.path("CURRENT"), 1, why}
		}
		return current, true, err
	}
	return a, true, nil
}

// superseded returns the damage if CURRENT names an older generation than lock does, and nil otherwise.
func (s *Spool) superseded(current ack) error {
	if _, _, err := s.acknowledged(current); isDamage(err) {
		return err
	}
	return nil
}

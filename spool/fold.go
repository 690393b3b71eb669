package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"fairspool/spool/internal/dumptext"
	"fairspool/spool/internal/files"
)

// JournalSize is how many bytes the journal may have before negotiate folds it.
const JournalSize = 8 << 20

// ErrFolding says that another process is folding the journal.
var ErrFolding error = busy("the journal is being folded")

// Folding is what a fold did.
type Folding struct {
	Generation    int           // in force now
	Folded        int64         // bytes of the journal that were folded; 0: nothing was to do
	Written, Kept int           // segments
	Bytes         int64         // written
	Locked        time.Duration // how long other writers had to wait
	Took          time.Duration // altogether
}

// Fold folds the journal if it has at least so many bytes: what it says is worked into the segments and tables, those it does not speak of
// are left as they are, and a new journal begins. It works beside readers and writers, and keeps writers out for the switch only. progress,
// which may be nil, is told what share of the segments is done. Without anything to do nothing happens.
func (s *Spool) Fold(least int64, progress func(done, all int)) (done Folding, err error) {
	began := time.Now()
	if s.inUse {
		return done, errNested
	}
	if short, err := s.shorter(least); err != nil || short {
		return done, err
	}
	s.forget() // the fold has a state of its own
	s.reserve.May = true
	working := false
	err = s.locked("fold.lock", 0, func(files.File) (err error) {
		working = true
		defer recovered(&err)
		done, err = s.fold(max(least, 1), progress)
		return err
	})
	err = s.unchanged(err)
	if !working && errors.Is(err, ErrLocked) {
		return done, fmt.Errorf("%w: %s", ErrFolding, s.holder(s.path("fold.lock")))
	}
	done.Took = time.Since(began)
	return done, err
}

// shorter tells, without any lock, whether the journal has fewer bytes.
func (s *Spool) shorter(least int64) (bool, error) {
	if least <= 1 {
		return false, nil
	}
	current, err := s.current()
	if err != nil {
		return false, err
	}
	journal, err := s.files.Open(s.journal(current.Generation), files.ReadOnly, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // another process has folded it just now, or it is lost
	}
	if err != nil {
		return false, err
	}
	defer journal.Close()
	size, err := journal.Size()
	return size < least, err
}

func (s *Spool) fold(least int64, progress func(done, all int)) (done Folding, err error) {
	f := &fold{spool: s, progress: progress}
	if err := s.writing(func(w *writing) error {
		f.upTo, f.current = w.end, w.current
		return nil
	}); err != nil {
		return done, err
	}
	done.Generation = f.current.Generation
	if f.upTo.End < least {
		return done, s.sweep(f.current.Generation)
	}
	if err := twice(f.read); err != nil {
		return done, err
	}
	err = f.write(&done)
	f.state.base.release()
	if err == nil {
		err = f.change(&done)
	}
	if err != nil {
		f.takeBack(err)
		return done, err
	}
	done.Generation, done.Folded = f.next.number, f.upTo.End
	if err := s.sweep(f.next.number); err != nil {
		s.warn("the journal is folded, but old files could not be removed: %v: the next fold removes them", err)
	}
	return done, nil
}

// takeBack removes what a fold has written that failed for the reason why: the disk may be full of it. Nothing is removed unless it is
// certain that the old generation is the one in force, and stays so after a power cut.
func (f *fold) takeBack(why error) {
	current, err := f.spool.current()
	if err == nil && current.Generation == f.upTo.Generation && !errors.Is(why, files.ErrUncertain) {
		f.spool.sweep(current.Generation) // what stays is the next fold's to remove
	}
}

// fold is a fold at work.
type fold struct {
	spool    *Spool
	progress func(done, all int)
	current  ack // what CURRENT said when it began
	upTo     ack // the end of what is folded
	state    *state
	headers  []Logged
	next     *generation
}

// read brings a state of its own to the end of what is folded.
func (f *fold) read() error {
	s := f.spool
	base, err := s.openCurrent(f.upTo.Generation)
	if err != nil {
		return err
	}
	f.state, f.headers = newState(s, base), nil
	p := base.start()
	err = s.advance(&p, f.current, func(fr frame, line int) error {
		if fr.Seq > f.upTo.Seq {
			return errFar
		}
		l, err := fr.loggedIn(f.state, s.journal(p.generation), line)
		if err != nil {
			return err
		}
		f.headers = append(f.headers, l)
		return f.state.take(fr.Body, fr.Seq, s.journal(p.generation), line+1)
	})
	if errors.Is(err, errFar) {
		err = nil
	}
	if err == nil && p.ack() != f.upTo {
		err = s.damage(p, "transaction %d is not the one that was acknowledged", p.seq)
	}
	if err != nil {
		base.release()
	}
	return err
}

var errFar = errors.New("far enough")

// write writes the files of the next generation. No process knows of them yet.
func (f *fold) write(done *Folding) (err error) {
	s, st := f.spool, f.state
	g := noGeneration(f.upTo.Generation + 1)
	g.base = ack{g.number, 0, f.upTo.Seq, f.upTo.Next, f.upTo.CRC}
	g.history = st.history
	jobs := segmentWriter[int]{files: s.files, dir: s.path("jobs"), generation: g.number, keys: clusterKeys}
	slots := segmentWriter[string]{files: s.files, dir: s.path("slots"), generation: g.number, keys: slotKeys}
	all := len(st.jobs.base) + len(st.slots.base) + 2
	if err := foldBlocks(st.jobs, &jobs, clusterEntry, clusterBlock, f.tell(0, all)); err != nil {
		return err
	}
	if err := foldBlocks(st.slots, &slots, slotEntry, slotBlock, f.tell(len(st.jobs.base)+1, all)); err != nil {
		return err
	}
	g.jobs, g.slots = jobs.done, slots.done
	done.Written = jobs.flushed + slots.flushed
	done.Kept = len(jobs.done) + len(slots.done) - done.Written
	done.Bytes = jobs.written + slots.written
	if err := f.writeTables(g); err != nil {
		return err
	}
	if g.log, err = f.writeLog(); err != nil {
		return err
	}
	if err := files.WriteNew(s.files, s.indexFile(g.number), g.text()); err != nil {
		return err
	}
	for _, dir := range []string{s.path("jobs"), s.path("slots")} {
		if err := s.files.SyncDir(dir); err != nil {
			return err
		}
	}
	f.next = g
	return nil
}

func (f *fold) tell(base, all int) func(int) {
	return func(n int) {
		if f.progress != nil {
			f.progress(base+n, all)
		}
	}
}

func (f *fold) writeTables(g *generation) (err error) {
	for _, t := range f.state.tables {
		if err == nil {
			err = t.fold(f.spool, g, f.state.base.tables)
		}
	}
	return err
}

// change makes the next generation the one in force. What was committed since the fold began is the beginning of its journal.
func (f *fold) change(done *Folding) error {
	s := f.spool
	journal, err := s.files.Open(s.journal(f.next.number), files.ReadWrite|files.Create|files.Truncate, 0o600)
	if err != nil {
		return err
	}
	defer journal.Close()
	if err := errors.Join(journal.Sync(), s.files.SyncDir(s.dir)); err != nil {
		return err
	}
	copied := f.upTo.End // of the old journal
	for round := 0; ; round++ {
		begun := time.Now()
		behind := false
		if err := s.writing(func(w *writing) error {
			if w.current.Generation != f.upTo.Generation {
				return errors.New("another process has folded the journal meanwhile")
			}
			begun = time.Now()
			if behind = w.end.End-copied > lateCopy && round < lateRounds; behind {
				return nil
			}
			return f.switchTo(w, journal, copied)
		}); err != nil {
			return err
		}
		if done.Locked = max(done.Locked, time.Since(begun)); !behind {
			return nil
		}
		if copied, err = f.follow(journal, copied); err != nil {
			return err
		}
	}
}

const (
	lateCopy   = 256 << 10 // so much is copied while writers wait
	lateRounds = 16        // so often is the rest copied before
)

// follow copies what was committed to the old journal since.
func (f *fold) follow(journal files.File, copied int64) (int64, error) {
	known, _, err := f.spool.acknowledged(f.current)
	if err != nil || known.End <= copied {
		return copied, err
	}
	err = f.copyTo(journal, copied, known.End)
	return known.End, err
}

// copyTo copies bytes of the old journal to the new one and syncs it.
func (f *fold) copyTo(journal files.File, from, to int64) error {
	if to == from {
		return nil
	}
	old, err := f.spool.files.Open(f.spool.journal(f.upTo.Generation), files.ReadOnly, 0)
	if err != nil {
		return err
	}
	defer old.Close()
	b := make([]byte, to-from)
	if _, err := old.ReadAt(b, from); err != nil {
		return err
	}
	if _, err := journal.WriteAt(b, from-f.upTo.End); err != nil {
		return err
	}
	return journal.Sync()
}

// switchTo copies the rest under the writers' lock and replaces CURRENT. Once that has begun to be visible, the next writer makes it
// durable if need be, see recover.
func (f *fold) switchTo(w *writing, journal files.File, copied int64) error {
	if err := f.copyTo(journal, copied, w.end.End); err != nil {
		return err
	}
	end := w.end
	end.Generation, end.End = f.next.number, w.end.End-f.upTo.End
	if err := files.Replace(f.spool.files, f.spool.path("CURRENT"), []byte(end.line("current"))); err != nil {
		return err
	}
	f.spool.acknowledge(w.lock, end)
	return nil
}

// blockWalk goes through blocks in the order of their keys, segment by segment: those of which the journal says nothing as they stand, with
// their checksums checked, the others made anew, as far as what they make is still there.
type blockWalk[K cmp.Ordered, V any] struct {
	from  *blocks[K, V]
	line  func(*V) entry[K]            // of the index
	block func([]byte, *V) []byte      // appends the lines that make a thing
	do    func(entry[K], []byte) error // is handed each block, to look at until it returns

	touched []K // by the journal, in order, and not done yet
	worker  *worker
	made    int
	text    []byte
	buffer  []byte
}

func newBlockWalk[K cmp.Ordered, V any](b *blocks[K, V], line func(*V) entry[K], block func([]byte, *V) []byte, do func(entry[K], []byte) error) *blockWalk[K, V] {
	return &blockWalk[K, V]{from: b, line: line, block: block, do: do, touched: slices.Sorted(maps.Keys(b.pending))}
}

// eachBlock hands over all blocks.
func eachBlock[K cmp.Ordered, V any](b *blocks[K, V], line func(*V) entry[K], block func([]byte, *V) []byte, do func(k K, text []byte) error) error {
	w := newBlockWalk(b, line, block, func(e entry[K], text []byte) error { return do(e.key, text) })
	for i := range b.base {
		if err := w.segment(i); err != nil {
			return err
		}
	}
	return w.rest()
}

// due reports whether the journal speaks of a key up to k that is not done yet.
func (w *blockWalk[K, V]) due(k K) bool { return len(w.touched) > 0 && w.touched[0] <= k }

// segment goes through a segment, and through what is due before its end.
func (w *blockWalk[K, V]) segment(i int) error {
	g, err := w.from.index(i)
	if err != nil {
		return err
	}
	defer func() { w.from.open[i] = nil }() // it is not used again
	from, err := g.reader(w.from.files, g.bytes, &w.buffer)
	if err != nil {
		return err
	}
	defer from.Close()
	for n := range g.entries {
		e := &g.entries[n]
		anew := false
		for w.due(e.key) {
			anew = w.touched[0] == e.key
			if err := w.remake(); err != nil {
				return err
			}
		}
		if anew {
			continue
		}
		text, err := from.block(e)
		if err != nil {
			return err
		}
		err = w.do(*e, text)
		if errors.As(err, new(*dumptext.Unwritten)) {
			return err
		}
		if err != nil {
			return g.damage(w.from.files, e.at, 0, "%v", err)
		}
	}
	return nil
}

// rest goes through what the journal has behind the last segment.
func (w *blockWalk[K, V]) rest() error {
	for len(w.touched) > 0 {
		if err := w.remake(); err != nil {
			return err
		}
	}
	return nil
}

// remake hands over the next thing that the journal speaks of.
func (w *blockWalk[K, V]) remake() error {
	k := w.touched[0]
	w.touched = w.touched[1:]
	if w.made%workerThings == 0 {
		w.worker = newWorker()
	}
	w.made++
	v, err := w.from.make(w.worker, k)
	if err != nil || v == nil {
		return err
	}
	w.text = w.block(w.text[:0], v)
	return w.do(w.line(v), w.text)
}

// workerThings is how many things one worker makes, which keeps what they have in common.
const workerThings = 1000

// foldBlocks writes the segments anew that the journal speaks of, and keeps the others. Neighbours that have become small are written
// together.
func foldBlocks[K cmp.Ordered, V any](b *blocks[K, V], to *segmentWriter[K], line func(*V) entry[K], block func([]byte, *V) []byte, progress func(int)) error {
	walk := newBlockWalk(b, line, block, func(e entry[K], text []byte) error {
		if err := to.add(e, text); err != nil {
			return &dumptext.Unwritten{Err: err}
		}
		return nil
	})
	for i, f := range b.base {
		err := error(nil)
		switch {
		case walk.due(f.last), f.bytes < segmentSize/4 && (len(to.index) > 0 || i == len(b.base)-1 && len(walk.touched) > 0):
			err = walk.segment(i)
		default:
			err = to.keep(f)
		}
		if err != nil {
			return err
		}
		progress(i)
	}
	if err := walk.rest(); err != nil {
		return err
	}
	return to.flush()
}

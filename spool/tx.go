package spool

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/attrtext"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/quotedtext"
)

// Tx is one transaction in the making. It sees its own changes. They are committed when the function that was given the Tx has returned
// nil; if it returns an error, or any change could not be made, none of them ever is.
//
// A transaction that only adds clusters does not read the queue: its cost does not depend on how much is there.
type Tx struct {
	View
	Forked  bool        // it is one of a fork: nothing of it is ever committed
	With    any         // what the function given to Update keeps with it; nil at first
	Header  Transaction // its line in the log; before it is committed, operation and arguments alone
	body    []byte
	changed bool                    // something is to be committed
	months  []*month                // of the history that jobs leave to, in order of first use
	settled func() error            // makes the journal durable as it was found
	charged map[string]bool         // submitters whose records changed: written once, at the end
	tallied map[accountant.Key]bool // and so are these
	first   int                     // the first cluster number that is its to give
	kept    []int                   // clusters whose digests' files were begun

	expressions *classad.Interner // of what was written
	err         error
}

// errUnnamed is a mistake of the program, not of its user.
var errUnnamed = errors.New("a transaction without the name of its operation")

// Op names the transaction: an operation such as "set priority" and its plain arguments. Every transaction that changes something must be
// named; the last name counts.
func (tx *Tx) Op(name string, args ...string) { tx.Header.Op, tx.Header.Args = name, args }

// fail remembers the first change that could not be made.
func (tx *Tx) fail(err error) {
	if tx.err == nil {
		tx.err = err
	}
}

// put makes a change visible to the transaction and notes it for the journal. Of a fork, nobody counts the bytes of most.
func (tx *Tx) put(r record) {
	changes := needsState(r.Kind)
	if changes {
		tx.state()
	}
	tx.note(r, !tx.Forked || r.Row == nil && r.Key == nil && !(changes && r.plain()))
}

// note does as put for a change that refers to nothing but the transaction's own. It may be unwritten.
func (tx *Tx) note(r record, written bool) {
	if tx.err != nil {
		return
	}
	tx.changed = true
	if written {
		start := len(tx.body)
		tx.body = r.append(withRoom(tx.body, lineRoom))
		if !tx.Forked || !r.plain() {
			r.Expr = tx.check(start)
		}
	}
	if tx.loaded != nil && tx.err == nil {
		if err := tx.loaded.apply(r, tx.seq); err != nil {
			tx.fail(err)
		}
	}
}

// plain reports whether a record surely reads back as it is: its attribute has a usual name, and is a constant.
func (r *record) plain() bool {
	if !attrtext.Usual(r.Name) {
		return r.Name == ""
	}
	if r.Expr == nil {
		return true
	}
	v, _ := r.Expr.Constant()
	switch v.Kind() {
	case classad.KindInteger, classad.KindBoolean:
		return true
	case classad.KindReal:
		x, _ := v.Number()
		return !math.IsNaN(x) && !math.IsInf(x, 0)
	case classad.KindString:
		text, _ := v.Text()
		return quotedtext.Plainly([]byte(text))
	}
	return false
}

// needsState tells which changes refer to what is there already.
func needsState(kind byte) bool { return kind == 'A' || kind == 'D' || kind == 'L' }

// AddCluster puts a cluster into the queue and returns its id. Procs count from 0 through the runs in their order. There must be at least
// one proc.
//
// The ad may be chained to one that never changes. A fork shares that with other clusters.
func (tx *Tx) AddCluster(ad *classad.Ad, runs []NewRun) int {
	id, from := tx.next, len(tx.body)
	tx.next++
	by := Owner{Clusters: 1}
	if at, ok := momentsOf(ad); tx.Forked && ok {
		by.Jobs, by.Bytes = addAlike(tx, id, ad.Parent(), at, runs)
	} else {
		tx.addAd(id, ad)
		by.Jobs = tx.addProcs(id, 0, runs)
	}
	by.Bytes += int64(len(tx.body) - from)
	tx.chargeCluster(id, chargedTo(ad), by)
	return id
}

// addAd begins a cluster.
func (tx *Tx) addAd(cluster int, ad *classad.Ad) {
	for _, name := range ad.Names() {
		e, _ := ad.Lookup(name)
		tx.put(record{Kind: 'C', Procs: pool.Procs{Cluster: cluster}, Name: name, Expr: e})
	}
}

// Set sets one attribute of a job. A nil expression removes what the job has of its own, so that its cluster's value shows again.
func (tx *Tx) Set(id pool.JobID, name string, e *classad.Expr) {
	tx.SetRange(pool.Only(id), name, e)
}

// SetRange does as Set for some procs, all of which must be in the queue.
func (tx *Tx) SetRange(p pool.Procs, name string, e *classad.Expr) {
	kind := byte('A')
	if e == nil {
		kind = 'D'
	}
	tx.put(record{Kind: kind, Procs: p, Name: name, Expr: e})
}

// SetCommon sets an attribute that all procs of a cluster share, which has to be in the queue.
func (tx *Tx) SetCommon(cluster int, name string, e *classad.Expr) {
	if _, ok := tx.Cluster(cluster); !ok {
		tx.fail(fmt.Errorf("cluster %d: not in the queue", cluster))
		return
	}
	tx.put(record{Kind: 'C', Procs: pool.Procs{Cluster: cluster}, Name: name, Expr: e})
}

// PutClaim adds a claim or changes it as a whole.
func (tx *Tx) PutClaim(c pool.Claim) {
	if tx.Forked {
		c.Seq, tx.changed = tx.seq, true
		tx.state().claims.put(c.Job, c)
		return
	}
	tx.put(record{Kind: 'K', Row: c})
}

// DropClaim removes the claim of a job.
func (tx *Tx) DropClaim(id pool.JobID) { tx.put(record{Kind: 'k', Key: id}) }

// PutSubmitter adds a submitter's record or changes it as a whole. However often a transaction does so, the journal gets the last one only.
func (tx *Tx) PutSubmitter(r accountant.Record) {
	tx.state().submitters.put(r.Name, r)
	if tx.changed = true; !tx.Forked {
		tx.charged[r.Name] = true
	}
}

// DropSubmitter removes a submitter's record.
func (tx *Tx) DropSubmitter(name string) {
	delete(tx.charged, name)
	tx.put(record{Kind: 'u', Key: name})
}

// settle notes the submitters' records, the tallies and the owners' counts that changed.
func (tx *Tx) settle() {
	for _, name := range sortedKeys(tx.charged, strings.Compare) {
		r, _ := tx.Submitter(name)
		tx.put(record{Kind: 'U', Row: r})
	}
	clear(tx.charged)
	for _, k := range sortedKeys(tx.tallied, accountant.Key.Compare) {
		y, _ := tx.Tally(k)
		tx.put(record{Kind: 'W', Row: y})
	}
	clear(tx.tallied)
	for _, name := range sortedKeys(tx.counts, strings.Compare) {
		if o := tx.counts[name]; o.none() {
			tx.put(record{Kind: 'o', Key: name})
		} else {
			tx.put(record{Kind: 'O', Row: o})
		}
	}
}

func sortedKeys[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compare)
	return keys
}

// PutTally adds a tally or changes it as a whole. However often a transaction does so, the journal gets the last one only.
func (tx *Tx) PutTally(y accountant.Tally) {
	tx.state().tallies.put(y.Key, y)
	if tx.changed = true; !tx.Forked {
		tx.tallied[y.Key] = true
	}
}

// DropTally removes a tally.
func (tx *Tx) DropTally(k accountant.Key) {
	delete(tx.tallied, k)
	tx.put(record{Kind: 'w', Key: k})
}

// PutSlot adds a slot's ad or changes it; only attributes that read otherwise than before cost anything.
func (tx *Tx) PutSlot(name string, ad *classad.Ad) {
	old, ok := tx.Advertised(name)
	if !ok {
		tx.put(record{Kind: 'S', Slot: name})
		old.Ad = classad.New()
	}
	for _, attribute := range old.Ad.OwnNames() {
		if !ad.Has(attribute) {
			tx.put(record{Kind: 'g', Slot: name, Name: attribute})
		}
	}
	for _, attribute := range ad.OwnNames() {
		e, _ := ad.Lookup(attribute)
		if before, ok := old.Ad.Lookup(attribute); !ok || before != e && before.Format(classad.StyleSpool) != e.Format(classad.StyleSpool) {
			tx.put(record{Kind: 'G', Slot: name, Name: attribute, Expr: e})
		}
	}
}

// SlotChanged reports whether an advertised slot has changed, or is gone, since a transaction. The slot is read only if neither the journal
// nor the generation tells.
func (tx *Tx) SlotChanged(name string, since uint64) bool {
	s := tx.state()
	if s.slots.untouched(name, s.base.base.Seq <= since) {
		return false
	}
	slot, there := tx.Advertised(name)
	return !there || slot.Seq > since
}

// DropSlot removes an advertised slot.
func (tx *Tx) DropSlot(name string) { tx.put(record{Kind: 's', Slot: name}) }

// PutBackoff leaves a slot alone until a time.
func (tx *Tx) PutBackoff(b pool.Backoff) { tx.put(record{Kind: 'B', Row: b}) }

// DropBackoff ends that.
func (tx *Tx) DropBackoff(slot string) { tx.put(record{Kind: 'b', Key: slot}) }

// Grow adds procs to a cluster that was made before, counted from first on through the runs in their order. If the cluster is in the queue
// its ad stays as it is; if all its procs have left, it is put in again with this one. The number must have been given out, and no proc
// from first on may be there.
func (tx *Tx) Grow(cluster int, ad *classad.Ad, first int, runs []NewRun) {
	switch {
	case cluster < 1 || cluster >= tx.next:
		tx.fail(fmt.Errorf("cluster %d: its number was never given out", cluster))
		return
	case first < 0:
		tx.fail(fmt.Errorf("cluster %d: proc %d is below zero", cluster, first))
		return
	}
	owner, from, by := chargedTo(ad), len(tx.body), Owner{}
	if c, ok := tx.Cluster(cluster); ok {
		owner = c.owner
	} else {
		by.Clusters = 1
		tx.addAd(cluster, ad)
	}
	by.Jobs = tx.addProcs(cluster, first, runs)
	by.Bytes = int64(len(tx.body) - from)
	tx.chargeCluster(cluster, owner, by)
}

var errNested = errors.New("the spool is in use by the caller: a View or an Update inside another")

// Update runs fn and commits what it changed as one transaction, after which it survives a power cut; fn's error, or a change that could
// not be made, leaves the spool as it was. Writers wait for one another, at most LockWait long, after which the error is ErrLocked. A
// transaction that changes nothing writes nothing. The Tx is fn's until it returns; inside fn the Spool itself is not to be used.
func (s *Spool) Update(fn func(*Tx) error) error { return s.update(fn, nil) }

// update does as Update. Where there is something to do when all is committed, it calls then under the same lock.
func (s *Spool) update(fn func(*Tx) error, then func()) error {
	if s.forked != nil && !s.inUse {
		return try(s, fn)
	}
	return s.transact(func(tx *Tx, w *writing) (*unsynced, error) {
		s.reserve.May = false
		if err := tx.run(fn); err != nil {
			return nil, err
		}
		late, err := s.commit(tx, w, then != nil)
		if err == nil && then != nil {
			then()
		}
		return late, err
	})
}

// transact has a transaction done under the writers' lock, and waits for the disk when that is free again.
func (s *Spool) transact(do func(*Tx, *writing) (*unsynced, error)) error {
	if s.inUse {
		return errNested
	}
	s.inUse = true
	defer func() { s.inUse = false }()
	var late *unsynced
	err := s.writing(func(w *writing) (err error) {
		tx := s.begin(w)
		late, err = do(tx, w)
		tx.end(err == nil || errors.Is(err, files.ErrUncertain))
		return err
	})
	if late != nil {
		err = late.sync()
	}
	if err != nil {
		s.forget() // the state may have seen changes that are void now
	}
	return s.unchanged(err)
}

// UseReserve lets the transaction have the spool's reserve where the disk is full. It is for what ends, holds or removes jobs: there is
// more room, or no more needed, when that is done.
func (tx *Tx) UseReserve() { tx.spool.reserve.May = true }

// unchanged adds to an error of the system, such as a full disk, that nothing was changed, unless that is not certain, and what to do about
// a full disk. From then on nothing may have the reserve.
func (s *Spool) unchanged(err error) error {
	used := s.reserve.May
	s.reserve.May = false
	var system syscall.Errno
	if !errors.As(err, &system) || errors.Is(err, files.ErrUncertain) {
		return err
	}
	switch {
	case !IsFull(err) || s.options.Reserve == 0:
		return fmt.Errorf("%w: nothing was changed", err)
	case used:
		return fmt.Errorf("%w, and the reserve is too small: nothing was changed: make room on the disk, or change fewer jobs at once", err)
	}
	return fmt.Errorf("%w: nothing was changed: make room on the disk; qdel and qhold still work", err)
}

// writing is what holds while the writers' lock is held.
type writing struct {
	lock, journal files.File
	end           ack  // of the journal, which ends with a whole transaction
	durable       ack  // how much of that is known to be durable
	current       ack  // what CURRENT says
	keep          bool // the journal's file outlives the lock
}

// writing runs fn under the writers' lock, with the journal mended. A file system that never writes in place needs room for the lock file
// too, and gets it from the reserve. The caller says whether fn may have the reserve.
func (s *Spool) writing(fn func(w *writing) error) error {
	s.reserve.May = true
	return s.locked("lock", s.options.LockWait, func(lock files.File) error {
		defer s.reserve.Keep(func() bool { return Gone(s.dir) })
		current, err := s.current()
		if err != nil {
			return err
		}
		if err := s.refolder(); err != nil {
			return err
		}
		journal, err := s.files.Open(s.journal(current.Generation), files.ReadWrite, 0)
		if err != nil {
			return missing(s.journal(current.Generation), err)
		}
		w := &writing{lock: lock, journal: journal, current: current}
		defer func() {
			if !w.keep {
				journal.Close()
			}
		}()
		if w.end, err = s.mend(w); err != nil {
			return err
		}
		if err := s.settleDomain(w); err != nil {
			return err
		}
		return fn(w)
	})
}

// begin returns a transaction that follows the journal's end. It reads the state when something asks for it.
func (s *Spool) begin(w *writing) *Tx {
	tx := &Tx{View: View{spool: s, writes: true, seq: w.end.Seq + 1, next: w.end.Next, digests: map[int][]byte{}}, expressions: classad.NewInterner()}
	tx.charged, tx.tallied, tx.counts = map[string]bool{}, map[accountant.Key]bool{}, map[string]Owner{}
	tx.first, tx.settled = tx.next, w.journal.Sync
	tx.ownerOf = func(name string) (Owner, error) { return s.ownerThen(w, name) }
	tx.load = func() *state {
		must(s.refreshTo(w.end))
		must(s.state.take(tx.body, tx.seq, "the transaction", 1))
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
		if s.at.ack() == end {
			return nil
		}
		s.forget() // it held a transaction that its writer took back
	}
	return s.damage(position{generation: end.Generation}, "it changed under the lock")
}

// run calls fn and looks whether all that it changed can be committed.
func (tx *Tx) run(fn func(*Tx) error) (err error) {
	defer recovered(&err)
	err = fn(tx)
	if tx.err != nil {
		return tx.err // what fn makes of it is not to be trusted: it may not have seen the queue
	}
	if err != nil {
		return err
	}
	tx.settle()
	tx.checkFactories()
	if tx.err == nil && tx.changed && tx.Header.Op == "" {
		return errUnnamed
	}
	return tx.err
}

// mend makes sure that the journal ends with a whole transaction and returns that end. It reads only what stands behind the acknowledged
// end, or everything when that is not known.
func (s *Spool) mend(w *writing) (ack, error) {
	end, state, err := s.readAck(w.lock)
	if err != nil {
		return ack{}, err
	}
	size, err := w.journal.Size()
	if err != nil {
		return ack{}, err
	}
	if state != ackGood || end.Generation != w.current.Generation {
		return s.recover(w, state)
	}
	if ok, err := endsWith(w.journal, end, w.current, size); err != nil {
		return ack{}, err
	} else if !ok {
		return ack{}, s.explain(w.current, fmt.Errorf("it does not end with transaction %d as was acknowledged", end.Seq))
	}
	w.durable = end
	if size == end.End {
		return end, nil
	}
	return s.adopt(w, end)
}

// recover finds the end of a journal that the lock file does not know. The process that switched to its generation may have died before the
// switch was durable, or what the lock file said did not survive.
func (s *Spool) recover(w *writing, state ackState) (ack, error) {
	if err := s.files.SyncDir(s.dir); err != nil {
		return ack{}, err
	}
	s.forget() // the journal itself counts now, not what was read of it once
	if err := s.refresh(); err != nil {
		return ack{}, err
	}
	// Nor is it known how much of it is durable, so all of it is.
	end, err := s.adopt(w, w.current)
	if err == nil {
		err = w.journal.Sync()
	}
	w.durable = end
	if err == nil && state != ackGood {
		// Durably, before there can be a torn transaction too.
		s.acknowledge(w.lock, end)
		err = w.lock.Sync()
	}
	return end, err
}

// endsWith looks whether the end line of the acknowledged transaction stands where the journal was acknowledged to end.
func endsWith(journal files.File, end, current ack, size int64) (bool, error) {
	if end.End == 0 {
		return end == current, nil
	}
	if size < end.End {
		return false, nil
	}
	b := make([]byte, min(96, end.End))
	if _, err := journal.ReadAt(b, end.End-int64(len(b))); err != nil {
		return false, err
	}
	line := b[bytes.LastIndexByte(b[:len(b)-1], '\n')+1:]
	return bytes.HasPrefix(line, fmt.Appendf(nil, "E %d ", end.Seq)) &&
		bytes.HasSuffix(line, fmt.Appendf(nil, " %d %08x\n", end.Next, end.CRC)), nil
}

// explain reads the whole journal for the place at which it is damaged. That it is damaged is certain already; why says so when the place
// is not found.
func (s *Spool) explain(current ack, why error) error {
	base, err := s.openCurrent(current.Generation)
	if err != nil {
		return err
	}
	defer base.release()
	p := base.start()
	if err := s.advance(&p, current, func(frame, int) error { return nil }); err != nil {
		return err
	}
	return s.damage(p, "%v", why)
}

// adopt takes the whole transactions behind end, which are not acknowledged: their writers wait for the disk, or died. They are written
// once more, because a sync that failed may have let go of them: the next one would succeed and leave them out. What does not check behind
// them is cut off.
func (s *Spool) adopt(w *writing, end ack) (ack, error) {
	b, err := files.Tail(w.journal, end.End)
	if err != nil {
		return ack{}, err
	}
	whole, from := b, end.End
	for len(b) > 0 {
		f, err := parseFrame(b, end.Seq+1)
		if err != nil {
			if wasSynced(b, end.Seq) {
				return ack{}, s.explain(w.current, err)
			}
			break
		}
		end = ack{end.Generation, end.End + int64(f.Size), f.Seq, f.Next, f.CRC}
		b = b[f.Size:]
	}
	if _, err := w.journal.WriteAt(whole[:end.End-from], from); err != nil {
		return ack{}, fmt.Errorf("journal: %w", err)
	}
	if len(b) == 0 {
		return end, nil
	}
	if err := w.journal.Truncate(end.End); err != nil {
		return ack{}, err
	}
	s.warn("%s: cut off %d bytes of a transaction that was never completed", s.journal(end.Generation), len(b))
	// Durably: another transaction of that number, which gets its place, shall not have what stood behind it once.
	return end, w.journal.Sync()
}

// commit writes the transaction, behind the files that it speaks of, which are durable then. It returns what to wait for without the lock.
// Nothing is left to wait for if now is set, where a digest would have to be taken back, and where room for it came from the reserve, which
// is filled again before the lock is freed.
func (s *Spool) commit(tx *Tx, w *writing, now bool) (*unsynced, error) {
	if err := s.keepHistory(tx); err != nil {
		return nil, err
	}
	if err := s.keepDigests(tx); err != nil {
		return nil, err
	}
	late, err := w.append(tx)
	if late == nil || !now && len(tx.digests) == 0 && !s.reserve.GaveUp() {
		return late, err
	}
	w.keep = false
	if err := w.journal.Sync(); err != nil {
		return nil, fmt.Errorf("journal: %w", cutBack(w.journal, late.before.End, err))
	}
	s.acknowledge(w.lock, late.end)
	return nil, nil
}

// append writes the transaction to the journal, and returns what to wait for, if anything.
func (w *writing) append(tx *Tx) (*unsynced, error) {
	s := tx.spool
	late := &unsynced{spool: s, journal: w.journal, durable: w.durable, before: w.end, end: w.end, months: tx.months}
	if len(tx.body) == 0 {
		if w.end == w.durable {
			return nil, nil
		}
		w.keep = true
		return late, nil
	}
	h := s.header(tx)
	if y := h.Policy.UTC().Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("the time %v lies outside the years 0 to 9999", h.Policy)
	}
	body := tx.body
	if tx.loaded != nil {
		body = slices.Clip(body) // the state may hold lines of it: it does not move
	}
	text, crc := framed(h, body, w.durable.Seq, tx.next)
	if _, err := w.journal.WriteAt(text, w.end.End); err != nil {
		return nil, fmt.Errorf("journal: %w", cutBack(w.journal, w.end.End, err))
	}
	end := ack{w.end.Generation, w.end.End + int64(len(text)), tx.seq, tx.next, crc}
	if tx.loaded != nil {
		lines := s.at.lines + bytes.Count(text, newline)
		s.at = position{end.Generation, end.End, lines, end.Seq, end.Next, end.CRC}
	}
	late.end, w.keep = end, true
	return late, nil
}

// keepHistory makes the ads of the jobs that leave durable.
func (s *Spool) keepHistory(tx *Tx) error {
	for _, m := range tx.months {
		if err := m.keep(s, "history"); err != nil {
			return err
		}
		tx.put(record{Kind: 'H', Name: m.name, End: m.end, CRC: m.crc})
	}
	return tx.err
}

// end closes what the transaction opened. Unless they are to be kept, it takes back the ads of the jobs that leave, because they did not
// leave in the end, and the digests.
func (tx *Tx) end(keep bool) {
	for _, m := range tx.months {
		if !keep {
			m.drop()
		}
		m.file.Close()
	}
	for _, cluster := range tx.kept {
		if !keep {
			tx.spool.files.Remove(tx.spool.path(digestName(cluster))) // or the next fold does
		}
	}
}

// write appends text at offset and syncs; a failure cuts the file back.
func write(f files.File, text []byte, offset int64) error {
	_, err := f.WriteAt(text, offset)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return cutBack(f, offset, err)
	}
	return nil
}

// cutBack cuts a file back to where it ended before something was appended that failed for the reason why, which it returns; it is
// files.ErrUncertain too when that fails as well.
func cutBack(f files.File, offset int64, why error) error {
	cut := f.Truncate(offset)
	if cut == nil {
		cut = f.Sync() // so that a power cut does not bring back what was refused
	}
	if cut != nil {
		return fmt.Errorf("%w; it could not be cut back, so %w: %v", why, files.ErrUncertain, cut)
	}
	return why
}

func (s *Spool) header(tx *Tx) Transaction {
	machine := time.Now()
	policy := s.options.Now
	if policy.IsZero() {
		policy = machine
	}
	h := &tx.Header
	h.Seq, h.Machine, h.Policy, h.UID, h.User, h.Program = tx.seq, machine, policy, os.Geteuid(), s.user, s.options.Program
	return tx.Header
}

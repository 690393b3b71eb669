package spool

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Tx is one transaction in the making. It sees its own changes. They are
// committed when the function that was given the Tx has returned nil; if it
// returns an error, or any change could not be made, none of them ever is.
//
// A transaction that only adds clusters does not read the queue: its cost
// does not depend on how much is there.
type Tx struct {
	View
	op      string
	args    []string
	body    []byte
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

// Op names the transaction: an operation such as "set priority" and its plain
// arguments. Every transaction that changes something must be named; the last
// name counts.
func (tx *Tx) Op(name string, args ...string) { tx.op, tx.args = name, args }

// fail remembers the first change that could not be made.
func (tx *Tx) fail(err error) {
	if tx.err == nil {
		tx.err = err
	}
}

// put makes a change visible to the transaction and notes it for the journal.
func (tx *Tx) put(r record) {
	if needsState(r.Kind) {
		tx.state()
	}
	tx.note(r)
}

// note does as put for a change that refers to nothing but the transaction's
// own.
func (tx *Tx) note(r record) {
	if tx.err != nil {
		return
	}
	if tx.loaded != nil {
		if err := tx.loaded.apply(r, tx.seq); err != nil {
			tx.fail(err)
			return
		}
	}
	start := len(tx.body)
	tx.body = r.append(tx.body)
	tx.check(start)
}

// check reads the last line of the body, which begins at start, once more: what
// could not be read again would damage the spool for good.
func (tx *Tx) check(start int) {
	if _, err := parseRecord(tx.body[start:len(tx.body)-1], tx.expressions); err != nil {
		tx.fail(fmt.Errorf("a record that does not read back: %w", err))
	}
}

// needsState tells which changes refer to what is there already.
func needsState(kind byte) bool { return kind == 'A' || kind == 'D' || kind == 'L' }

// AddCluster puts a cluster into the queue and returns its id. Procs count
// from 0 through the runs in their order. There must be at least one proc.
func (tx *Tx) AddCluster(ad *classad.Ad, runs []NewRun) int {
	id, from := tx.next, len(tx.body)
	tx.next++
	tx.addAd(id, ad)
	tx.addProcs(id, 0, runs)
	tx.chargeCluster(id, chargedTo(ad), from, runs, true)
	return id
}

// addAd begins a cluster.
func (tx *Tx) addAd(cluster int, ad *classad.Ad) {
	for _, name := range ad.OwnNames() {
		e, _ := ad.Lookup(name)
		tx.put(record{Kind: 'C', Procs: pool.Procs{Cluster: cluster}, Name: name, Expr: e})
	}
}

// Set sets one attribute of a job. A nil expression removes what the job has
// of its own, so that its cluster's value shows again.
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
func (tx *Tx) PutClaim(c pool.Claim) { tx.put(record{Kind: 'K', Claim: c}) }

// DropClaim removes the claim of a job.
func (tx *Tx) DropClaim(id pool.JobID) { tx.put(record{Kind: 'k', Claim: pool.Claim{Job: id}}) }

// PutSubmitter adds a submitter's record or changes it as a whole. However
// often a transaction does so, the journal gets the last one only.
func (tx *Tx) PutSubmitter(r accountant.Record) {
	tx.state().submitters.put(r.Name, r)
	if tx.charged == nil {
		tx.charged = map[string]bool{}
	}
	tx.charged[r.Name] = true
}

// DropSubmitter removes a submitter's record.
func (tx *Tx) DropSubmitter(name string) {
	delete(tx.charged, name)
	tx.put(record{Kind: 'u', Name: name})
}

// settle notes the submitters' records, the tallies and the owners' counts that changed.
func (tx *Tx) settle() {
	for _, name := range slices.Sorted(maps.Keys(tx.charged)) {
		r, _ := tx.Submitter(name)
		tx.put(record{Kind: 'U', Submitter: r})
	}
	tx.charged = nil
	for _, k := range slices.SortedFunc(maps.Keys(tx.tallied), accountant.Key.Compare) {
		y, _ := tx.Tally(k)
		tx.put(record{Kind: 'W', Tally: &y})
	}
	tx.tallied = nil
	tx.settleOwners()
}

// PutSlot adds a slot's ad or changes it; only attributes that read otherwise
// than before cost anything.
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

// DropSlot removes an advertised slot.
func (tx *Tx) DropSlot(name string) { tx.put(record{Kind: 's', Slot: name}) }

// PutBackoff leaves a slot alone until a time.
func (tx *Tx) PutBackoff(b pool.Backoff) { tx.put(record{Kind: 'B', Backoff: b}) }

// DropBackoff ends that.
func (tx *Tx) DropBackoff(slot string) { tx.put(record{Kind: 'b', Name: slot}) }

// Grow adds procs to a cluster that was made before, counted from first on
// through the runs in their order. If the cluster is in the queue its ad stays as
// it is; if all its procs have left, it is put in again with this one. The number
// must have been given out, and no proc from first on may be there.
func (tx *Tx) Grow(cluster int, ad *classad.Ad, first int, runs []NewRun) {
	switch {
	case cluster < 1 || cluster >= tx.next:
		tx.fail(fmt.Errorf("cluster %d: its number was never given out", cluster))
		return
	case first < 0:
		tx.fail(fmt.Errorf("cluster %d: proc %d is below zero", cluster, first))
		return
	}
	c, ok := tx.Cluster(cluster)
	owner, from := chargedTo(ad), len(tx.body)
	if ok {
		owner, _ = c.Charged()
	} else {
		tx.addAd(cluster, ad)
	}
	tx.addProcs(cluster, first, runs)
	tx.chargeCluster(cluster, owner, from, runs, !ok)
}

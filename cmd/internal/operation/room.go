package operation

import (
	"cmp"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// room is what the claims of a transaction leave of the slots that a cycle saw.
// It fills up as matches become claims.
type room struct {
	seen     Snapshot
	eval     *classad.Context
	taken    map[string]bool             // names of slots with a claim, static and dynamic
	promised map[string]bool             // names of those that are promised to somebody
	pieces   map[string][]pool.Resources // by partitionable slot
	left     map[string]*classad.Ad      // what they leave, of those that were asked for
	drained  drains                      // machines
}

func roomIn(tx *spool.Tx, seen Snapshot, now time.Time) *room {
	r := &room{
		seen: seen, eval: &classad.Context{Now: now},
		taken: map[string]bool{}, promised: map[string]bool{}, pieces: map[string][]pool.Resources{}, left: map[string]*classad.Ad{},
		drained: drainsOf(&tx.View),
	}
	for _, c := range tx.Claims() {
		r.take(c.Slot, c.Piece)
		if c.State == pool.Promised {
			r.promised[c.Slot] = true
		}
	}
	return r
}

// take notes that a slot has a claim now. One that is promised what another claim still
// has takes nothing beside that.
func (r *room) take(slot string, p pool.Piece) {
	had := r.taken[slot]
	r.taken[slot] = true
	if p.Of == "" || had {
		return
	}
	r.pieces[p.Of] = append(r.pieces[p.Of], p.Takes)
	if left := r.left[p.Of]; left != nil {
		r.left[p.Of] = pool.Left(r.eval, left, []pool.Resources{p.Takes})
	}
}

// slotAdOf returns the Name of the slot ad that a match takes from.
func slotAdOf(m negotiator.Match) string { return cmp.Or(m.Piece.Of, m.Slot) }

// has tells whether a match can still be made: its machine is not drained, its slot's ad
// is the one that the cycle saw, and what it takes is free, or held as the cycle saw it and promised to
// nobody.
func (r *room) has(tx *spool.Tx, m negotiator.Match) bool {
	if _, drained := r.drained.of(r.seen.slots[slotAdOf(m)].machine); drained {
		return false
	}
	if m.Preempts != nil && m.Preempts.Job != (pool.JobID{}) {
		holder, ok := tx.Claim(m.Preempts.Job)
		return ok && holder.State == pool.RunningClaim && holder.Attempt == m.Preempts.Attempt &&
			holder.Slot == m.Slot && holder.Piece == m.Piece && !r.promised[m.Slot] && r.seen.unchanged(tx, holder.SlotAd())
	}
	of := m.Piece.Of
	if of == "" {
		return !r.taken[m.Slot] && len(r.pieces[m.Slot]) == 0 && r.seen.unchanged(tx, m.Slot)
	}
	if r.taken[m.Slot] || r.taken[of] || !r.seen.unchanged(tx, of) {
		return false
	}
	// Nobody could tell two slots of one name apart.
	if _, advertised := tx.Advertised(m.Slot); advertised || r.seen.slots[m.Slot].ad != nil {
		return false
	}
	if r.left[of] == nil {
		r.left[of] = pool.Left(r.eval, r.seen.slots[of].ad, r.pieces[of])
	}
	return pool.Fits(r.eval, r.left[of], m.Piece.Takes)
}

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Match applies the plan of a cycle that was computed on the snapshot: new claims and their charges,
// matches given up, slots left alone, records of submitters that are new or have another half-life, and
// the facts that a policy with one queue keeps in jobs. It leaves to the next cycle what has changed
// since the snapshot: matches of jobs, claims and slots that have changed, pieces of slots that are no
// longer free, and matches that depend on giving up a match that has been taken up. It tells the jobs
// that are preempted to leave, and turns promises of slots that came free into matches. The plan's
// reservations replace the earlier ones. It returns the matches that it made.
func Match(tx *spool.Tx, plan *negotiator.Plan, seen Snapshot, now time.Time, p accountant.Params) []negotiator.Match {
	tx.Op("negotiate")
	facts := queueFacts(tx, plan, seen)
	claims, promised := claimsOn(&tx.View, plan.Matches)
	if promised {
		Arrive(tx, now)
	}
	late := giveUp(tx, plan, now, p)
	settleAll(tx, plan, late.outside(plan.Outside, seen, p), now, p)
	reserve(tx, plan)
	if promised || len(plan.GiveUp) > 0 {
		claims, _ = claimsOn(&tx.View, plan.Matches)
	}
	var free *room
	if len(plan.Matches) > 0 {
		free = roomIn(tx, seen, claims, now)
	}
	made := make([]negotiator.Match, 0, len(plan.Matches))
	attempts := make([]attempt, 0, len(plan.Matches))
	for _, m := range plan.Matches {
		slot, _ := seen.slot(cmp.Or(m.Piece.Of, m.Slot))
		if late.bar(tx, m) || !free.has(tx, m, slot) {
			continue
		}
		if n, ok := claimFor(tx, m, slot, seen.seq, now, p); ok {
			free.take(m.Slot, m.Piece)
			if m.Preempts != nil {
				free.promised[m.Slot] = true
			}
			made = append(made, m)
			attempts = append(attempts, attempt{m.Job, n})
		}
	}
	countMatches(tx, attempts, now)
	keepQueueFacts(tx, facts, plan.Passing, made)
	if plan.Tickets == nil {
		dropTickets(tx, seen.ticketed)
	}
	deliver(tx, plan.Tickets, made, now)
	takeFromOutside(tx, made, now, p)
	putSuccession(tx, plan.Succession)
	return made
}

// giveUp ends the matches that no starter took up, and leaves their slots
// alone. A match that was taken up since the snapshot goes on.
func giveUp(tx *spool.Tx, plan *negotiator.Plan, now time.Time, p accountant.Params) latecomers {
	given := map[string]bool{}
	late := latecomers{submitters: map[string]bool{}, limits: map[string]bool{}, limited: plan.Limited}
	for _, c := range plan.GiveUp {
		if GiveUp(tx, c, now, p) {
			given[c.SlotAd()] = true
		} else if _, lasts := tx.Claim(c.Job); lasts {
			late.add(c)
		}
	}
	for _, b := range plan.Backoffs {
		if given[b.Slot] {
			tx.PutBackoff(b)
		}
	}
	return late
}

// settleAll creates the records of groups and of submitters that took part for the first time, but
// none for a slot ad's user with a name that no submitter can have: without an @ it would be a
// group's. It charges what slots say is held, brings all records under a changed half-life, and
// drops irrelevant records of submitters that do not take part in this cycle.
func settleAll(tx *spool.Tx, plan *negotiator.Plan, outside map[string]negotiator.Holding, now time.Time, p accountant.Params) {
	present := map[string]bool{}
	for _, s := range plan.Submitters {
		present[s.Name] = true
		if r, ok := tx.Submitter(s.Name); !ok && accountant.NamesSubmitter(s.Name) {
			tx.PutSubmitter(r.Settle(now, p))
		}
	}
	records := tx.Submitters()
	for i, r := range records {
		if held := outside[r.Name]; !r.IsGroup() {
			records[i] = r.HeldOutside(held.Slots, held.Weight, now, p)
		}
		if records[i] != r {
			tx.PutSubmitter(records[i])
		}
	}
	for _, r := range accountant.Regroup(records, now, p) {
		tx.PutSubmitter(r)
	}
	for _, r := range spool.Flocked.All(&tx.View) {
		switch {
		case r.Irrelevant(now, p):
			spool.Flocked.Drop(tx, r.Name)
		case r.HalfLife != p.HalfLife:
			spool.Flocked.Put(tx, r.Settle(now, p))
		}
	}
	for _, r := range records {
		if r.IsGroup() { // which may be another by now
			r, _ = tx.Submitter(r.Name)
		}
		switch {
		case !present[r.Name] && r.Irrelevant(now, p):
			tx.DropSubmitter(r.Name)
		case r.HalfLife != p.HalfLife:
			tx.PutSubmitter(r.Settle(now, p))
		}
	}
}

// Prune drops the tallies that no policy would miss.
func Prune(tx *spool.Tx, now time.Time, p accountant.Params) {
	tx.Op("prune tallies")
	for _, y := range tx.Tallies() {
		if y.Irrelevant(now, p) {
			tx.DropTally(y.Key)
		}
	}
}

// attempt is a match of a job, with the number of the attempt.
type attempt struct {
	job pool.JobID
	n   int64
}

// countMatches notes the matches in the jobs, for consecutive equal procs at once, which stay equal.
func countMatches(tx *spool.Tx, list []attempt, now time.Time) {
	slices.SortFunc(list, func(a, b attempt) int { return a.job.Compare(b.job) })
	for len(list) > 0 {
		first, n := list[0], 1
		for n < len(list) && list[n] == (attempt{pool.JobID{Cluster: first.job.Cluster, Proc: first.job.Proc + n}, first.n}) {
			n++
		}
		set := func(name string, v int64) {
			tx.SetRange(pool.Procs{Cluster: first.job.Cluster, First: first.job.Proc, Last: first.job.Proc + n - 1}, name, classad.Literal(classad.Int(v)))
		}
		set(pool.AttrNumJobMatches, first.n)
		set(pool.AttrLastMatchTime, now.Unix())
		list = list[n:]
	}
}

// claimFor makes the claim of one match with a slot, unless its job changed after the transaction
// since, and returns which attempt of the job it is.
func claimFor(tx *spool.Tx, m negotiator.Match, slot known, since uint64, now time.Time, p accountant.Params) (n int64, ok bool) {
	run, ok := tx.Run(m.Job)
	if !ok || run.Seq > since {
		return 0, false
	}
	if _, claimed := tx.Claim(m.Job); claimed {
		return 0, false
	}
	j := job{tx, m.Job, run.Proc(m.Job.Proc)}
	if j.status() != pool.Idle {
		return 0, false
	}
	n = j.int(pool.AttrNumJobMatches) + 1
	c := ClaimOf(m, j.ad, int(n), p)
	if m.Preempts != nil {
		c.State = pool.Promised
		preempt(tx, m, now, p)
	}
	c.Machine, c.Flocked = slot.machine, FlockedTo(slot.ad)
	c.MatchedAt = BeginCharge(tx, c, now, p)
	tx.PutClaim(c)
	return n, true
}

// FlockedTo returns the engine of the pool that gives the slot with this ad; empty: the slot is
// this pool's own.
func FlockedTo(slot *classad.Ad) string {
	engine, _ := slot.EvalString(&classad.Context{}, pool.AttrFlockedTo)
	return engine
}

// ClaimOf returns the claim of a match for an attempt of the job with this ad, still without Machine, Flocked
// and MatchedAt.
func ClaimOf(m negotiator.Match, ad *classad.Ad, attempt int, p accountant.Params) pool.Claim {
	return pool.Claim{
		Job: m.Job, Attempt: attempt, Slot: m.Slot, Piece: m.Piece, Submitter: m.Submitter,
		State: pool.Matched, Weight: m.Weight, By: matchedBy(ad, m, p), Limits: m.Limits, Rank: m.Rank,
	}
}

// matchedBy returns the credentials that the job of a match is charged to.
func matchedBy(ad *classad.Ad, m negotiator.Match, p accountant.Params) accountant.Credentials {
	by := credentials(ad, p)
	if m.QOS != "" {
		by.QOS = m.QOS
	}
	by.PE = m.PE
	return by
}

// GiveUp ends a match that no starter took up, or that waits in vain for its slot: it gives the
// charge back, and the job may be matched again. It returns false, and changes nothing, if the claim is
// another attempt's or no longer Matched or Promised.
func GiveUp(tx *spool.Tx, c pool.Claim, now time.Time, p accountant.Params) bool {
	current, ok := tx.Claim(c.Job)
	if !ok || current.Attempt != c.Attempt || current.State != c.State ||
		c.State != pool.Matched && c.State != pool.Promised {
		return false
	}
	EndCharge(tx, current, now, p)
	tx.DropClaim(c.Job)
	if ad, there := tx.Job(c.Job); there {
		job{tx, c.Job, ad}.unset(pool.AttrTickets)
	}
	return true
}

// room is the part of the slots of some matches that the claims of a transaction leave free. It shrinks as matches become claims.
type room struct {
	seen     Snapshot
	eval     *classad.Context
	taken    map[string]bool             // names of slots with a claim, static and dynamic
	promised map[string]bool             // names of promised slots
	pieces   map[string][]pool.Resources // by partitionable slot
	left     map[string]*classad.Ad      // the rest of a slot without its pieces, once computed
	drained  drains                      // machines
	later    maintained                  // maintenances that the cycle did not see
}

// claimsOn returns the claims on the slots of some matches and on pieces of them, by job, and whether any claim at all is Promised.
func claimsOn(v *spool.View, matches []negotiator.Match) (list []pool.Claim, promised bool) {
	wanted := sync.OnceValue(func() map[string]bool {
		wanted := make(map[string]bool, len(matches))
		for _, m := range matches {
			wanted[m.Slot] = true
			if m.Piece.Of != "" {
				wanted[m.Piece.Of] = true
			}
		}
		return wanted
	})
	spool.EachClaim(v, func(c *pool.Claim) {
		promised = promised || c.State == pool.Promised
		if wanted()[c.Slot] || c.Piece.Of != "" && wanted()[c.Piece.Of] {
			list = append(list, *c)
		}
	})
	return list, promised
}

// roomIn returns the room of the slots of which it is given all claims.
func roomIn(tx *spool.Tx, seen Snapshot, claims []pool.Claim, now time.Time) *room {
	r := &room{
		seen: seen, eval: &classad.Context{Now: now}, taken: map[string]bool{},
		promised: map[string]bool{}, pieces: map[string][]pool.Resources{}, left: map[string]*classad.Ad{},
		drained: drainsOf(&tx.View), later: maintainedIn(&tx.View).without(seen.maintained),
	}
	for _, c := range claims {
		if c.State != pool.Promised {
			r.take(c.Slot, c.Piece)
		}
	}
	for _, c := range claims { // of which some have the same room as others
		if c.State == pool.Promised {
			r.take(c.Slot, c.Piece)
			r.promised[c.Slot] = true
		}
	}
	return r
}

// take notes that a slot has a claim. A promise shares the room of the claim that it replaces.
func (r *room) take(slot string, p pool.Piece) {
	had := r.taken[slot]
	r.taken[slot] = true
	if p.Of == "" || had {
		return
	}
	r.pieces[p.Of] = append(r.pieces[p.Of], p.Takes)
	if left := r.left[p.Of]; left != nil {
		pool.Take(r.eval, left, p.Takes)
	}
}

// has reports whether a match can still be made: its machine is not drained, no maintenance was added, the slot's ad is
// the one that the cycle saw, and the resources are free, or held as the cycle saw and not promised.
func (r *room) has(tx *spool.Tx, m negotiator.Match, slot known) bool {
	if _, drained := r.drained.of(slot.machine); drained {
		return false
	}
	if slot.ad != nil && len(r.later.of(r.eval, slot.ad)) > 0 {
		return false // the next cycle sees whether the job ends in time
	}
	if m.Preempts != nil && m.Preempts.Job != (pool.JobID{}) {
		holder, ok := tx.Claim(m.Preempts.Job)
		return ok && holder.State == pool.RunningClaim && holder.Attempt == m.Preempts.Attempt &&
			holder.Slot == m.Slot && holder.Piece == m.Piece && !r.promised[m.Slot] && r.seen.unchanged(tx, slot)
	}
	of := m.Piece.Of
	if of == "" {
		return !r.taken[m.Slot] && len(r.pieces[m.Slot]) == 0 && r.seen.unchanged(tx, slot)
	}
	if r.taken[m.Slot] || r.taken[of] || !r.seen.unchanged(tx, slot) {
		return false
	}
	// Names of slots are unique.
	_, advertised := tx.Advertised(m.Slot)
	if _, seen := r.seen.slot(m.Slot); advertised || seen {
		return false
	}
	if r.left[of] == nil {
		r.left[of] = pool.Left(r.eval, slot.ad, r.pieces[of]).Clone() // which becomes less
	}
	return pool.Fits(r.eval, r.left[of], m.Piece.Takes)
}

// latecomers are the matches that a cycle gave up and that were taken up before its plan was
// applied. The plan has dealt out their part of the submitter's share and ceiling, of concurrency
// limits and, under a policy with one queue, of limits of credentials again.
type latecomers struct {
	submitters map[string]bool
	limits     map[string]bool
	claims     []pool.Claim
	limited    bool // credentials are
}

func (l *latecomers) add(c pool.Claim) {
	l.claims = append(l.claims, c)
	l.submitters[c.Submitter] = true
	for _, name := range limitNames(c.Limits) {
		l.limits[name] = true
	}
}

// bar reports whether a match has to wait for the next cycle, as it may count against a
// submitter, limit or credential of a latecomer.
func (l latecomers) bar(tx *spool.Tx, m negotiator.Match) bool {
	if len(l.submitters) == 0 {
		return false
	}
	return l.submitters[m.Submitter] || slices.ContainsFunc(limitNames(m.Limits), func(name string) bool { return l.limits[name] }) ||
		l.limited && l.shareCredential(tx, m)
}

// shareCredential reports whether the job of a match has a credential that a latecomer has.
func (l latecomers) shareCredential(tx *spool.Tx, m negotiator.Match) bool {
	ad, ok := tx.Job(m.Job)
	if !ok {
		return false
	}
	by := matchedBy(ad, m, accountant.Params{}) // no limit is by project
	return slices.ContainsFunc(l.claims, func(c pool.Claim) bool {
		for _, of := range [][2]string{{by.User, c.By.User}, {by.Group, c.By.Group}, {by.Account, c.By.Account}, {by.QOS, c.By.QOS}, {by.Class, c.By.Class}} {
			if of[0] != "" && of[0] == of[1] {
				return true
			}
		}
		return false
	})
}

// limitNames returns the names of limits that negotiator.Match has as "lic,sw.x:2".
func limitNames(limits string) []string {
	if limits == "" {
		return nil
	}
	names := strings.Split(limits, ",")
	for i, one := range names {
		names[i], _, _ = strings.Cut(one, ":")
	}
	return names
}

// outside returns the holdings that slots' ads tell of, without the slots of latecomers, which are
// charged to the latecomers' submitters.
func (l latecomers) outside(held map[string]negotiator.Holding, seen Snapshot, p accountant.Params) map[string]negotiator.Holding {
	if len(l.claims) == 0 {
		return held
	}
	held = maps.Clone(held)
	for _, c := range l.claims {
		slot, there := seen.slot(c.Slot)
		if !there {
			continue
		}
		name := p.Groups.Spelled(negotiator.Holder(&classad.Context{}, slot.ad))
		switch h := held[name]; {
		case h.Slots > 1:
			held[name] = negotiator.Holding{Slots: h.Slots - 1, Weight: max(h.Weight-c.Weight, 0)}
		case h.Slots == 1:
			delete(held, name)
		}
	}
	return held
}

// mostTickets bounds the tickets that are kept: a real is exact for integers up to it.
const mostTickets = 1 << 53

// ticketsMark is the mark of a spool with jobs that may have tickets: the time, in Unix seconds, at
// which a cycle last wrote tickets of running jobs, or noDelivery.
const ticketsMark = "tickets"

const noDelivery = "-"

// Delivered returns when a cycle last wrote the tickets of jobs that ran; zero for never.
func Delivered(v *spool.View) time.Time {
	if n, err := strconv.ParseInt(v.Mark(ticketsMark), 10, 64); err == nil {
		return time.Unix(n, 0)
	}
	return time.Time{}
}

// deliver keeps the tickets of a plan that differ from those kept before; made are the plan's
// matches that came about. It sets the mark, to the time now if a job that was running has got
// other tickets.
func deliver(tx *spool.Tx, list []negotiator.Tickets, made []negotiator.Match, now time.Time) {
	var fresh []negotiator.Tickets
	for _, t := range list {
		if wantsTickets(tx, t) {
			fresh = append(fresh, t)
		}
	}
	if len(fresh) == 0 {
		return
	}
	begins := make(map[pool.JobID]bool, len(made))
	for _, m := range made {
		begins[m.Job] = true
	}
	mark := cmp.Or(tx.Mark(ticketsMark), noDelivery)
	if slices.ContainsFunc(fresh, func(t negotiator.Tickets) bool { return !begins[t.Job] }) {
		mark = strconv.FormatInt(now.Unix(), 10)
	}
	putMark(tx, ticketsMark, mark)
	keepTickets(tx, fresh)
}

// keepTickets sets the tickets that jobs' run-time priorities follow, for consecutive procs with equally
// many at once.
func keepTickets(tx *spool.Tx, list []negotiator.Tickets) {
	var row pool.Procs
	var has int64
	write := func() {
		if row.Cluster > 0 {
			tx.SetRange(row, pool.AttrTickets, classad.Literal(classad.Int(has)))
		}
	}
	for _, t := range list {
		n := whole(t)
		if n == has && row.Extend(pool.Only(t.Job)) {
			continue
		}
		write()
		row, has = pool.Only(t.Job), n
	}
	write()
}

// whole returns tickets as they are kept.
func whole(t negotiator.Tickets) int64 { return int64(min(t.Tickets, mostTickets)) }

// ticketed returns the jobs with tickets, which all have claims. Without ticketsMark it looks at none.
func ticketed(v *spool.View, claims []pool.Claim) (list []pool.JobID) {
	if v.Mark(ticketsMark) == "" {
		return nil
	}
	for _, c := range claims {
		if run, ok := v.Run(c.Job); ok && run.Ad.Has(pool.AttrTickets) {
			list = append(list, c.Job)
		}
	}
	return list
}

// dropTickets removes the tickets of jobs, which would still make nice values under a policy without
// tickets. The mark goes once a cycle finds no tickets: a successor may have taken over some
// meanwhile.
func dropTickets(tx *spool.Tx, list []pool.JobID) {
	if len(list) == 0 {
		putMark(tx, ticketsMark, "")
	}
	for _, id := range list {
		if ad, ok := tx.Job(id); ok {
			job{tx, id, ad}.unset(pool.AttrTickets)
		}
	}
}

// wantsTickets reports whether a job has a claim, and not so many tickets.
func wantsTickets(tx *spool.Tx, t negotiator.Tickets) bool {
	_, claimed := tx.Claim(t.Job)
	ad, there := tx.Job(t.Job)
	return claimed && there && TicketsOf(ad) != whole(t)
}

// TicketsOf returns the tickets of a job that has not ended, negative for none.
func TicketsOf(ad *classad.Ad) int64 {
	if n, ok := ad.EvalInt(&classad.Context{}, pool.AttrTickets); ok {
		return max(n, 0)
	}
	return -1
}

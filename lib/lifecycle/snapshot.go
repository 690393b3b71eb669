package lifecycle

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Snapshot is the input of a negotiation cycle, with the data to apply its plan later.
type Snapshot struct {
	Pool  negotiator.Pool
	Bad   []error     // what could not be used: hand-written slot ads, by file and line
	seq   uint64      // the transaction that it was taken after
	slots []pool.Slot // as View.Slots returns them
	// Summaries returns the summaries of the slots.
	Summaries func() []pool.SlotSummary

	maintained map[int]bool // maintenances, by number

	ticketed []pool.JobID        // jobs with claims that have Tickets
	flocked  []accountant.Record // submitters' usage in other pools
}

// known is the data about a slot that the cycle saw, for applying a plan.
type known struct {
	name    string
	ad      *classad.Ad
	machine string // its Machine
	hand    bool   // the ad was written by hand
}

// slot returns what the cycle saw of a slot; false: it saw none of the name.
func (s Snapshot) slot(name string) (known, bool) {
	i, there := slices.BinarySearchFunc(s.slots, name, func(slot pool.Slot, name string) int { return pool.CompareNames(slot.Name, name) })
	if !there {
		return known{name: name}, false
	}
	slot := s.slots[i]
	return known{name, slot.Ad, slot.Machine(&classad.Context{}), slot.Source != ""}, true
}

// unchanged reports whether a slot's ad is the one that the cycle saw. Ads written by
// hand have no versions; an edit during a cycle counts in the next.
func (s Snapshot) unchanged(tx *spool.Tx, slot known) bool {
	return slot.hand || !tx.SlotChanged(slot.name, s.seq)
}

// Respell gives all submitters and groups the names that the configuration spells
// otherwise now, in their records and in the claims: names of groups are the same
// whatever their case. The record of a submitter with both names joins the two. The
// caller names the transaction.
func Respell(tx *spool.Tx, now time.Time, p accountant.Params) {
	for _, r := range tx.Submitters() {
		name := p.Groups.Spelled(r.Name)
		if name == r.Name {
			continue
		}
		tx.DropSubmitter(r.Name)
		r.Name = name
		if other, there := tx.Submitter(name); there {
			r = other.Joined(r, now, p)
		}
		tx.PutSubmitter(r)
	}
	renameFlocked(tx, p.Groups.Spelled)
	for _, c := range tx.Claims() {
		if name := p.Groups.Spelled(c.Submitter); name != c.Submitter {
			c.Submitter = name
			tx.PutClaim(c)
		}
	}
}

// renameFlocked renames the submitters in the records of usage in other pools. Records that come to have one name are
// joined.
func renameFlocked(tx *spool.Tx, renamed func(string) string) {
	for _, r := range spool.Flocked.All(&tx.View) {
		name := renamed(r.Name)
		if name == r.Name {
			continue
		}
		spool.Flocked.Drop(tx, r.Name)
		r.Name = name
		if other, there := spool.Flocked.Get(&tx.View, name); there {
			r = other.Joined(r, latest(other.At, r.At), accountant.Params{HalfLife: r.HalfLife})
		}
		spool.Flocked.Put(tx, r)
	}
}

// Misspelt reports whether Respell would change anything.
func (s Snapshot) Misspelt(groups *accountant.Groups) bool {
	for _, r := range slices.Concat(s.Pool.Submitters, s.flocked) {
		if groups.Spelled(r.Name) != r.Name {
			return true
		}
	}
	return slices.ContainsFunc(s.Pool.Claims, func(c pool.Claim) bool { return groups.Spelled(c.Submitter) != c.Submitter })
}

// queueFact is an attribute that a policy with one queue keeps in equal procs.
type queueFact struct {
	pool.Procs
	name string
	is   int64
	// passed says that is, the BypassCount so far, grows by so many of the plan's matches as
	// come about, the last so many of Plan.Passing.
	passed int
}

// queueFacts returns the facts that a plan keeps in jobs until the next cycle: since when
// they are considered, and how often they were passed over. It leaves out jobs that changed
// since the snapshot. Call it before the transaction changes any.
func queueFacts(tx *spool.Tx, plan *negotiator.Plan, seen Snapshot) []queueFact {
	var facts []queueFact
	note := func(f queueFact) {
		if n := len(facts); n > 0 {
			if last := &facts[n-1]; last.name == f.name && last.is == f.is && last.passed == f.passed && last.Extend(f.Procs) {
				return
			}
		}
		facts = append(facts, f)
	}
	for _, k := range plan.Clocks {
		eachUnchanged(tx, k.Procs, seen, func(p pool.Procs, _ *classad.Ad) { note(queueFact{p, pool.AttrEligibleSince, k.Since, 0}) })
	}
	for _, k := range plan.Passed {
		eachUnchanged(tx, k.Procs, seen, func(p pool.Procs, ad *classad.Ad) {
			before, _ := ad.EvalInt(&classad.Context{}, pool.AttrBypassCount)
			note(queueFact{p, pool.AttrBypassCount, max(before, 0), k.Times})
		})
	}
	return facts
}

// eachUnchanged calls do for the procs of p that are as the cycle saw them, run by run.
func eachUnchanged(tx *spool.Tx, p pool.Procs, seen Snapshot, do func(pool.Procs, *classad.Ad)) {
	cluster, ok := tx.Cluster(p.Cluster)
	if !ok {
		return
	}
	runs := cluster.Runs
	for _, run := range runs[sort.Search(len(runs), func(i int) bool { return runs[i].Last >= p.First }):] {
		if run.First > p.Last {
			return
		}
		if both, _ := run.Intersect(p); run.Seq <= seen.seq {
			do(both, run.Ad)
		}
	}
}

// keepQueueFacts notes them in the jobs. passing are the jobs that a plan matched, in the
// order of the queue, and made the matches that came about: a job that got nothing in the
// end has passed no other.
func keepQueueFacts(tx *spool.Tx, facts []queueFact, passing []pool.JobID, made []negotiator.Match) {
	matched := make(map[pool.JobID]bool, len(made))
	for _, m := range made {
		matched[m.Job] = true
	}
	failed := make([]int, len(passing)+1) // by how many of the last it is asked about
	for i := range passing {
		failed[i+1] = failed[i]
		if !matched[passing[len(passing)-1-i]] {
			failed[i+1]++
		}
	}
	for _, f := range facts {
		is := f.is
		if f.name == pool.AttrBypassCount {
			more := int64(f.passed - failed[min(f.passed, len(passing))])
			if more == 0 {
				continue
			}
			is = min(is, math.MaxInt64-more) + more
		}
		tx.SetRange(f.Procs, f.name, classad.Literal(classad.Int(is)))
	}
}

// SourcesOf returns the sources of a view, as of now.
func SourcesOf(v *spool.View, now time.Time) policy.Sources {
	return policy.Sources{
		Slots: func(do func([]pool.Slot)) {
			LookAtSlots(v, func(v *spool.View) { slots, _ := Slots(v); do(slots) })
		},
		Summaries: func() []pool.SlotSummary { slots, _ := SlotSummaries(v); return slots },
		Claims:    v.Claims,
		Tallies:   v.Tallies,
		Now:       now, Delivered: Delivered(v),
	}
}

// putMark keeps a text under a name, unless it is the one that is kept: nothing is written then.
func putMark(tx *spool.Tx, name, text string) {
	if text != tx.Mark(name) {
		tx.PutMark(name, text)
	}
}

// slotsMark is the mark of a spool whose pool had slots that may be gone by now.
const slotsMark = "slots"

// EverGiven reports whether the pool has a slot or a file in slots.d, or ever had one
// that NoteGiven noted.
func EverGiven(v *spool.View) bool {
	advertised, byHand := v.SlotSources()
	return advertised || byHand || v.Mark(slotsMark) != ""
}

// NoteGiven makes EverGiven true for ever: for transactions that take slots out of the
// pool, and for slots in files, which go without a transaction.
func NoteGiven(tx *spool.Tx) { putMark(tx, slotsMark, "given") }

// FilesUnnoted reports whether slots.d has a file and nothing notes that it had one.
func FilesUnnoted(v *spool.View) bool {
	_, byHand := v.SlotSources()
	return byHand && v.Mark(slotsMark) == ""
}

// pastMark is the mark under which the spool keeps which transaction was the last
// to change what had been.
const pastMark = "past"

// ChangePast notes that the transaction writes a record as of a time before the record's
// last event, or drops a record: the present does not follow from the events since.
func ChangePast(tx *spool.Tx) { tx.PutMark(pastMark, strconv.FormatUint(tx.Seq(), 10)) }

// Past returns a text that is another one after each change of the past by ChangePast, and
// whenever the spool keeps another clock.
func Past(v *spool.View) string { return v.Mark(pastMark) + " " + v.Mark(accountant.ClockMark) }

package accountant

import (
	"maps"
	"slices"
	"time"
)

// Book is where records are kept, such as a transaction of the spool.
type Book interface {
	// Submitter returns the record of a submitter or group; for one that is not
	// known a Record with its Name, and false.
	Submitter(name string) (Record, bool)
	PutSubmitter(Record)
	// Tally returns the tally of a key; for an unknown key a Tally with only the Key, and
	// false.
	Tally(Key) (Tally, bool)
	PutTally(Tally)
}

// Charge is a claim as the accounts see it: which submitter is charged how much.
type Charge struct {
	Submitter string
	Weight    Weight
	By        Credentials
}

// Begin begins to charge at t, and returns since when: t, or the submitter's
// last event where that is later.
func (c Charge) Begin(b Book, t time.Time, p Params) time.Time {
	r, _ := b.Submitter(c.Submitter)
	r = r.Start(t, c.Weight, p)
	b.PutSubmitter(r)
	c.groups(b, p, func(g Record, own bool) Record { return g.start(r.At, c.Weight, own, p) })
	c.tally(b, func(y Tally) Tally { return y.Begin(r.At, c.By, p) })
	return r.At
}

// End ends at t the charge that began at from. If the submitter's last event is later,
// because the end is recorded late or the clock went back, the charge since the end is
// subtracted again.
func (c Charge) End(b Book, from, t time.Time, p Params) {
	r, _ := b.Submitter(c.Submitter)
	if from.Before(t) {
		from = t
	}
	if r.At.After(from) {
		c.GiveBack(b, from, t, p)
		return
	}
	r = r.End(t, c.Weight, p)
	b.PutSubmitter(r)
	c.groups(b, p, func(g Record, own bool) Record { return g.end(r.At, c.Weight, own, p) })
	c.tally(b, func(y Tally) Tally { return y.End(r.At, c.By, p) })
}

// GiveBack ends at t a charge that began at from, and subtracts all that it added.
func (c Charge) GiveBack(b Book, from, t time.Time, p Params) {
	r, _ := b.Submitter(c.Submitter)
	r = r.GiveBack(from, t, c.Weight, p)
	b.PutSubmitter(r)
	c.groups(b, p, func(g Record, own bool) Record { return g.giveBack(from, r.At, c.Weight, own, p) })
	c.tally(b, func(y Tally) Tally { return y.GiveBack(from, r.At, c.By, p) })
}

// Report adds what an attempt used, as it was measured, to the tallies.
func (c Charge) Report(b Book, used Used, t time.Time, p Params) {
	c.tally(b, func(y Tally) Tally { return y.Report(used, t, p) })
}

// groups changes the records of the submitter's group, with own true, and of all groups
// above it. Without groups there are none.
func (c Charge) groups(b Book, p Params, change func(g Record, own bool) Record) {
	if p.Groups.None() {
		return
	}
	for i, at := range p.Groups.Up(p.Groups.Of(c.Submitter)) {
		g, _ := b.Submitter(p.Groups.List[at].Name)
		b.PutSubmitter(change(g, i == 0))
	}
}

func (c Charge) tally(b Book, change func(Tally) Tally) {
	var room [mostKeys]Key
	for _, key := range c.By.appendKeys(room[:0]) {
		y, _ := b.Tally(key)
		b.PutTally(change(y))
	}
}

// start, end and giveBack are Start, End and GiveBack of a group's record. The weight
// counts in its subtree, and in the group itself if its own member has it. If the clock
// went back, a group's last event may be later than its member's. Then the charge missing
// or in excess until that event is corrected, so that the group's usage stays the sum of
// its members'.
func (r Record) start(t time.Time, w Weight, own bool, p Params) Record {
	halfLife := r.AsOf(t, p).HalfLife
	late := r.lateBy(t)
	if own {
		if late > 0 && (r.Begin.IsZero() || r.Begin.After(t)) {
			r.Begin = t
		}
		r = r.Start(t, w, p)
		r.Slots = r.Slots.Add(One, late)
		r.Weighted = r.Weighted.Add(w, late)
	} else {
		r = r.Settle(t, p)
	}
	r.Priority += decay(0, w.Float(), late, halfLife)
	r.Subtree += w
	return r
}

// lateBy returns how much later than t the last event was.
func (r Record) lateBy(t time.Time) time.Duration {
	if r.At.IsZero() {
		return 0
	}
	return max(r.At.Sub(t), 0)
}

func (r Record) end(t time.Time, w Weight, own bool, p Params) Record {
	if r.lateBy(t) > 0 {
		return r.giveBack(t, r.At, w, own, p)
	}
	r = r.Settle(t, p)
	r.Subtree = max(r.Subtree-w, 0)
	if own {
		r = r.End(t, w, p)
	}
	return r
}

func (r Record) giveBack(from, t time.Time, w Weight, own bool, p Params) Record {
	halfLife := r.AsOf(t, p).HalfLife
	if own {
		r = r.GiveBack(from, t, w, p)
	} else {
		r = r.Settle(t, p)
		r.Priority = r.without(from, w, halfLife)
	}
	r.Subtree = max(r.Subtree-w, 0)
	return r
}

// Regroup returns the groups' records that disagree with their members' use, corrected at
// t: GROUP_NAMES was changed, or a submitter was charged before there were groups. The
// groups keep their usage until then. A record of a group that is no longer configured
// uses nothing from then on.
func Regroup(records []Record, t time.Time, p Params) []Record {
	type used struct {
		slots       int
		own, within Weight
	}
	uses := map[string]used{}
	groups := map[string]Record{}
	for _, r := range records {
		if r.IsGroup() {
			groups[r.Name] = r
			continue
		}
		if p.Groups.None() || r.ResourcesUsed == 0 && r.InUse == 0 {
			continue
		}
		for i, at := range p.Groups.Up(p.Groups.Of(r.Name)) {
			u := uses[p.Groups.List[at].Name]
			if i == 0 {
				u.slots += r.ResourcesUsed
				u.own += r.InUse
			}
			u.within += r.InUse
			uses[p.Groups.List[at].Name] = u
		}
	}
	if !p.Groups.None() {
		for _, g := range p.Groups.List {
			if _, ok := groups[g.Name]; !ok {
				groups[g.Name] = Record{Name: g.Name}
			}
		}
	}
	var changed []Record
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g, u := groups[name], uses[name]
		if !g.At.IsZero() && g.ResourcesUsed == u.slots && g.InUse == u.own && g.Subtree == u.within {
			continue
		}
		g = g.Settle(t, p)
		g.ResourcesUsed, g.InUse, g.Subtree = u.slots, u.own, u.within
		if u.slots > 0 {
			if g.Begin.IsZero() {
				g.Begin = g.At
			}
			g.Last = g.At
		}
		changed = append(changed, g)
	}
	return changed
}

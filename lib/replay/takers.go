package replay

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Past is how the slots of a pool were, and what kept jobs from them, at the start of a workload and after.
type Past struct {
	Slots  []*classad.Ad // advertised, by name
	Marks  map[string]string
	Pilots map[int]pool.Pilot
	Events []Event // ascending
	Widest int64   // Cpus of the widest slot of all times
}

// Takers is what changes of a pool's slots, and of what keeps jobs from them, at one time: see spool.Takers.
type Takers struct {
	slots  []slotChange
	marks  map[string]string
	pilots map[int]pool.Pilot
}

// slotChange is what becomes of a slot.
type slotChange struct {
	name          string
	before, after *classad.Ad // nil: the slot is not there
	// lost says that the machine is gone, and the job with it. Else a slot that goes takes no more jobs, and goes when its job has
	// ended, as slots withdraw demands.
	lost bool
}

// goes reports whether the slot goes.
func (c *slotChange) goes() bool { return c.after == nil }

// PastOf returns the past of a pool that the spool has recorded. The lifetimes of ads, which nothing renews in a replay, become
// withdrawals where they were over.
func PastOf(t spool.TakersSince, start time.Time) *Past {
	p := &past{Past: Past{Marks: t.Marks, Pilots: t.Pilots}, start: start}
	// By slot, its ads one after the other, so that it is known how long each lasted.
	ads := map[string][]stay{}
	for name, ad := range t.Slots {
		ads[name] = []stay{{ad: ad}}
	}
	for _, c := range t.Later {
		at := p.at(c.Policy)
		lost := c.Op != "withdraw" && c.Op != "advertise"
		for name, ad := range c.Slots {
			ads[name] = append(ads[name], stay{at, ad, lost})
		}
		if len(c.Marks)+len(c.Pilots) > 0 {
			p.Events = append(p.Events, Event{At: at, Takers: &Takers{marks: c.Marks, pilots: c.Pilots}})
		}
	}
	changes := map[int64][]slotChange{}
	for _, name := range slices.Sorted(maps.Keys(ads)) {
		p.follow(name, ads[name], changes)
	}
	for at, list := range changes {
		p.Events = append(p.Events, Event{At: at, Takers: &Takers{slots: list}})
	}
	slices.SortStableFunc(p.Events, func(a, b Event) int {
		// Pilots come before their slots, and go after them.
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(len(a.Takers.slots), len(b.Takers.slots)))
	})
	return &p.Past
}

// past is a Past in the making.
type past struct {
	Past
	start time.Time
}

// stay is an ad of a slot from a time on; nil: the slot is gone.
type stay struct {
	at   int64
	ad   *classad.Ad
	lost bool
}

// at returns a time in seconds since the start.
func (p *past) at(t time.Time) int64 { return max(int64(t.Sub(p.start)/time.Second), 0) }

// follow notes what becomes of a slot.
func (p *past) follow(name string, list []stay, changes map[int64][]slotChange) {
	var before *classad.Ad
	change := func(at int64, after *classad.Ad, lost bool) {
		if before == nil && after == nil {
			return
		}
		if at == 0 && before == nil && list[0].at == 0 && !changed(changes[0], name) {
			p.Slots = append(p.Slots, after)
		} else {
			changes[at] = append(changes[at], slotChange{name, before, after, lost})
		}
		before = after
	}
	for i, s := range list {
		if s.ad == nil {
			change(s.at, nil, s.lost)
			continue
		}
		ends := never // of the lifetime
		if until := pool.ValidUntil(&classad.Context{}, s.ad); until > 0 {
			ends = until + 1 - p.start.Unix()
		}
		if ends <= s.at {
			change(s.at, nil, false)
			continue
		}
		ad := s.ad.Clone()
		ad.Delete(pool.AttrAdLifetime)
		if n, ok := ad.EvalInt(&classad.Context{}, pool.AttrCpus); ok {
			p.Widest = max(p.Widest, n)
		}
		change(s.at, ad, s.lost)
		if i+1 == len(list) || ends < list[i+1].at {
			if ends < never {
				change(ends, nil, false)
			}
		}
	}
}

// changed reports whether a slot is among some changes.
func changed(list []slotChange, name string) bool {
	return slices.ContainsFunc(list, func(c slotChange) bool { return c.name == name })
}

// PutTakers puts what keeps jobs from slots at the start into a spool.
func (p *Past) PutTakers(tx *spool.Tx) {
	for name, text := range p.Marks {
		tx.PutMark(name, text)
	}
	for _, pilot := range p.Pilots {
		spool.Pilots.Put(tx, pilot)
	}
}

// happens are the events of a time, as far as they come before jobs end, or else after that.
func (r *replay) happens(at int64, after bool) error {
	for i := range r.Events {
		e := &r.Events[i]
		if e.At != at {
			break
		}
		var err error
		switch {
		case e.Takers != nil:
			err = r.take(at, e.Takers, after)
		case !after:
			err = r.account(at, e.Do)
		}
		if err != nil {
			return err
		}
		r.progress = at
	}
	for after && len(r.Events) > 0 && r.Events[0].At == at {
		r.Events = r.Events[1:]
	}
	return nil
}

// take makes a change of slots: what comes before jobs end, and what goes after that.
func (r *replay) take(at int64, t *Takers, after bool) error {
	now := r.time(at)
	var told []event
	var cores int64
	err := r.account(at, func(tx *spool.Tx) error {
		told, cores = told[:0], 0
		tx.Op("advertise")
		for i := range t.slots {
			if c := &t.slots[i]; c.goes() == after {
				cores += r.changeSlot(tx, c, at, &told)
			}
		}
		if !after {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(t.marks)) {
			r.putMark(tx, name, t.marks[name], now, &told)
		}
		for _, id := range slices.Sorted(maps.Keys(t.pilots)) {
			r.putPilot(tx, id, t.pilots[id], now, &told)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range told {
		heap.Push(&r.coming, e)
	}
	r.resize(at, cores)
	return nil
}

// resize notes that the pool has so many cores more.
func (r *replay) resize(at, cores int64) {
	if cores == 0 {
		return
	}
	r.cores += cores
	r.Cores = max(r.Cores, r.cores)
	r.capacity.set(at, float64(r.cores))
	r.note(at)
}

// changeSlot has a slot come, change or go, and returns by how many cores the pool grows. What else a configuration has changed of a
// slot stays so, and a slot that it has taken away stays away.
func (r *replay) changeSlot(tx *spool.Tx, c *slotChange, at int64, told *[]event) (cores int64) {
	slot, there := tx.Advertised(c.name)
	switch {
	case c.goes() && !there:
		return 0
	case c.goes():
		r.Changes.Went++
		return r.withdraw(tx, c, at, told)
	case c.before == nil: // it comes, or comes again before the last one has gone
		r.Changes.Came++
		delete(r.going, c.name)
		tx.PutSlot(c.name, c.after)
		lifecycle.NoteGiven(tx)
		if there {
			cores = -cpus(slot.Ad)
		}
		return cores + cpus(c.after)
	case !there:
		return 0
	}
	r.Changes.Changed++
	ad := slot.Ad.Clone()
	for _, name := range c.before.OwnNames() {
		if !c.after.Has(name) {
			ad.Delete(name)
		}
	}
	for _, name := range c.after.OwnNames() {
		e, _ := c.after.Lookup(name)
		if was, had := c.before.Lookup(name); !had || was != e && was.String() != e.String() {
			ad.Set(name, e)
		}
	}
	tx.PutSlot(c.name, ad)
	return cpus(ad) - cpus(slot.Ad)
}

func cpus(ad *classad.Ad) int64 {
	n, _ := ad.EvalInt(&classad.Context{}, pool.AttrCpus)
	return n
}

// withdraw takes a slot out of the pool. One that has a job takes no more, and goes when the job has ended; if its machine is
// lost, the job is so too.
func (r *replay) withdraw(tx *spool.Tx, c *slotChange, at int64, told *[]event) (cores int64) {
	now, claimed := r.time(at), false
	for _, k := range tx.Claims() {
		if k.SlotAd() != c.name {
			continue
		}
		if c.lost {
			r.tellToLeave(tx, k, pool.Reason{Text: "its machine is gone", Code: lifecycle.MachineDrained, Subcode: 10 * int(lifecycle.Fast)}, now, told)
			if _, stays := tx.Claim(k.Job); !stays {
				continue
			}
		}
		claimed = true
	}
	if !claimed {
		slot, _ := tx.Advertised(c.name)
		lifecycle.Withdraw(tx, []string{c.name})
		return -cpus(slot.Ad)
	}
	slot, _ := tx.Advertised(c.name)
	closed := slot.Ad.Clone()
	closed.SetBool(pool.AttrRequirements, false)
	tx.PutSlot(c.name, closed)
	r.going[c.name] = true
	return 0
}

// leave withdraws a slot that goes, when it has no claim any more, and returns its cores.
func (r *replay) leave(tx *spool.Tx, slot string) (cores int64) {
	if !r.going[slot] || slices.ContainsFunc(tx.Claims(), func(c pool.Claim) bool { return c.SlotAd() == slot }) {
		return 0
	}
	s, _ := tx.Advertised(slot)
	lifecycle.Withdraw(tx, []string{slot})
	return cpus(s.Ad)
}

// putMark makes what a mark says so: a drained machine's jobs have to leave it.
func (r *replay) putMark(tx *spool.Tx, name, text string, now time.Time, told *[]event) {
	tx.PutMark(name, text)
	machine, drained := strings.CutPrefix(name, pool.DrainedMark)
	if !drained || text == "" {
		return
	}
	if d, ok := lifecycle.DrainOf(&tx.View, machine); ok {
		r.Changes.Drained++
		for _, c := range lifecycle.Drain(tx, d, now, r.cycle.Params).Staying() {
			r.tellToLeave(tx, c, pool.Reason{}, now, told)
		}
	}
}

// putPilot makes a pilot what it was: the jobs of one that leaves have to leave its machine.
func (r *replay) putPilot(tx *spool.Tx, id int, p pool.Pilot, now time.Time, told *[]event) {
	if p.State == 0 {
		spool.Pilots.Drop(tx, id)
		return
	}
	spool.Pilots.Put(tx, p)
	if p.State != pool.Leaving {
		return
	}
	for _, c := range tx.Claims() {
		if strings.EqualFold(c.Machine, p.Machine) {
			r.tellToLeave(tx, c, pool.PilotLeaves(p.Machine, p.Why), now, told)
		}
	}
}

// tellToLeave has the job of a claim leave its slot, as soon as it may be expected to; a match that waits for the slot is given up.
func (r *replay) tellToLeave(tx *spool.Tx, c pool.Claim, why pool.Reason, now time.Time, told *[]event) {
	if lifecycle.GiveUp(tx, c, now, r.cycle.Params) {
		return
	}
	lifecycle.Vacate(tx, c.Job, why, now, r.cycle.Params)
	if c, _ = tx.Claim(c.Job); why.Code != 0 && c.State == pool.Vacating {
		c.VacateReason, c.VacateCode, c.VacateSubcode = why.Text, why.Code, why.Subcode
		tx.PutClaim(c)
	}
	at := int64(now.Sub(r.Start) / time.Second)
	*told = append(*told, event{at + r.retires(tx, c, now), pool.Attempt{Job: c.Job, Number: c.Attempt}, leaves})
}

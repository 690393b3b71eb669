package negotiator

import (
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// nearest is a slot, and what keeps it from the jobs of an autocluster.
type nearest struct {
	name   string
	ad     *classad.Ad // of a partitionable slot: as advertised
	stand  *stand      // nil: NEGOTIATOR_SLOT_CONSTRAINT leaves the slot out
	own    int         // clauses of the job's Requirements that are not true
	theirs int         // of the slot's
	wide   bool        // a partitionable slot that is smaller than the request
	small  bool        // one of which too little is left
	doing  []Cause     // why the slot is not free
	weight accountant.Weight
}

// distance orders slots that fail as many clauses by how far they are from free.
func (n *nearest) distance() int {
	if n.stand == nil {
		return 1 << 4
	}
	steps := [standings]int{free: 0, claimed: 4, reserved: 6, resting: 8, elsewhere: 12, drained: 14}
	far := steps[n.stand.standing]
	if n.stand.taken {
		far = 2
	}
	if n.small || n.wide {
		far++
	}
	return far
}

func (n *nearest) before(m *nearest) bool {
	if m == nil || n.fails() != m.fails() {
		return m == nil || n.fails() < m.fails()
	}
	return n.distance() < m.distance()
}

// fails counts what is in the way for good.
func (n *nearest) fails() int {
	if n.wide {
		return n.own + n.theirs + 1
	}
	return n.own + n.theirs
}

// nearest returns the slot that is the nearest to taking jobs of k; nil when the pool
// has none.
func (d *diagnosis) nearest(k *autocluster) *nearest {
	if n, known := d.known[k]; known {
		return n
	}
	if k.endless || k.short || k.poor() {
		return nil
	}
	d.c.billed(k)
	n := d.find(k)
	switch {
	case n == nil:
	case n.stand == nil:
		n.weight = d.c.quietly(n.ad)
		n.doing = d.c.doing(&slot{name: n.name, ad: n.ad, standing: claimed}, false)
	default:
		n.weight = k.weight(d.c, n.stand.group)
		n.doing = d.c.doing(&d.c.slots[n.stand.first], n.stand.taken)
	}
	d.known[k] = n
	return n
}

// find looks for the nearest slot: first among those that fail no clause, then among
// those that fall at the last ones.
func (d *diagnosis) find(k *autocluster) (best *nearest) {
	for i := range d.stands {
		if d.none[k] {
			break
		}
		if v := k.verdict(d.c, d.stands[i].group); v == accepts || v == tooSmall {
			if n := d.at(k, &d.stands[i], 0, 0); n.before(best) {
				best = n
			}
		}
	}
	if best != nil && !best.wide {
		return best
	}
	if n := d.excluded(k); n != nil {
		return n
	}
	for _, i := range d.last(k) {
		st := &d.stands[i]
		own, theirs := d.failing(k.ad, st.group.ad), d.failing(st.group.ad, k.ad)
		if n := d.at(k, st, own, theirs); n.before(best) {
			best = n
		}
	}
	if best == nil {
		best = d.leftOut(k)
	}
	return best
}

// last returns the stands whose slots fall at the last clauses, in the order of
// stands: as many as there is time for.
func (d *diagnosis) last(k *autocluster) []int {
	own := d.ownClauses(k)
	var byVerdict [][]int // from the first clause on, the slots' behind the jobs'
	most := 0
	for i := range d.stands {
		v := int(k.verdict(d.c, d.stands[i].group))
		if v < 0 {
			continue
		}
		if v >= int(slotClause) {
			v = v - int(slotClause) + own
		}
		for len(byVerdict) <= v {
			byVerdict = append(byVerdict, nil)
		}
		if list := byVerdict[v]; k.explain || len(list) < d.pairs {
			byVerdict[v] = append(list, i)
		}
		most++
	}
	if !k.explain {
		most = min(most, d.pairs)
	}
	var last []int
	for v := len(byVerdict) - 1; v >= 0 && len(last) < most; v-- {
		last = append(last, byVerdict[v][:min(len(byVerdict[v]), most-len(last))]...)
	}
	slices.Sort(last)
	return last
}

// ownClauses returns how many clauses the Requirements of jobs of k have.
func (d *diagnosis) ownClauses(k *autocluster) int {
	e, ok := k.ad.Lookup(pool.AttrRequirements)
	if !ok {
		return 1
	}
	return len(e.Clauses())
}

// leftOut returns the slot that fails the fewest clauses of those that
// NEGOTIATOR_SLOT_CONSTRAINT leaves out; nil when there are none.
func (d *diagnosis) leftOut(k *autocluster) (best *nearest) {
	for i, s := range d.c.excluded {
		if !k.explain && i >= d.pairs {
			break
		}
		n := &nearest{name: s.Name, ad: s.Ad, own: d.failing(k.ad, s.Ad), theirs: d.failing(s.Ad, k.ad)}
		n.wide = pool.Partitionable(d.c.eval, s.Ad) && k.request != nil && !k.request.fits(d.c.leftIn(s.Ad))
		if best == nil || n.fails() < best.fails() {
			best = n
		}
	}
	return best
}

// at returns the first slot of a stand.
func (d *diagnosis) at(k *autocluster, st *stand, own, theirs int) *nearest {
	s := &d.c.slots[st.first]
	n := &nearest{name: s.name, ad: s.ad, stand: st, own: own, theirs: theirs}
	if s.whole == nil {
		return n
	}
	n.ad = s.whole
	n.wide = !k.request.fits(st.group.left)
	if n.wide || own+theirs > 0 {
		for i, x := range k.request.ask {
			n.small = n.small || min(x, st.group.left[i]) > st.now.left[i]
		}
	} else {
		n.small = k.verdict(d.c, st.now) != accepts
	}
	return n
}

// excluded returns the first slot that would take jobs of k if
// NEGOTIATOR_SLOT_CONSTRAINT did not leave it out.
func (d *diagnosis) excluded(k *autocluster) *nearest {
	c := d.c
	for i, s := range c.excluded {
		if !k.explain && i >= 10*d.pairs {
			break
		}
		state, _ := s.Ad.EvalString(c.eval, pool.AttrState)
		idle := state == "" || strings.EqualFold(state, "Unclaimed")
		if idle && len(c.ours[s.Name]) == 0 && !c.until[s.Name].After(c.now) && classad.Match(c.billed(k), k.ad, s.Ad) {
			return &nearest{name: s.Name, ad: s.Ad}
		}
	}
	return nil
}

// failing counts the clauses of one ad's Requirements that are not true with the
// other.
func (d *diagnosis) failing(my, target *classad.Ad) (fails int) {
	for _, c := range classad.Explain(&d.c.bill, my, target, pool.AttrRequirements) {
		if c.Fails() {
			fails++
		}
	}
	return fails
}

// there reports whether nothing at the slot is in the way of the first job of w.
func (n *nearest) there(c *cycle, w waiter) bool { return len(n.causes(c, w.runs[0].FirstJob())) == 0 }

// opens reports whether what is in the way at the slot is so for all jobs, so that
// others may get it when that goes.
func (n *nearest) opens(c *cycle, w waiter) bool {
	return n.stand == nil || n.small || n.stand.taken || n.stand.standing != free && !n.keptFor(c, w.runs[0].FirstJob())
}

func (n *nearest) keptFor(c *cycle, job pool.JobID) bool {
	r := c.kept[job]
	return r != nil && !r.over && c.slots[r.slot].name == n.name
}

// causes returns what is in the way at the slot.
func (n *nearest) causes(c *cycle, job pool.JobID) (causes []Cause) {
	if n.own > 0 {
		causes = append(causes, CauseRequirements)
	}
	if n.theirs > 0 {
		causes = append(causes, CauseSlotRequirements)
	}
	if n.wide {
		causes = append(causes, CauseTooWide)
	}
	if n.stand == nil {
		causes = append(causes, CauseSlotConstraint)
	} else if n.stand.standing == reserved && !n.keptFor(c, job) {
		causes = append(causes, CauseReserved)
	}
	causes = append(causes, n.doing...)
	if n.small {
		causes = append(causes, CauseTooSmall)
	}
	return causes
}

// doing returns why a slot is not free: all that is so, of which its standing is
// only the first.
func (c *cycle) doing(s *slot, taken bool) (causes []Cause) {
	if s.standing == free || s.standing == reserved {
		if taken {
			return []Cause{CauseTaken}
		}
		return nil
	}
	state, _ := s.ad.EvalString(c.eval, pool.AttrState)
	outside := holder(c.eval, s.ad, state)
	if outside != "" || len(c.ours[s.name]) > 0 && s.standing == claimed {
		causes = append(causes, CauseClaimed)
	}
	if c.until[s.name].After(c.now) {
		causes = append(causes, CauseResting)
	}
	switch {
	case outside != "" || isOpen(state):
	case strings.EqualFold(state, pool.Drained):
		causes = append(causes, CauseDrained)
	default:
		causes = append(causes, CauseBusy)
	}
	return causes
}

// lacks says what there is too little of.
func (d *diagnosis) lacks(k *autocluster, n *nearest) string {
	switch {
	case !n.wide && !n.small:
		return ""
	case n.stand == nil:
		return d.c.lacks(k.request, d.c.leftIn(n.ad))
	case n.wide:
		return d.c.lacks(k.request, n.stand.group.left)
	}
	return d.c.lacks(k.request, n.stand.now.left)
}

// quietly returns the weight of a slot that is left out, without a warning.
func (c *cycle) quietly(ad *classad.Ad) accountant.Weight {
	w, _, _ := c.weightIn(ad)
	return w
}

package why

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// nearest is a slot, and what keeps it from the jobs of an autocluster.
type nearest struct {
	slot       *deal.Slot
	ad         *classad.Ad        // of a partitionable slot: as advertised
	stand      *stand             // nil: NEGOTIATOR_SLOT_CONSTRAINT leaves the slot out
	own        int                // clauses of the job's Requirements that are not true
	theirs     int                // of the slot's
	maintained int                // how many of these are maintenances'
	wide       bool               // a partitionable slot that is smaller than the request
	small      bool               // one of which too little is left
	doing      []negotiator.Cause // why the slot is not free
	weight     accountant.Weight
}

// distance orders slots that fail as many clauses by how far they are from free.
func (n *nearest) distance() int {
	if n.stand == nil {
		return 1 << 4
	}
	steps := [deal.Standings]int{deal.Free: 0, deal.Claimed: 4, deal.Reserved: 6, deal.Resting: 8, deal.Elsewhere: 12, deal.Drained: 14}
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
	if m.slot == nil || n.fails() != m.fails() {
		return m.slot == nil || n.fails() < m.fails()
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
func (d *findings) nearest(k *deal.Autocluster) *nearest {
	if n, known := d.known[k]; known {
		return n
	}
	if k.Endless || k.Short || k.Poor() {
		return nil
	}
	d.c.Billed(k.Autocluster)
	n := d.find(k)
	if n != nil && n.theirs > 0 {
		n.maintained = d.maintenances(n.ad, k.Ad)
	}
	switch {
	case n == nil:
	case n.stand == nil:
		n.weight = d.quietly(n.ad)
		n.doing = d.doing(n.slot, false)
	default:
		n.weight = d.c.Weight(k, n.stand.group)
		n.doing = d.doing(n.slot, n.stand.taken)
	}
	d.known[k] = n
	return n
}

// find looks for the nearest slot: first among those that fail no clause, then among
// those that fall at the last ones.
func (d *findings) find(k *deal.Autocluster) *nearest {
	var best nearest
	if !d.none[k] {
		for i := range d.stands {
			if v := d.c.Verdict(k.Autocluster, d.stands[i].group.Group); v == shapes.Accepts || v == shapes.TooSmall {
				if n := d.at(k, &d.stands[i], 0, 0); n.before(&best) {
					best = n
				}
			}
		}
	}
	if best.slot != nil && !best.wide {
		return &best
	}
	if n := d.excluded(k); n != nil {
		return n
	}
	for _, i := range d.last(k) {
		st := &d.stands[i]
		own, theirs := d.failing(k.Ad, st.group.Ad), d.failing(st.group.Ad, k.Ad)
		if n := d.at(k, st, own, theirs); n.before(&best) {
			best = n
		}
	}
	if best.slot == nil {
		return d.leftOut(k)
	}
	return &best
}

// last returns the stands whose slots fall at the last clauses, in the order of
// stands: as many as there is time for.
func (d *findings) last(k *deal.Autocluster) []int {
	own := len(d.texts.clausesOf(k.Ad))
	var byVerdict [][]int // from the first clause on, the slots' behind the jobs'
	most := 0
	for i := range d.stands {
		v := int(d.c.Verdict(k.Autocluster, d.stands[i].group.Group))
		if v < 0 {
			continue
		}
		if v >= int(shapes.SlotClause) {
			v = v - int(shapes.SlotClause) + own
		}
		for len(byVerdict) <= v {
			byVerdict = append(byVerdict, nil)
		}
		if list := byVerdict[v]; k.Explain || len(list) < d.pairs {
			byVerdict[v] = append(list, i)
		}
		most++
	}
	if !k.Explain {
		most = min(most, d.pairs)
	}
	var last []int
	for v := len(byVerdict) - 1; v >= 0 && len(last) < most; v-- {
		last = append(last, byVerdict[v][:min(len(byVerdict[v]), most-len(last))]...)
	}
	slices.Sort(last)
	return last
}

// outside returns a slot that NEGOTIATOR_SLOT_CONSTRAINT leaves out, whose holder is
// unknown.
func (d *findings) outside(s pool.Slot) *nearest {
	return &nearest{slot: &deal.Slot{Name: s.Name, Slot: shapes.Slot{Ad: s.Ad}, Claims: d.c.ClaimsOn(s.Name), Standing: deal.Claimed}, ad: s.Ad}
}

// leftOut returns the slot that fails the fewest clauses of those that
// NEGOTIATOR_SLOT_CONSTRAINT leaves out; nil when there are none.
func (d *findings) leftOut(k *deal.Autocluster) (best *nearest) {
	for i, s := range d.c.Excluded {
		if !k.Explain && i >= d.pairs {
			break
		}
		n := d.outside(s)
		n.own, n.theirs = d.failing(k.Ad, s.Ad), d.failing(s.Ad, k.Ad)
		n.wide = pool.Partitionable(d.c.Eval, s.Ad) && k.Request != nil && !k.Request.Fits(d.c.LeftIn(s.Ad))
		if best == nil || n.fails() < best.fails() {
			best = n
		}
	}
	return best
}

// at returns the first slot of a stand.
func (d *findings) at(k *deal.Autocluster, st *stand, own, theirs int) nearest {
	s := &d.c.Slots[st.first]
	n := nearest{slot: s, ad: s.Ad, stand: st, own: own, theirs: theirs}
	if s.Whole == nil {
		return n
	}
	n.ad = s.Whole
	n.wide = !k.Request.Fits(st.group.Left)
	if n.wide || own+theirs > 0 {
		for i, x := range k.Request.Ask {
			n.small = n.small || min(x, st.group.Left[i]) > st.now.Left[i]
		}
	} else {
		n.small = d.c.Verdict(k.Autocluster, st.now.Group) != shapes.Accepts
	}
	return n
}

// maintenances counts the clauses of maintenances that a job fails at a slot.
func (d *findings) maintenances(slot, job *classad.Ad) (n int) {
	for _, c := range classad.Explain(&d.c.Bill, slot, job, pool.AttrRequirements) {
		if c.Fails() && c.Expr != nil {
			if _, _, is := pool.MaintenanceOf(bare(c.Expr.String())); is {
				n++
			}
		}
	}
	return n
}

// excluded returns the first slot that would take jobs of k if
// NEGOTIATOR_SLOT_CONSTRAINT did not leave it out.
func (d *findings) excluded(k *deal.Autocluster) *nearest {
	c := d.c
	for i, s := range c.Excluded {
		if !k.Explain && i >= 10*d.pairs {
			break
		}
		state, _ := s.Ad.EvalString(c.Eval, pool.AttrState)
		idle := state == "" || strings.EqualFold(state, "Unclaimed")
		if idle && len(c.ClaimsOn(s.Name)) == 0 && !c.Until[s.Name].After(c.Now) && classad.Match(c.Billed(k.Autocluster), k.Ad, s.Ad) {
			return d.outside(s)
		}
	}
	return nil
}

// failing counts the clauses of one ad's Requirements that are not true with the
// other.
func (d *findings) failing(my, target *classad.Ad) (fails int) {
	for _, c := range classad.Explain(&d.c.Bill, my, target, pool.AttrRequirements) {
		if c.Fails() {
			fails++
		}
	}
	return fails
}

// there reports whether nothing at the slot is in the way of the first job of w.
func (d *findings) there(n *nearest, w deal.Waiter) bool {
	return len(d.causes(n, w.Runs[0].FirstJob())) == 0
}

// opens reports whether what is in the way at the slot is so for all jobs, so that
// others may get it when that goes.
func (d *findings) opens(n *nearest, w deal.Waiter) bool {
	return n.stand == nil || n.small || n.stand.taken || n.stand.standing != deal.Free && !d.c.KeptFor(n.slot, w.Runs[0].FirstJob())
}

// causes returns what is in the way at the slot.
func (d *findings) causes(n *nearest, job pool.JobID) (causes []negotiator.Cause) {
	if n.own > 0 {
		causes = append(causes, negotiator.CauseRequirements)
	}
	switch {
	case n.theirs > n.maintained:
		causes = append(causes, negotiator.CauseSlotRequirements)
	case n.maintained > 0:
		causes = append(causes, negotiator.CauseMaintenance)
	}
	if n.wide {
		causes = append(causes, negotiator.CauseTooWide)
	}
	if n.stand == nil {
		causes = append(causes, negotiator.CauseSlotConstraint)
	} else if n.stand.standing == deal.Reserved && !d.c.KeptFor(n.slot, job) {
		causes = append(causes, negotiator.CauseReserved)
	}
	causes = append(causes, n.doing...)
	if n.small {
		causes = append(causes, negotiator.CauseTooSmall)
	}
	return causes
}

// doing returns why a slot is not free: all that is so, of which its standing is
// only the first.
func (d *findings) doing(s *deal.Slot, taken bool) (causes []negotiator.Cause) {
	if s.Standing == deal.Free || s.Standing == deal.Reserved {
		if taken {
			return []negotiator.Cause{negotiator.CauseTaken}
		}
		return nil
	}
	state, _ := s.Ad.EvalString(d.c.Eval, pool.AttrState)
	outside := negotiator.HolderIn(d.c.Eval, s.Ad, state)
	if outside != "" || len(s.Claims) > 0 && s.Standing == deal.Claimed {
		causes = append(causes, negotiator.CauseClaimed)
	}
	if d.c.Until[s.Name].After(d.c.Now) {
		causes = append(causes, negotiator.CauseResting)
	}
	switch {
	case outside != "" || negotiator.IsOpen(state):
	case strings.EqualFold(state, pool.Drained):
		causes = append(causes, negotiator.CauseDrained)
	default:
		causes = append(causes, negotiator.CauseBusy)
	}
	return causes
}

// lacks says what there is too little of.
func (d *findings) lacks(k *deal.Autocluster, n *nearest) string {
	switch {
	case !n.wide && !n.small:
		return ""
	case n.stand == nil:
		return d.c.Lacks(k.Request, d.c.LeftIn(n.ad))
	case n.wide:
		return d.c.Lacks(k.Request, n.stand.group.Left)
	}
	return d.c.Lacks(k.Request, n.stand.now.Left)
}

// quietly returns the weight of a slot that is left out, without a warning.
func (d *findings) quietly(ad *classad.Ad) accountant.Weight {
	w, _, _ := d.c.Config.WeightIn(d.c.Eval, ad)
	return w
}

// contender is a submitter that has matching slots, or waits for the nearest.
type contender struct {
	who        int // place in people
	slots, got int
	byRank     int
	waits      int
	first      int // the turn of the first of those that wait, with a Config.Queue
	place      int // and its place
	*deal.Submitter
}

// gather returns the submitters that have slots that match jobs of k, or wait for the
// nearest.
func (d *diagnosis) gather(k *deal.Autocluster, n *nearest) (list []contender) {
	if len(d.sheet) < len(d.people) {
		d.sheet = make([]contender, len(d.people))
	}
	touched := 0
	of := func(who int) *contender {
		x := &d.sheet[who]
		if x.Submitter == nil {
			x.who, x.Submitter, x.first = who, d.people[who], math.MaxInt
			touched++
		}
		return x
	}
	for number, held := range d.held {
		if len(held) == 0 || number >= len(k.Verdicts) || k.Verdicts[number] != shapes.Accepts {
			continue
		}
		for _, h := range held {
			x := of(h.who)
			x.slots += h.before + h.got
			x.got += h.got
			x.byRank += h.byRank
		}
	}
	who := 0 // entrants are in the order of people
	for _, e := range d.entrants(n) {
		if e.limit != "" {
			continue
		}
		for d.people[who] != e.who {
			who++
		}
		x := of(who)
		x.waits += e.Jobs
		if turn := e.later + e.Runs[0].Order; d.precedence != nil && turn < x.first {
			x.first = turn
			x.place, _ = d.precedence.standing(e.Runs[0])
		}
	}
	// People are in the order of the cycle.
	list = make([]contender, 0, touched)
	for who := range d.sheet {
		if x := &d.sheet[who]; x.Submitter != nil {
			list = append(list, *x)
			*x = contender{}
		}
	}
	return list
}

// field is the contenders of autoclusters that match the same claimed slots and have the
// same nearest slot: a result that is equal for thousands of shapes is computed once.
type field struct {
	list  []contender // in the order of the cycle or the queue, except those that block no job
	byEUP []contender // the same, nice users last, by EUP
	// What the analysis says of them.
	ahead                  []negotiator.Contender
	holders                []negotiator.SlotHolder
	moreAhead, moreHolders int
}

// fieldOf returns the contenders for jobs of k.
func (d *diagnosis) fieldOf(k *deal.Autocluster, n *nearest) *field {
	if d.held == nil {
		d.findHolders()
	}
	key := d.key[:0]
	for number, held := range d.held {
		if len(held) > 0 && number < len(k.Verdicts) && k.Verdicts[number] == shapes.Accepts {
			key = binary.AppendUvarint(key, uint64(number+1))
		}
	}
	open := openingOf(n)
	key = append(strconv.AppendBool(append(key, 0), open.ends), open.slot...)
	d.key = key
	return once(&d.fields, string(key), func() *field { return newField(d.gather(k, n), len(d.c.Submitters)) })
}

// newField sums up contenders. A submitter whose jobs are all told to vacate has the
// place behind all submitters: it holds slots and blocks no job.
func newField(all []contender, submitters int) *field {
	end := slices.IndexFunc(all, func(x contender) bool { return x.who >= submitters })
	if end < 0 {
		end = len(all)
	}
	f := &field{list: slices.Clone(all[:end]), byEUP: slices.Clone(all[:end])}
	slices.SortStableFunc(f.list, func(a, b contender) int { return cmp.Compare(a.first, b.first) })
	slices.SortFunc(f.byEUP, func(a, b contender) int { return inTurn(a.Submitter, b.Submitter) })
	for _, x := range f.list[:min(end, mostAhead)] {
		f.ahead = append(f.ahead, negotiator.Contender{Submitter: x.Name, EffectivePriority: x.EUP, Slots: x.slots, Waiting: x.waits, Place: x.place})
	}
	f.moreAhead = end - len(f.ahead)
	holders := slices.DeleteFunc(all, func(x contender) bool { return x.slots == 0 })
	slices.SortFunc(holders, func(a, b contender) int {
		return cmp.Or(cmp.Compare(b.slots, a.slots), strings.Compare(a.Name, b.Name))
	})
	for _, x := range holders[:min(len(holders), mostHolders)] {
		f.holders = append(f.holders, negotiator.SlotHolder{Submitter: x.Name, Slots: x.slots, New: x.got})
	}
	f.moreHolders = len(holders) - len(f.holders)
	return f
}

// inTurn compares submitters by their order in negotiation.
func inTurn(a, b *deal.Submitter) int { return cmp.Or(deal.NiceLast(a, b), cmp.Compare(a.EUP, b.EUP)) }

// before counts the contenders that come before a submitter.
func (f *field) before(s *deal.Submitter) int {
	n, _ := slices.BinarySearchFunc(f.byEUP, s, func(x contender, s *deal.Submitter) int {
		if inTurn(x.Submitter, s) < 0 {
			return -1
		}
		return 1
	})
	return n
}

// takers returns what other submitters took: in all, their number, and the one that took
// most.
func (f *field) takers(but *deal.Submitter, took func(*contender) int) (sum, who int, first *contender) {
	for i := range f.list {
		x := &f.list[i]
		n := took(x)
		if n == 0 || x.Submitter == but {
			continue
		}
		sum += n
		who++
		if first == nil || cmp.Or(cmp.Compare(took(first), n), strings.Compare(x.Name, first.Name)) < 0 {
			first = x
		}
	}
	return sum, who, first
}

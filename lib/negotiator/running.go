package negotiator

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// running is a slot, or a piece of a partitionable one, whose job may have to go for
// another.
type running struct {
	slot    int         // index of the slot's ad
	claim   *pool.Claim // of one from outside: the slot's name and its holder
	outside bool
	holder  *submitter
	weight  accountant.Weight // what the slot counts now
	ad      *classad.Ad       // as it stands
	rank    float64           // PREEMPTION_RANK, where that is the same for all jobs
}

// tenants are running slots of one holder that no expression can tell apart, but for
// PREEMPTION_RANK, which may say whom of them to take first.
type tenants struct {
	class   *class
	holder  *submitter
	ad      *classad.Ad
	weight  accountant.Weight
	current float64 // CurrentRank
	left    amounts // of pieces: what they have; nil: whole slots
	alike   int     // the same for tenants whose slots' Rank and PREEMPTION_REQUIREMENTS no job can tell apart
	varies  bool    // PREEMPTION_RANK depends on the job
	ranks   bool    // the slots' Rank may prefer a job to the present one
	fixed   bool    // the slots' Rank is always, whatever the job
	always  float64
	slots   []*running
}

// estate is tenants of one holder that weigh the same and are charged the same: shares and
// quotas let a submitter preempt any of them or none.
type estate struct {
	lot
	tenants []*tenants
}

// lot is what estates are told apart by.
type lot struct {
	holder          *submitter
	weight, charged accountant.Weight
}

// findRunning lists what runs jobs that may be preempted: not what is only matched, is being
// vacated or is promised to somebody (manual, "Negotiation": a claimed machine that runs no
// job is skipped), nor what is left alone after promises that came to nothing. asked are the
// names that any expression looks up in slots.
func (c *cycle) findRunning(asked names) []running {
	if !c.cfg.Preemption.Consider {
		return nil
	}
	var list []running
	w := c.newOverlay(asked)
	for i := range c.slots {
		s := &c.slots[i]
		if s.standing != claimed && s.whole == nil || c.retires(s.ad) || c.rests(s) {
			continue
		}
		if claims := c.ours[s.name]; len(claims) > 0 {
			for _, cl := range claims {
				if c.preemptible(s, cl, claims) {
					list = append(list, w.ours(i, cl))
				}
			}
		} else if s.whole == nil && c.worksOutside(s.ad) {
			list = append(list, w.outside(i))
		}
	}
	return list
}

// retires reports whether the slot's job has time to end by itself that preemption respects.
func (c *cycle) retires(ad *classad.Ad) bool {
	left, ok := ad.EvalNumber(c.eval, retirementLeft)
	return ok && left > 0 && !c.cfg.Preemption.Early
}

// rests reports whether the slot is left alone after matches that nobody took up.
func (c *cycle) rests(s *slot) bool { return c.until[s.name].After(c.now) }

// preemptible reports whether a claim of ours runs a job on the slot that nobody waits for
// already.
func (c *cycle) preemptible(s *slot, cl *pool.Claim, all []*pool.Claim) bool {
	if cl.State != pool.RunningClaim || cl.SlotAd() != s.name || cl.StartedAt.IsZero() {
		return false
	}
	if state := c.textOf(s.ad, stateName); state != "" && !caseless.Contains([]string{"Unclaimed", "Matched", "Claimed"}, state) {
		return false
	}
	return !slices.ContainsFunc(all, func(o *pool.Claim) bool { return o.Slot == cl.Slot && o.Job != cl.Job })
}

// worksOutside reports whether a slot that is claimed by its own words runs a job.
func (c *cycle) worksOutside(ad *classad.Ad) bool {
	if c.cfg.Pie == Spins {
		return true
	}
	activity, _ := ad.EvalString(c.eval, pool.AttrActivity)
	return strings.EqualFold(c.textOf(ad, stateName), "Claimed") && !strings.EqualFold(activity, "Idle") && !isPending(ad)
}

// isPending reports whether somebody waits for a slot that is claimed outside.
func isPending(ad *classad.Ad) bool {
	return ad.Has(pool.AttrPreemptingUser) || ad.Has(preemptingGroup)
}

// ran returns for how long the job of a running slot has run there.
func (c *cycle) ran(r *running) time.Duration {
	if !r.outside {
		return max(0, c.now.Sub(r.claim.StartedAt))
	}
	if start, ok := r.ad.EvalInt(c.eval, pool.AttrJobStart); ok {
		return max(0, c.now.Sub(time.Unix(start, 0)))
	}
	seconds, ok := r.ad.EvalNumber(c.eval, pool.AttrTotalJobRunTime)
	if entered, claimed := r.ad.EvalInt(c.eval, pool.AttrEnteredState); !ok && claimed {
		seconds = c.now.Sub(time.Unix(entered, 0)).Seconds()
	}
	if !(seconds > 0 && seconds < 1e9) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// settleRunning divides the running slots into tenants.
func (c *cycle) settleRunning(list []running) {
	known, kinds, estates := map[string]*tenants{}, map[string]int{}, map[lot]*estate{}
	var key []byte
	for i := range list {
		r := &list[i]
		k := c.classOf(r.ad, r.weight, false, false)
		current := c.numberIn(r.ad, currentRank)
		key = c.appendYielding(key[:0], r.ad, current)
		alike := len(key)
		key = binary.LittleEndian.AppendUint64(key, uint64(k.number))
		key = binary.LittleEndian.AppendUint64(key, uint64(r.holder.place))
		key = binary.LittleEndian.AppendUint64(key, uint64(r.claim.Weight))
		key = appendFlag(key, r.claim.Piece.Of != "")
		key = c.appendPreemptionRank(key, r)
		t := known[string(key)]
		if t == nil {
			t = c.newTenants(r, k, current)
			t.alike = numbered(kinds, key[:alike])
			known[string(key)] = t
			lot{r.holder, r.weight, r.claim.Weight}.add(t, estates)
		}
		t.slots = append(t.slots, r)
		k.group.running += r.weight
		if r.holder.runs == nil {
			r.holder.runs = map[*group]accountant.Weight{}
		}
		r.holder.runs[k.group] += r.weight
	}
	c.kinds = len(kinds)
	c.choosy = make([][]*tenants, c.kinds)
	for _, t := range c.tenants {
		if t.ranks {
			c.choosy[t.alike] = append(c.choosy[t.alike], t)
		}
		if !t.varies {
			slices.SortStableFunc(t.slots, func(a, b *running) int { return cmp.Compare(b.rank, a.rank) })
		}
	}
}

// add adds tenants to the estate of a lot.
func (l lot) add(t *tenants, estates map[lot]*estate) {
	e := estates[l]
	if e == nil {
		e = &estate{lot: l}
		estates[l] = e
		l.holder.estates = append(l.holder.estates, e)
	}
	e.tenants = append(e.tenants, t)
}

// newTenants returns the tenants of which r is the first.
func (c *cycle) newTenants(r *running, k *class, current float64) *tenants {
	t := &tenants{class: k, holder: r.holder, ad: r.ad, weight: r.weight, current: current,
		varies: math.IsNaN(r.rank), ranks: c.mayPrefer(r.ad, current)}
	if _, e, _ := r.ad.Get(slotRankName); e == nil {
		t.fixed, t.always = true, c.rankOn(r.ad, nil)
	}
	if r.claim.Piece.Of != "" {
		t.left = c.leftIn(r.ad)
	}
	c.tenants = append(c.tenants, t)
	return t
}

// numbered returns the number of a key among known ones, from 0.
func numbered(known map[string]int, key []byte) int {
	n, ok := known[string(key)]
	if !ok {
		n = len(known)
		known[string(key)] = n
	}
	return n
}

// appendYielding appends what PREEMPTION_REQUIREMENTS and the Rank of a running slot come
// to, and what it ranks the present job.
func (c *cycle) appendYielding(key []byte, ad *classad.Ad, current float64) []byte {
	key = binary.LittleEndian.AppendUint64(key, math.Float64bits(current))
	key = appendMeaning(key, c.shapes.means.at(ad, &c.shapes.slotRank))
	if e := c.cfg.Preemption.Requirements; e != nil {
		key = appendMeaning(key, c.shapes.means.ofExpr(ad, e))
	}
	return key
}

// appendPreemptionRank appends what PREEMPTION_RANK comes to, but for a rank that is the
// same for all jobs, which it puts into r; NaN: it is not.
func (c *cycle) appendPreemptionRank(key []byte, r *running) []byte {
	m := c.shapes.means
	r.rank = math.Inf(-1)
	e := c.cfg.Preemption.Rank
	if e == nil {
		return key
	}
	if v, closed := m.value(r.ad, e); closed && !c.fickleRank {
		if x, ok := v.Number(); ok && !math.IsNaN(x) {
			r.rank = x
		}
		return key
	}
	r.rank = math.NaN()
	return appendMeaning(key, m.ofExpr(r.ad, e))
}

// mayPrefer reports whether the slot's Rank may be above what it is of the present job.
func (c *cycle) mayPrefer(ad *classad.Ad, current float64) bool {
	if _, e, _ := ad.Get(slotRankName); e != nil {
		return true
	}
	return c.rankOn(ad, nil) > current
}

// numberIn returns an attribute as a number, 0 if it is none.
func (c *cycle) numberIn(ad *classad.Ad, name *classad.Name) float64 {
	v, e, ok := ad.Get(name)
	if ok && e != nil {
		v = ad.Eval(c.eval, name.String(), nil)
	}
	x, isNumber := v.Number()
	if !ok || !isNumber || math.IsNaN(x) {
		return 0
	}
	return x
}

// rankOf returns what the slots' Rank makes of a job, as rankOn does.
func (t *tenants) rankOf(c *cycle, job *classad.Ad) float64 {
	if t.fixed {
		return t.always
	}
	return c.rankOn(t.ad, job)
}

// slotRank returns what a slot's Rank makes of a job, 0 where that is no number.
func (c *cycle) slotRank(slot, job *classad.Ad) float64 {
	if x := c.rankOn(slot, job); !math.IsNaN(x) {
		return x
	}
	return 0
}

// rankOn does as slotRank, but in spins a Rank that is no number is NaN: to HTCondor it is
// then neither above nor below that of the present job, nor the same.
func (c *cycle) rankOn(slot, job *classad.Ad) float64 {
	v, e, ok := slot.Get(slotRankName)
	if !ok {
		return 0
	}
	switch {
	case e != nil && job != nil:
		v = slot.Eval(&c.bill, pool.AttrRank, job)
	case e != nil:
		v = slot.Eval(c.eval, pool.AttrRank, nil)
	}
	x, isNumber := v.Number()
	switch {
	case isNumber && !math.IsNaN(x):
		return x
	case c.cfg.Pie == Spins:
		return math.NaN()
	}
	return 0
}

var (
	slotRankName = classad.NewName(pool.AttrRank)
	currentRank  = classad.NewName(pool.AttrCurrentRank)
)

// anyClaims reports whether any slot is claimed, so that preemption may matter.
func (c *cycle) anyClaims() bool {
	return c.cfg.Preemption.Consider && slices.ContainsFunc(c.slots, func(s slot) bool {
		return s.standing == claimed || s.whole != nil && len(c.ours[s.name]) > 0
	})
}

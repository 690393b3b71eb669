package deal

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// running is a slot, or a piece of a partitionable one, with a job that may have to leave
// for another.
type running struct {
	slot    int         // index of the slot's ad
	claim   *pool.Claim // of one from outside: the slot's name and its holder
	outside bool
	taken   bool // for another job
	holder  *Submitter
	weight  accountant.Weight // the slot's present weight
	ad      *classad.Ad       // as it stands
	kind    *runKind          // what tells ad apart, but for the start; nil: it is like no other
	first   int               // the index of the first of its kind with that start, which has the same ad; -1: itself
	rank    float64           // PREEMPTION_RANK once tenants are ranked, where that is the same for all jobs; NaN: it is not
	tenants *tenants          // that include it
}

// compare orders running slots for preemption by jobs without a rank.
func (r *running) compare(o *running) int {
	if r.rank != o.rank {
		return cmp.Compare(o.rank, r.rank)
	}
	return r.slot - o.slot
}

// tenants are running slots of one holder that no expression can tell apart, except
// PREEMPTION_RANK, which may say which of them to take first.
type tenants struct {
	*estate
	class   *class
	ad      *classad.Ad
	current float64        // CurrentRank
	left    shapes.Amounts // the resources of pieces; nil: whole slots
	varies  bool           // PREEMPTION_RANK depends on the job
	ranks   bool           // the slots' Rank may prefer a job to the present one
	fixed   bool           // the slots' Rank is always, whatever the job
	always  float64
	slots   []*running
	ranked  bool // slots have their rank, and are in that order
}

// estate is tenants of one holder that weigh the same, are charged the same, and are alike in
// their slots' Rank and PREEMPTION_REQUIREMENTS to all jobs: shares and quotas let a submitter
// preempt any of them or none, and all yield to a job or none.
type estate struct {
	lot
	number  int // among all estates
	tenants []*tenants
	running int // slots of theirs that are not taken
}

// lot identifies an estate.
type lot struct {
	holder          *Submitter
	weight, charged accountant.Weight
	alike           int // equal for tenants if no job can tell apart their slots' Rank and PREEMPTION_REQUIREMENTS
}

// findRunning lists the slots with jobs that may be preempted. It leaves out slots that are
// only matched, being vacated or promised (manual, "Negotiation": a claimed machine that
// runs no job is skipped), and slots that are left alone after broken promises. asked are
// the names that any expression looks up in slots.
func (c *roster) findRunning(asked shapes.Names) []running {
	if !c.Config.Preemption.Consider {
		return nil
	}
	list := slices.Grow(c.room().running[:0], len(c.claims))
	w := c.newOverlay(asked)
	for i := range c.Slots {
		s := &c.Slots[i]
		if s.Standing != Claimed && s.Whole == nil || c.retires(s) || c.rests(s) {
			continue
		}
		if claims := s.Claims; len(claims) > 0 {
			for _, cl := range claims {
				if c.preemptible(s, cl, claims) {
					list = append(list, w.ours(list, i, cl))
				}
			}
		} else if s.Whole == nil && c.worksOutside(s.Ad) {
			list = append(list, w.outside(i))
		}
	}
	c.room().running = list
	return list
}

// preemptible reports whether a claim of ours runs a job on the slot, and no job waits
// for the slot already.
func (c *inventory) preemptible(s *Slot, cl *pool.Claim, all []*pool.Claim) bool {
	if cl.State != pool.RunningClaim || cl.SlotAd() != s.Name || cl.StartedAt.IsZero() {
		return false
	}
	if !s.plain {
		if state := c.textOf(s.Ad, stateName); state != "" && !caseless.Contains([]string{"Unclaimed", "Matched", "Claimed"}, state) {
			return false
		}
	}
	return !slices.ContainsFunc(all, func(o *pool.Claim) bool { return o.Slot == cl.Slot && o.Job != cl.Job })
}

// worksOutside reports whether a slot that is claimed by its own words runs a job.
func (c *inventory) worksOutside(ad *classad.Ad) bool {
	if c.Config.Pie == negotiator.Spins {
		return true
	}
	activity, _ := ad.EvalString(c.Eval, pool.AttrActivity)
	return strings.EqualFold(c.textOf(ad, stateName), "Claimed") && !strings.EqualFold(activity, "Idle") && !isPending(ad)
}

// isPending reports whether a job waits for a slot that is claimed outside.
func isPending(ad *classad.Ad) bool {
	return ad.Has(pool.AttrPreemptingUser) || ad.Has(preemptingGroup)
}

// ran returns for how long the job of a running slot has run there.
func (c *inventory) ran(r *running) time.Duration {
	if !r.outside {
		return max(0, c.Now.Sub(r.claim.StartedAt))
	}
	if start, ok := r.ad.EvalInt(c.Eval, pool.AttrJobStart); ok {
		return max(0, c.Now.Sub(time.Unix(start, 0)))
	}
	seconds, ok := r.ad.EvalNumber(c.Eval, pool.AttrTotalJobRunTime)
	if entered, claimed := r.ad.EvalInt(c.Eval, pool.AttrEnteredState); !ok && claimed {
		seconds = c.Now.Sub(time.Unix(entered, 0)).Seconds()
	}
	if !(seconds > 0 && seconds < 1e9) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// settleRunning divides the running slots into tenants.
func (c *arrangement) settleRunning(list []running) {
	known, kinds, estates := map[string]*tenants{}, map[string]int{}, map[lot]*estate{}
	var key []byte
	timed := slices.ContainsFunc(startAttributes[:], func(name string) bool { return c.InClasses.Has(strings.ToLower(name)) })
	for i := range list {
		r := &list[i]
		usage := r.claim.Usage()
		if r.first >= 0 && list[r.first].claim.Usage() == usage {
			r.rank = list[r.first].rank
			r.join(list[r.first].tenants)
			continue
		}
		kind := r.kind
		if kind == nil || timed {
			kind = &runKind{}
		}
		if kind.class == nil {
			kind.class, kind.current = c.classOf(r.ad, r.weight, false, false), c.numberIn(r.ad, currentRank)
			kind.yields = c.AppendSlotRank(binary.LittleEndian.AppendUint64(nil, math.Float64bits(kind.current)), r.ad)
		}
		k := kind.class
		key = append(key[:0], kind.yields...)
		if e := c.Config.Preemption.Requirements; e != nil {
			key = c.AppendMeaning(key, r.ad, e)
		}
		alike := len(key)
		key = binary.LittleEndian.AppendUint64(key, uint64(k.Number))
		key = binary.LittleEndian.AppendUint64(key, uint64(r.holder.place))
		key = binary.LittleEndian.AppendUint64(key, uint64(usage))
		key = strconv.AppendBool(key, r.claim.Piece.Of != "")
		if c.ranksAlike(r) {
			r.rank = math.Inf(-1)
		} else {
			r.rank = math.NaN()
			key = c.AppendMeaning(key, r.ad, c.Config.Preemption.Rank)
		}
		t := known[string(key)]
		if t == nil {
			t = c.newTenants(r, k, kind.current)
			known[string(key)] = t
			lot{r.holder, r.weight, usage, numbered(kinds, key[:alike])}.add(t, estates)
		}
		r.join(t)
	}
	c.kinds, c.estates, c.running = len(kinds), len(estates), len(list)
	c.choosy = make([][]*tenants, c.kinds)
	for _, t := range c.tenants {
		if t.ranks {
			c.choosy[t.alike] = append(c.choosy[t.alike], t)
		}
		t.class.group.tenants = append(t.class.group.tenants, t)
		c.apart = c.apart || t.varies || t.left != nil
	}
}

// join makes a running slot one of tenants.
func (r *running) join(t *tenants) {
	r.tenants = t
	t.slots = append(t.slots, r)
	t.running++
	t.class.group.running += r.weight
	if r.holder.runs == nil {
		r.holder.runs = map[*Group]accountant.Weight{}
	}
	r.holder.runs[t.class.group] += r.weight
}

// add adds tenants to the estate of a lot.
func (l lot) add(t *tenants, estates map[lot]*estate) {
	e := estates[l]
	if e == nil {
		e = &estate{lot: l, number: len(estates)}
		estates[l] = e
		l.holder.estates = append(l.holder.estates, e)
	}
	t.estate = e
	e.tenants = append(e.tenants, t)
}

// newTenants returns the tenants with r as the first.
func (c *arrangement) newTenants(r *running, k *class, current float64) *tenants {
	t := &tenants{class: k, ad: r.ad, current: current,
		varies: math.IsNaN(r.rank), ranks: c.mayPrefer(r.ad, current)}
	if _, e, _ := r.ad.Get(slotRankName); e == nil {
		t.fixed, t.always = true, c.rankOn(r.ad, nil)
	}
	if r.claim.Piece.Of != "" {
		t.left = c.LeftIn(r.ad)
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

// ranksAlike reports whether PREEMPTION_RANK of a running slot is the same for all jobs.
func (c *arrangement) ranksAlike(r *running) bool {
	e := c.Config.Preemption.Rank
	switch {
	case e == nil:
		return true
	case c.fickleRank:
		return false
	case r.kind == nil:
		return c.Closed(r.ad, e)
	case r.kind.ranks == nil:
		alike := c.Closed(r.ad, e)
		r.kind.ranks = &alike
	}
	return *r.kind.ranks
}

// ranked returns the slots of tenants, by PREEMPTION_RANK where that is the same for all jobs. Most are never asked for.
func (c *arrangement) ranked(t *tenants) []*running {
	if t.ranked || t.varies {
		return t.slots
	}
	t.ranked = true
	if e := c.Config.Preemption.Rank; e != nil {
		for i, r := range t.slots {
			if i > 0 && t.slots[i-1].ad == r.ad {
				r.rank = t.slots[i-1].rank
			} else if x, ok := e.Eval(c.Eval, r.ad, nil).Number(); ok && !math.IsNaN(x) {
				r.rank = x
			}
		}
	}
	slices.SortStableFunc(t.slots, (*running).compare)
	return t.slots
}

// mayPrefer reports whether the slot's Rank may be above its rank of the present job.
func (c *common) mayPrefer(ad *classad.Ad, current float64) bool {
	if _, e, _ := ad.Get(slotRankName); e != nil {
		return true
	}
	return c.rankOn(ad, nil) > current
}

// numberIn returns an attribute as a number, 0 if it is no number.
func (c *common) numberIn(ad *classad.Ad, name *classad.Name) float64 {
	v, e, ok := ad.Get(name)
	if ok && e != nil {
		v = ad.Eval(c.Eval, name.String(), nil)
	}
	x, isNumber := v.Number()
	if !ok || !isNumber || math.IsNaN(x) {
		return 0
	}
	return x
}

// rankOf returns the slots' Rank of a job, as rankOn does.
func (c *common) rankOf(t *tenants, job *classad.Ad) float64 {
	if t.fixed {
		return t.always
	}
	return c.rankOn(t.ad, job)
}

// slotRank returns a slot's Rank of a job, 0 if that is no number.
func (c *common) slotRank(slot, job *classad.Ad) float64 {
	if x := c.rankOn(slot, job); !math.IsNaN(x) {
		return x
	}
	return 0
}

// rankOn does as slotRank, but in spins a Rank that is no number is NaN: to HTCondor it is
// then neither above nor below the rank of the present job, nor equal.
func (c *common) rankOn(slot, job *classad.Ad) float64 {
	v, e, ok := slot.Get(slotRankName)
	if !ok {
		return 0
	}
	switch {
	case e != nil && job != nil:
		v = slot.Eval(&c.Bill, pool.AttrRank, job)
	case e != nil:
		v = slot.Eval(c.Eval, pool.AttrRank, nil)
	}
	x, isNumber := v.Number()
	switch {
	case isNumber && !math.IsNaN(x):
		return x
	case c.Config.Pie == negotiator.Spins:
		return math.NaN()
	}
	return 0
}

var (
	slotRankName = classad.NewName(pool.AttrRank)
	currentRank  = classad.NewName(pool.AttrCurrentRank)
)

// anyClaims reports whether any slot is claimed, so that preemption may matter.
func (c *inventory) anyClaims() bool {
	return c.Config.Preemption.Consider && slices.ContainsFunc(c.Slots, func(s Slot) bool {
		return s.Standing == Claimed || s.Whole != nil && len(s.Claims) > 0
	})
}

// overlay adds to the ads of slots that run jobs what expressions ask about the claim
// and its holder.
type overlay struct {
	c      *roster
	claim  []int // the indices of claimAttributes that are asked for
	holder []int // the same of remoteAttributes
	groups []negotiator.Group
	// ofClaim and ofHolder have the names of the attributes added for a claim of ours, and
	// for one from outside: copies share them, and are quick to read.
	ofClaim, ofHolder *classad.Ad
	values            []classad.Value        // scratch
	kinds             map[runsAlike]*runKind // nil: JobId is asked for, which tells all apart
	since             map[runStart]int       // the index of the first
	last              *runKind               // that was asked for
}

// runsAlike is what tells apart the ads of slots of known kinds that run jobs, but for the start.
type runsAlike struct {
	kind   int
	holder *Submitter
	weight accountant.Weight
	rank   float64
	limits string
}

// runKind is running slots of which no more than the start tells the ads apart.
type runKind struct {
	runsAlike
	ranks *bool // PREEMPTION_RANK is the same for all jobs; nil: not known
	// What is the same for all of them where no class depends on the start.
	class   *class  // nil: not known, as the following
	current float64 // CurrentRank
	yields  []byte  // the meanings of that and of the slots' Rank
}

// runStart is running slots of one kind with one start, in Unix seconds: they have one ad.
type runStart struct {
	*runKind
	at int64
}

// kindOf returns the kind of a slot with a claim.
func (w *overlay) kindOf(s *Slot, holder *Submitter, cl *pool.Claim) *runKind {
	alike := runsAlike{s.Kind, holder, s.Weight, cl.Rank, cl.Limits}
	if w.last != nil && w.last.runsAlike == alike {
		return w.last
	}
	k := w.kinds[alike]
	if k == nil {
		k = &runKind{runsAlike: alike}
		w.kinds[alike] = k
	}
	w.last = k
	return k
}

// startAttributes are those of claimAttributes that say when the job began.
var startAttributes = [...]string{pool.AttrEnteredState, "EnteredCurrentActivity", pool.AttrJobStart, pool.AttrTotalJobRunTime}

// claimAttributes are the attributes that a claim of ours with a running job adds to a slot:
// those of pool.Overlay, one by one, as most cycles ask for few of them, and further ones of
// HTCondor's slots.
var claimAttributes = []struct {
	name  string
	value func(*common, *pool.Claim) classad.Value
}{
	{pool.AttrState, func(*common, *pool.Claim) classad.Value { return classad.String("Claimed") }},
	{pool.AttrActivity, func(*common, *pool.Claim) classad.Value { return classad.String("Busy") }},
	{pool.AttrRemoteUser, func(_ *common, cl *pool.Claim) classad.Value { return classad.String(cl.Submitter) }},
	{pool.AttrRemoteOwner, func(_ *common, cl *pool.Claim) classad.Value { return classad.String(cl.Submitter) }},
	{pool.AttrJobID, func(_ *common, cl *pool.Claim) classad.Value { return classad.String(cl.Job.String()) }},
	{pool.AttrEnteredState, func(_ *common, cl *pool.Claim) classad.Value { return classad.Int(cl.StartedAt.Unix()) }},
	{"EnteredCurrentActivity", func(_ *common, cl *pool.Claim) classad.Value { return classad.Int(cl.StartedAt.Unix()) }},
	{pool.AttrJobStart, func(_ *common, cl *pool.Claim) classad.Value { return classad.Int(cl.StartedAt.Unix()) }},
	{pool.AttrTotalJobRunTime, func(c *common, cl *pool.Claim) classad.Value {
		return classad.Int(max(0, c.Now.Unix()-cl.StartedAt.Unix()))
	}},
	{pool.AttrCurrentRank, func(_ *common, cl *pool.Claim) classad.Value { return classad.Real(cl.Rank) }},
	{pool.AttrNiceUser, func(c *common, cl *pool.Claim) classad.Value { return classad.Bool(c.Config.Params.Nice(cl.Submitter)) }},
	{pool.AttrConcurrencyLimits, func(_ *common, cl *pool.Claim) classad.Value { return classad.String(cl.Limits) }},
}

// remoteAttributes are the attributes about the holder that a cycle adds to a claimed
// slot's ad (manual, "Negotiation"), as of the beginning of the cycle.
var remoteAttributes = []struct {
	name   string
	groups bool // only where there are accounting groups
	value  func(*Submitter, negotiator.Group) classad.Value
}{
	{"RemoteUserPrio", false, func(s *Submitter, _ negotiator.Group) classad.Value { return classad.Real(s.EUP) }},
	{"RemoteUserResourcesInUse", false, func(s *Submitter, _ negotiator.Group) classad.Value { return classad.Real(s.before.Float()) }},
	{"RemoteUserFloor", false, func(s *Submitter, _ negotiator.Group) classad.Value { return classad.Int(s.Floor) }},
	{"RemoteGroup", true, func(_ *Submitter, g negotiator.Group) classad.Value { return classad.String(g.Name) }},
	{"RemoteGroupResourcesInUse", true, func(_ *Submitter, g negotiator.Group) classad.Value { return classad.Real(g.Usage) }},
	{"RemoteGroupQuota", true, func(_ *Submitter, g negotiator.Group) classad.Value { return classad.Real(g.EffectiveQuota) }},
	{"RemoteNegotiatingGroup", true, func(_ *Submitter, g negotiator.Group) classad.Value { return classad.String(g.Name) }},
	{"RemoteAutoregroup", true, func(*Submitter, negotiator.Group) classad.Value { return classad.Bool(false) }},
}

// matchAttributes are the remoteAttributes that the match of the claim decided: a slot's own
// values override them.
var matchAttributes = []string{"RemoteNegotiatingGroup", "RemoteAutoregroup"}

func (c *roster) newOverlay(asked shapes.Names) *overlay {
	w := &overlay{c: c}
	for i, a := range claimAttributes {
		if a.name == pool.AttrCurrentRank || asked.Has(strings.ToLower(a.name)) {
			w.claim = append(w.claim, i)
		}
	}
	for i, a := range remoteAttributes {
		if !asked.Has(strings.ToLower(a.name)) {
			continue
		}
		if a.groups && w.groups == nil {
			w.groups = c.accounts()
		}
		if !a.groups || w.groups != nil {
			w.holder = append(w.holder, i)
		}
	}
	if !asked.Has(strings.ToLower(pool.AttrJobID)) {
		w.kinds, w.since = map[runsAlike]*runKind{}, make(map[runStart]int, len(c.claims)/4)
	}
	w.ofClaim, w.ofHolder = classad.New(), classad.New()
	undefined := classad.Literal(classad.Undefined())
	for _, i := range w.claim {
		w.ofClaim.Set(claimAttributes[i].name, undefined)
	}
	for _, i := range w.holder {
		w.ofClaim.Set(remoteAttributes[i].name, undefined)
		w.ofHolder.Set(remoteAttributes[i].name, undefined)
	}
	w.ofClaim.Clone() // from now on copies share its names
	return w
}

// ours returns the running slot that a claim of this pool makes, behind those of a list.
func (w *overlay) ours(list []running, slot int, cl *pool.Claim) running {
	c, s := w.c, &w.c.Slots[slot]
	r := running{slot: slot, claim: cl, holder: c.called[cl.Submitter], weight: s.Weight, ad: s.Ad, first: -1}
	if s.Whole != nil {
		r.ad = pool.DynamicAd(s.Whole, cl.Slot, cl.Piece.Takes)
		r.weight = c.weighPart(r.ad)
	} else if s.Kind > 0 && w.kinds != nil {
		r.kind = w.kindOf(s, r.holder, cl)
		start := runStart{r.kind, cl.StartedAt.Unix()}
		if first, known := w.since[start]; known {
			r.first, r.ad = first, list[first].ad
			return r
		}
		w.since[start] = len(list)
	}
	w.values = w.values[:0]
	for _, i := range w.claim {
		w.values = append(w.values, claimAttributes[i].value(&c.common, cl))
	}
	g := w.groupOf(r.holder)
	for _, i := range w.holder {
		w.values = append(w.values, remoteAttributes[i].value(r.holder, g))
	}
	r.ad = classad.With(w.ofClaim, r.ad, w.values...)
	return r
}

// outside returns the running slot that is claimed by its own words.
func (w *overlay) outside(slot int) running {
	c, s := w.c, &w.c.Slots[slot]
	cl := &pool.Claim{Slot: s.Name, Submitter: c.holderOf(s), Weight: s.Weight}
	r := running{slot: slot, claim: cl, outside: true, holder: c.called[cmp.Or(c.pendingFor(s), cl.Submitter)], weight: s.Weight, ad: s.Ad, first: -1}
	rank, pending := 0.0, false
	if c.Config.Pie == negotiator.Spins {
		// A new job must be worth more than the job that waits already.
		rank, pending = s.Ad.EvalNumber(c.Eval, pool.AttrPreemptingRank)
	}
	if pending || len(w.holder) > 0 {
		r.ad = w.ofHolder.Clone().Chain(s.Ad)
		w.remote(r.ad, r.holder)
		for _, name := range matchAttributes {
			if e, told := s.Ad.Lookup(name); told {
				r.ad.Set(name, e)
			}
		}
	}
	if pending {
		r.ad.SetReal(pool.AttrCurrentRank, rank)
	}
	return r
}

// remote adds the requested attributes of a slot's holder.
func (w *overlay) remote(ad *classad.Ad, holder *Submitter) {
	g := w.groupOf(holder)
	for _, i := range w.holder {
		a := &remoteAttributes[i]
		ad.Set(a.name, classad.Literal(a.value(holder, g)))
	}
}

// groupOf returns the group of a slot's holder, the zero Group without groups.
func (w *overlay) groupOf(holder *Submitter) (g negotiator.Group) {
	if w.groups != nil {
		g = w.groups[w.c.Config.Params.Groups.Of(holder.Name)]
	}
	return g
}

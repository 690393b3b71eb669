package deal

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// Standing is a slot's role in this cycle: a candidate, or why not.
type Standing uint8

const (
	Free      Standing = iota
	Claimed            // by us or outside
	Elsewhere          // in a state in which it takes no job
	Drained            // on a machine that is drained
	Resting            // left alone after matches that no starter took up
	Reserved           // kept for a wide job
	Standings          // how many there are
)

// Slot is a slot as the cycle sees it.
type Slot struct {
	shapes.Slot
	Name     string
	Claims   []*pool.Claim // of this pool, also those on pieces
	Standing Standing
	plain    bool   // negotiator.SlotFacts.Plain
	counted  bool   // in the size of the pool
	Group    *Group // when the cycle began
	Now      *Group // as it is divided now
	Wholly   *Group // of a partitionable slot: where it would be, were nothing taken
	pieces   int    // the highest number of a dynamic slot's name that was tried
}

// inventory is the state of the pool: the slots, their holders, and the slots that rest.
type inventory struct {
	common
	Slots    []Slot            // by name in natural order
	total    accountant.Weight // of all slots except claimed ones of other pools
	claims   []pool.Claim
	byName   map[string]int // of slots with claims: where on has these; nil: not asked for
	on       [][]*pool.Claim
	Until    map[string]time.Time // slots that rest
	faulty   faults
	allPlain bool               // all slots are plain, and learned has them
	Excluded []pool.Slot        // that NEGOTIATOR_SLOT_CONSTRAINT leaves out, by name
	named    map[string]bool    // names that no new dynamic slot may have, once asked for
	InUse    *concurrency.InUse // of concurrency limits
}

// lookAtSlots fills c.slots, and the plan's Outside with each submitter's holding in
// claims from outside. A slot with an expired ad does not exist any more. It warns of ads
// without a name, names that occur twice, and invalid weights.
func (c *inventory) lookAtSlots(p negotiator.Pool, claims []pool.Claim) {
	c.claims = claims
	for i := range claims {
		c.InUse.Add(claims[i].Limits)
	}
	c.Until = map[string]time.Time{}
	for _, b := range slices.Concat(p.Backoffs, c.Plan.Backoffs) {
		if b.Until.After(c.Until[b.Slot]) {
			c.Until[b.Slot] = b.Until
		}
	}
	c.Plan.Outside = map[string]negotiator.Holding{}
	usable := c.usable(p.Slots)
	var facts []negotiator.SlotFacts
	claimsOf := func(i int) []*pool.Claim { return c.ClaimsOn(usable[i].Name) }
	if c.learned != nil {
		facts = c.learned.Facts(usable, &c.Config, c.factsOf)
		on := c.room().claimsBy(c.learned.Places(), claims)
		claimsOf = func(i int) []*pool.Claim { return on[i] }
	} else {
		facts = make([]negotiator.SlotFacts, len(usable))
	}
	c.Slots = slices.Grow(c.room().slots[:0], len(usable))
	for i, s := range usable {
		if c.Config.SlotConstraint != nil && !c.Config.SlotConstraint.Eval(c.Eval, s.Ad, nil).True() {
			c.Excluded = append(c.Excluded, s)
			continue
		}
		sl := c.lookAt(s, facts[i], claimsOf(i))
		if slices.ContainsFunc(sl.Claims, func(cl *pool.Claim) bool { return cl.Flocked != "" }) {
			sl.counted = false // a claim on a slot of another pool is no usage here
		} else {
			c.total += sl.Weight
		}
		c.Slots = append(c.Slots, sl)
	}
	c.room().slots = c.Slots
	c.allPlain = c.learned != nil && c.learned.ArePlain(usable) && len(c.Excluded) == 0
	c.warnOfWeights()
	c.Plan.Slots = len(c.Slots)
}

// pieceAsSlot returns a claim on a piece as one on a slot that is advertised under the dynamic slot's name.
func pieceAsSlot(cl *pool.Claim) *pool.Claim {
	return &pool.Claim{Job: cl.Job, Slot: cl.Slot, Submitter: cl.Submitter, State: cl.State}
}

// ClaimsOn returns the claims on a slot, by the name of its ad, which need not be there.
func (c *inventory) ClaimsOn(name string) []*pool.Claim {
	if c.byName == nil {
		c.byName = make(map[string]int, len(c.claims))
		add := func(name string) {
			if _, known := c.byName[name]; !known {
				c.byName[name] = len(c.byName)
			}
		}
		for i := range c.claims {
			cl := &c.claims[i]
			if add(cl.SlotAd()); cl.Piece.Of != "" {
				add(cl.Slot)
			}
		}
		c.on = new(room).claimsBy(c.byName, c.claims)
	}
	if at, there := c.byName[name]; there {
		return c.on[at]
	}
	return nil
}

// factsOf finds out whether a slot is plain.
func (c *inventory) factsOf(s pool.Slot) (f negotiator.SlotFacts) {
	for _, name := range []*classad.Name{lifetimeName, partitionableName, retirementName} {
		if hasName(s.Ad, name) {
			return f
		}
	}
	if _, e, _ := s.Ad.Get(stateName); e != nil || !negotiator.IsOpen(c.textOf(s.Ad, stateName)) {
		return f
	}
	if c.Config.UseSlotWeights && !c.weighsByConstant(s.Ad) {
		return f
	}
	w, _, err := c.Config.WeightIn(c.Eval, s.Ad)
	return negotiator.SlotFacts{Plain: err == nil, Weight: w}
}

// weighsByConstant reports whether a slot's weight is a constant in its ad.
func (c *inventory) weighsByConstant(ad *classad.Ad) bool {
	by := slotWeightName
	if !hasName(ad, by) {
		if c.Config.SlotWeight == nil {
			return true
		}
		own, _ := classad.References(c.Config.SlotWeight, ad)
		if len(own) != 1 || own[0] != c.Config.SlotWeight.String() {
			return false
		}
		by = classad.NewName(own[0])
	}
	_, e, _ := ad.Get(by)
	return e == nil
}

// lookAt returns a slot as the cycle sees it.
func (c *inventory) lookAt(s pool.Slot, facts negotiator.SlotFacts, claims []*pool.Claim) Slot {
	sl := Slot{Name: s.Name, Slot: shapes.Slot{Ad: s.Ad, Weight: facts.Weight}, Claims: claims, plain: facts.Plain, counted: true}
	if e := c.Config.PoolSizeConstraint; e != nil {
		sl.counted = e.Eval(c.Eval, s.Ad, nil).True()
	}
	if sl.plain {
		switch {
		case slices.ContainsFunc(sl.Claims, func(cl *pool.Claim) bool { return cl.Piece.Of == "" || cl.State != pool.Promised }):
			sl.Standing = Claimed
		case c.rests(&sl):
			sl.Standing = Resting
		}
		return sl
	}
	sl.Weight = c.weigh(s)
	whole, pieces := false, []pool.Resources(nil)
	for _, cl := range sl.Claims {
		if whole = whole || cl.Piece.Of == ""; cl.State != pool.Promised { // its piece is the one that is being vacated
			pieces = append(pieces, cl.Piece.Takes)
		}
	}
	divisible := hasName(s.Ad, partitionableName) && pool.Partitionable(c.Eval, s.Ad)
	if divisible {
		sl.Whole, sl.Ad = s.Ad, pool.Left(c.Eval, s.Ad, pieces)
	}
	state := c.textOf(s.Ad, stateName)
	switch outside := negotiator.HolderIn(c.Eval, s.Ad, state); {
	case whole, len(pieces) > 0 && !divisible:
		sl.Standing = Claimed
		if outside != "" { // which is promised to a job of ours; the one from outside has not gone yet
			c.limitOutside(s.Ad)
		}
	case outside != "":
		sl.Standing = Claimed
		c.holdOutside(s.Ad, outside, sl.Weight)
	case strings.EqualFold(state, pool.Drained):
		sl.Standing = Drained
	case !negotiator.IsOpen(state):
		sl.Standing = Elsewhere
	case c.rests(&sl):
		sl.Standing = Resting
	}
	return sl
}

// Attributes of claimed slots: the concurrency limits of the job that waits for the slot,
// its submitter, and for how many seconds the present job may go on undisturbed.
const (
	preemptingLimits = "PreemptingConcurrencyLimits"
	preemptingGroup  = "PreemptingAccountingGroup"
	retirementLeft   = "RetirementTimeRemaining"
)

// holdOutside counts a submitter's holding by a slot's own ad.
func (c *inventory) holdOutside(ad *classad.Ad, who string, weight accountant.Weight) {
	name := c.Config.Params.Groups.Spelled(who)
	h := c.Plan.Outside[name]
	c.Plan.Outside[name] = negotiator.Holding{Slots: h.Slots + 1, Weight: h.Weight + weight}
	c.limitOutside(ad)
}

// limitOutside counts the concurrency limits of a slot's job from outside, and of the job
// that waits for the slot.
func (c *inventory) limitOutside(ad *classad.Ad) {
	for _, limits := range []string{pool.AttrConcurrencyLimits, preemptingLimits} {
		if text, ok := ad.EvalString(c.Eval, limits); ok {
			c.InUse.Add(text)
		}
	}
}

// usable returns the slots to look at, one for each name, by name in natural
// order, as they mostly come.
func (c *inventory) usable(slots []pool.Slot) []pool.Slot {
	if c.learned != nil && c.learned.ArePlain(slots) {
		return slots
	}
	apart := slices.IsSortedFunc(slots, func(a, b pool.Slot) int { return cmp.Or(pool.CompareNames(a.Name, b.Name), -1) })
	if apart && !slices.ContainsFunc(slots, func(s pool.Slot) bool { return s.Name == "" || c.expired(s.Ad) }) {
		return slots
	}
	slots = slices.Clone(slots)
	// Of two ads with one name the one that was advertised last counts.
	slices.SortFunc(slots, func(a, b pool.Slot) int {
		if n := pool.CompareNames(a.Name, b.Name); n != 0 {
			return n
		}
		if n := cmp.Or(cmp.Compare(b.Seq, a.Seq), strings.Compare(a.Source, b.Source)); n != 0 {
			return n
		}
		return strings.Compare(a.Ad.Format(classad.StyleSpool), b.Ad.Format(classad.StyleSpool))
	})
	use := make([]pool.Slot, 0, len(slots))
	for i, s := range slots {
		switch {
		case s.Name == "":
			if i == 0 {
				c.warn("slot ad without a Name: left out")
			}
		case i > 0 && s.Name == slots[i-1].Name:
			if i == 1 || s.Name != slots[i-2].Name {
				c.warn("slot %s: more than one ad has this Name: the latest counts", s.Name)
			}
		case c.expired(s.Ad):
		default:
			use = append(use, s)
		}
	}
	return use
}

// expired reports whether an ad with a lifetime has not been renewed in time.
func (c *inventory) expired(ad *classad.Ad) bool {
	if _, _, limited := ad.Get(lifetimeName); !limited {
		return false
	}
	life, ok := ad.EvalInt(c.Eval, pool.AttrAdLifetime)
	if !ok || life <= 0 {
		return false
	}
	heard, ok := ad.EvalInt(c.Eval, pool.AttrLastHeardFrom)
	return ok && heard+life < c.Now.Unix()
}

// faults are the slots without a proper weight. The same fault of many slots is one
// warning.
type faults struct {
	own    []fault        // with their SlotWeights, by first slot
	number map[string]int // the index in own, by the fault's text
	policy fault          // with SLOT_WEIGHT
	pieces bool           // with some dynamic slot's, which has been said
}

// fault is a fault of count slots' weights.
type fault struct {
	count       int
	first, what string
}

func (f *fault) add(slot string, err error) {
	if f.count++; f.count == 1 {
		f.first, f.what = slot, err.Error()
	}
}

// warnOfWeights says which slots have no proper weight.
func (c *inventory) warnOfWeights() {
	for _, f := range c.faulty.own {
		more := ""
		if f.count > 1 {
			more = plural.Pick(f.count-1, ", and so is 1 slot more", ", and so are %d slots more")
		}
		c.warn("slot %s: %s; counted as 1%s", f.first, f.what, more)
	}
	if f := c.faulty.policy; f.count > 0 {
		c.warn("%s; %s counted as 1", f.what, plural.Pick(f.count, "1 slot", "%d slots"))
	}
}

// weigh returns the slot's weight: its SlotWeight, else SLOT_WEIGHT. A slot counts as 1
// if its ad lacks attributes that SLOT_WEIGHT uses, or if its weight is invalid; then it
// is one of the faulty.
func (c *inventory) weigh(s pool.Slot) accountant.Weight {
	w, own, err := c.Config.WeightIn(c.Eval, s.Ad)
	switch {
	case err == nil:
	case own:
		n, known := c.faulty.number[err.Error()]
		if !known {
			if c.faulty.number == nil {
				c.faulty.number = map[string]int{}
			}
			n = len(c.faulty.own)
			c.faulty.number[err.Error()] = n
			c.faulty.own = append(c.faulty.own, fault{})
		}
		c.faulty.own[n].add(s.Name, err)
	default:
		c.faulty.policy.add(s.Name, err)
	}
	return w
}

// weighPart is weigh for an ad made in the cycle, of a piece or the rest of a
// partitionable slot. One warning covers all of them.
func (c *inventory) weighPart(ad *classad.Ad) accountant.Weight {
	w, _, err := c.Config.WeightIn(c.Eval, ad)
	if err != nil && !c.faulty.pieces {
		c.faulty.pieces = true
		c.warn("a part of a partitionable slot: %v; such parts are counted as 1", err)
	}
	return w
}

func (c *common) warn(format string, args ...any) {
	c.Plan.Warnings = append(c.Plan.Warnings, fmt.Sprintf(format, args...))
}

// poolSize returns the weight that pie slices are cut from at most: of the slots that
// NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT counts.
func (c *inventory) poolSize() float64 {
	if c.Config.PoolSizeConstraint == nil {
		return math.Inf(1)
	}
	var sum accountant.Weight
	for _, s := range c.Slots {
		if s.counted {
			sum += s.Weight
		}
	}
	return sum.Float()
}

// What every slot is asked for is looked up without looking for its name.
var (
	stateName         = classad.NewName(pool.AttrState)
	lifetimeName      = classad.NewName(pool.AttrAdLifetime)
	partitionableName = classad.NewName(pool.AttrPartitionable)
	retirementName    = classad.NewName(retirementLeft)
	slotWeightName    = classad.NewName(pool.AttrSlotWeight)
)

func hasName(ad *classad.Ad, name *classad.Name) bool {
	_, _, ok := ad.Get(name)
	return ok
}

// textOf returns the text that an attribute is, empty for none.
func (c *common) textOf(ad *classad.Ad, name *classad.Name) string {
	v, e, ok := ad.Get(name)
	if ok && e != nil {
		v = ad.Eval(c.Eval, name.String(), nil)
	}
	text, _ := v.Text()
	return text
}

// holderOf returns the holder of a claimed slot.
func (c *inventory) holderOf(s *Slot) string {
	for _, cl := range s.Claims {
		return cl.Submitter
	}
	return c.Config.Params.Groups.Spelled(negotiator.Holder(c.Eval, s.Ad))
}

// pendingFor returns the submitter that waits for a slot that is claimed outside, which
// HTCondor's negotiator takes for its holder; empty if none waits.
func (c *inventory) pendingFor(s *Slot) string {
	if c.Config.Pie != negotiator.Spins || !c.Config.Preemption.Consider || s.Standing != Claimed || len(s.Claims) > 0 {
		return ""
	}
	for _, name := range []string{preemptingGroup, pool.AttrPreemptingUser} {
		if who, ok := s.Ad.EvalString(c.Eval, name); ok {
			return c.Config.Params.Groups.Spelled(who)
		}
	}
	return ""
}

// maxBackoff is the longest that a slot is left alone after its matches were
// not taken up.
const maxBackoff = time.Hour

// giveUp finds the matches that no starter took up in time, and lets their slots rest:
// 2^n times the timeout after the n-th failure in a row. It returns the claims that last,
// by job.
func (c *inventory) giveUp(claims []pool.Claim, backoffs []pool.Backoff) []pool.Claim {
	failures := map[string]int{}
	for _, b := range backoffs {
		failures[b.Slot] = max(failures[b.Slot], b.Failures)
	}
	rested := map[string]bool{}
	vacating := map[string]bool{}
	for i := range claims {
		if cl := &claims[i]; cl.State == pool.Vacating {
			vacating[cl.Slot] = true
		}
	}
	overdue := func(cl pool.Claim) bool { return c.overdue(&cl, vacating) }
	if !slices.ContainsFunc(claims, overdue) && slices.IsSortedFunc(claims, byJob) {
		return claims
	}
	lasting := make([]pool.Claim, 0, len(claims))
	for _, cl := range claims {
		if !overdue(cl) {
			lasting = append(lasting, cl)
			continue
		}
		c.Plan.GiveUp = append(c.Plan.GiveUp, cl)
		if ad := cl.SlotAd(); !rested[ad] {
			rested[ad] = true
			n := max(failures[ad], 0) + 1
			c.Plan.Backoffs = append(c.Plan.Backoffs,
				pool.Backoff{Slot: ad, Failures: n, Until: c.Now.Add(rest(n, c.Config.RequestClaimTimeout))})
		}
	}
	slices.SortFunc(lasting, byJob)
	slices.SortFunc(c.Plan.GiveUp, byJob)
	slices.SortFunc(c.Plan.Backoffs, func(a, b pool.Backoff) int { return strings.Compare(a.Slot, b.Slot) })
	return lasting
}

// byJob orders claims.
func byJob(a, b pool.Claim) int {
	if n := a.Job.Compare(b.Job); n != 0 {
		return n
	}
	return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), strings.Compare(a.Slot, b.Slot))
}

// overdue reports whether a match is older than the configuration allows. One with a slot that
// was promised to it has as much longer as a job may take to leave; where that is a claim
// of this pool, which vacating has, its supervisor sees to that.
func (c *inventory) overdue(cl *pool.Claim, vacating map[string]bool) bool {
	timeout := c.Config.RequestClaimTimeout
	switch {
	case timeout <= 0:
		return false
	case cl.State == pool.Promised && !vacating[cl.Slot]:
		timeout += c.Config.VacateTimeout
	case cl.State != pool.Matched:
		return false
	}
	return c.Now.Sub(cl.MatchedAt) > timeout
}

// rest returns how long a slot is left alone after n failures in a row.
func rest(n int, timeout time.Duration) time.Duration {
	for d := timeout; d < maxBackoff; d *= 2 {
		if n == 0 {
			return d
		}
		n--
	}
	return maxBackoff
}

// withoutClaimed returns the runs without the procs that hold a claim, by submitter and job.
func withoutClaimed(jobs []jobprio.Run, claims []pool.Claim) []jobprio.Run {
	ids := make([]pool.JobID, len(claims))
	may := make([]bool, 1<<bits.Len(uint(8*len(claims)))) // by a remainder of the cluster: its jobs may have claims, as most have none
	for i := range claims {
		ids[i] = claims[i].Job
		may[ids[i].Cluster&(len(may)-1)] = true
	}
	var free []jobprio.Run
	cut := false // a job has a claim
	at := 0
	for i := range jobs {
		j := &jobs[i]
		if i > 0 {
			switch before := &jobs[i-1]; {
			case before.Submitter == j.Submitter && before.Compare(j.Procs) <= 0:
			case before.Submitter < j.Submitter:
				at = 0
			default: // they are not in order
				return withoutClaimed(slices.SortedFunc(slices.Values(jobs), func(a, b jobprio.Run) int {
					return cmp.Or(strings.Compare(a.Submitter, b.Submitter), a.Compare(b.Procs))
				}), claims)
			}
		}
		if may[j.Cluster&(len(may)-1)] {
			at += firstFrom(ids[at:], j.FirstJob())
		}
		next, end := j.First, j.Last+1
		for ; at < len(ids) && ids[at].Cluster == j.Cluster && ids[at].Proc < end; at++ {
			if !cut {
				free, cut = slices.Clone(jobs[:i]), true
			}
			free = appendRun(free, j, next, ids[at].Proc)
			next = ids[at].Proc + 1
		}
		if cut {
			free = appendRun(free, j, next, end)
		}
	}
	if !cut {
		return jobs
	}
	return free
}

// firstFrom returns how many of ascending jobs are before one, which is mostly near.
func firstFrom(ids []pool.JobID, id pool.JobID) int {
	before := func(i int) bool { return ids[i].Compare(id) < 0 }
	from, step := 0, 1
	for ; from+step <= len(ids) && before(from+step-1); step *= 2 {
		from += step
	}
	return from + sort.Search(min(step, len(ids)-from), func(i int) bool { return !before(from + i) })
}

// appendRun appends the procs of j from the one to before the other, if any.
func appendRun(to []jobprio.Run, j *jobprio.Run, from, before int) []jobprio.Run {
	if from >= before {
		return to
	}
	return append(to, j.Part(from, before-1))
}

// Holders returns the submitters that held a slot or parts of it when the cycle began,
// once for each claim.
func (c *inventory) Holders(s *Slot) (names []string) {
	for _, cl := range s.Claims {
		names = append(names, cl.Submitter)
	}
	if len(names) > 0 || s.Standing != Claimed {
		return names
	}
	state, _ := s.Ad.EvalString(c.Eval, pool.AttrState)
	if who := negotiator.HolderIn(c.Eval, s.Ad, state); who != "" {
		names = append(names, c.Config.Params.Groups.Spelled(who))
	}
	return names
}

// leastWeight returns the weight of the lightest slot. A partitionable slot with pieces
// counts as these and its free rest.
func (c *inventory) leastWeight() float64 {
	var least accountant.Weight
	any := false
	see := func(w accountant.Weight) {
		if !any || w < least {
			least, any = w, true
		}
	}
	for i := range c.Slots {
		s := &c.Slots[i]
		claims := s.Claims
		if s.Whole == nil || len(claims) == 0 {
			see(s.Weight)
			continue
		}
		for _, cl := range claims {
			see(cl.Weight)
		}
		if w := c.weighPart(s.Ad); w > 0 {
			see(w)
		}
	}
	return least.Float()
}

// piecesOf returns how many dynamic slots claims of this pool have made of a slot.
func (c *inventory) piecesOf(s *Slot) int {
	if s.Whole == nil {
		return 0
	}
	names := map[string]bool{} // one that is promised to a job has another claim still
	for _, cl := range s.Claims {
		if cl.Piece.Of != "" {
			names[cl.Slot] = true
		}
	}
	return len(names)
}

// lookedAt returns how many slots the size of the pool counts, pieces of partitionable ones
// among them, and how many of all are considered for matches: without preemption no claimed
// ones, else all whose jobs have no time to retire left, or that are to be considered
// early.
func (c *inventory) lookedAt() (all, slots int) {
	for i := range c.Slots {
		s := &c.Slots[i]
		pieces := c.piecesOf(s)
		if s.counted {
			all += 1 + pieces
		}
		if c.Config.Preemption.Consider && !c.retires(s) {
			slots += pieces
		}
		switch {
		case s.Standing != Claimed:
			slots++
		case c.Config.Preemption.Consider && !c.retires(s), !c.Config.Preemption.Consider && s.Whole != nil:
			slots++
		}
	}
	return all, slots
}

// retires reports whether the slot's job has time to end by itself that preemption respects.
func (c *common) retires(s *Slot) bool {
	if s.plain {
		return false
	}
	left, ok := s.Ad.EvalNumber(c.Eval, retirementLeft)
	return ok && left > 0 && !c.Config.Preemption.Early
}

// rests reports whether the slot is left alone after matches that no starter took up.
func (c *inventory) rests(s *Slot) bool { return c.Until[s.Name].After(c.Now) }

// leastDivisible returns the weight of the lightest partitionable slot.
func (c *inventory) leastDivisible() (least accountant.Weight) {
	any := false
	for i := range c.Slots {
		if s := &c.Slots[i]; s.Whole != nil && (!any || s.Weight < least) {
			least, any = s.Weight, true
		}
	}
	return least
}

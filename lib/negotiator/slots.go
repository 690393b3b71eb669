package negotiator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// standing is what a slot is to this cycle: a candidate, or why not.
type standing uint8

const (
	free      standing = iota
	claimed            // by us or outside
	elsewhere          // in a state in which it takes no job
	resting            // left alone after matches that nobody took up
	reserved           // kept for a wide job
	standings          // how many there are
)

// slot is a slot as the cycle sees it.
type slot struct {
	name     string
	ad       *classad.Ad // of a partitionable slot, with what claims leave
	whole    *classad.Ad // of a partitionable slot, as advertised; nil: a static slot
	weight   accountant.Weight
	standing standing
	counted  bool   // in the size of the pool
	group    *group // when the cycle began
	now      *group // as it is divided now
	wholly   *group // of a partitionable slot: where it would be, were nothing taken
	pieces   int    // the highest number of a dynamic slot's name that was tried
}

// lookAtSlots fills c.slots, and the plan's Outside with what each submitter holds
// in claims from outside. A slot whose ad has expired does not exist any more; one
// that this version cannot handle is named in a warning.
func (c *cycle) lookAtSlots(p Pool, claims []pool.Claim) {
	c.ours = map[string][]pool.Claim{}
	for _, cl := range claims {
		c.ours[cl.SlotAd()] = append(c.ours[cl.SlotAd()], cl)
		if cl.Piece.Of != "" { // should a slot be advertised under a dynamic one's name
			c.ours[cl.Slot] = append(c.ours[cl.Slot], pool.Claim{Job: cl.Job, Slot: cl.Slot, Submitter: cl.Submitter, State: cl.State})
		}
		c.named[cl.Slot] = true
		c.inUse.add(cl.Limits)
	}
	c.until = map[string]time.Time{}
	for _, b := range slices.Concat(p.Backoffs, c.plan.Backoffs) {
		if b.Until.After(c.until[b.Slot]) {
			c.until[b.Slot] = b.Until
		}
	}
	c.plan.Outside = map[string]Holding{}
	usable := c.usable(p.Slots)
	for _, s := range usable {
		c.named[s.Name] = true
	}
	for _, s := range usable {
		if c.cfg.SlotConstraint != nil && !c.cfg.SlotConstraint.Eval(c.eval, s.Ad, nil).True() {
			c.excluded = append(c.excluded, s)
			continue
		}
		c.slots = append(c.slots, c.lookAt(s))
	}
	if c.faulty.count > 0 {
		c.warn("%s; %s counted as 1", c.faulty.first, counted(c.faulty.count, "1 slot", "%d slots"))
	}
	c.plan.Slots = len(c.slots)
}

// lookAt returns a slot as the cycle sees it.
func (c *cycle) lookAt(s pool.Slot) slot {
	sl := slot{name: s.Name, ad: s.Ad, weight: c.weigh(s), counted: true}
	if e := c.cfg.PoolSizeConstraint; e != nil {
		sl.counted = e.Eval(c.eval, s.Ad, nil).True()
	}
	whole, pieces := false, []pool.Resources(nil)
	for _, cl := range c.ours[s.Name] {
		whole = whole || cl.Piece.Of == ""
		pieces = append(pieces, cl.Piece.Takes)
	}
	divisible := hasName(s.Ad, partitionableName) && pool.Partitionable(c.eval, s.Ad)
	if divisible {
		sl.whole, sl.ad = s.Ad, pool.Left(c.eval, s.Ad, pieces)
	}
	state := c.textOf(s.Ad, stateName)
	switch outside := holder(c.eval, s.Ad, state); {
	case whole, len(pieces) > 0 && !divisible:
		sl.standing = claimed
	case outside != "":
		sl.standing = claimed
		c.holdOutside(s.Ad, outside, sl.weight)
	case state != "" && !strings.EqualFold(state, "Unclaimed") && !strings.EqualFold(state, "Matched"):
		sl.standing = elsewhere
	case c.until[s.Name].After(c.now):
		sl.standing = resting
	}
	return sl
}

// holdOutside counts what somebody holds by a slot's own words.
func (c *cycle) holdOutside(ad *classad.Ad, who string, weight accountant.Weight) {
	name := c.cfg.Params.Groups.Spelled(who)
	h := c.plan.Outside[name]
	c.plan.Outside[name] = Holding{h.Slots + 1, h.Weight + weight}
	if text, ok := ad.EvalString(c.eval, pool.AttrConcurrencyLimits); ok {
		c.inUse.add(demandText(demandsOf(text)))
	}
}

// usable returns the slots to look at, one for each name, by name in natural
// order.
func (c *cycle) usable(slots []pool.Slot) []pool.Slot {
	slots = slices.Clone(slots)
	// Of two ads with one name the one that was advertised last counts.
	slices.SortFunc(slots, func(a, b pool.Slot) int {
		if n := cmp.Or(pool.CompareNames(a.Name, b.Name), cmp.Compare(b.Seq, a.Seq), strings.Compare(a.Source, b.Source)); n != 0 {
			return n
		}
		return strings.Compare(a.Ad.Format(classad.StyleSpool), b.Ad.Format(classad.StyleSpool))
	})
	var use []pool.Slot
	for i, s := range slots {
		switch {
		case s.Name == "":
			c.warn("slot ad without a Name: left out")
		case i > 0 && s.Name == slots[i-1].Name:
			c.warn("slot %s: more than one ad has this Name: the latest counts", s.Name)
		case c.expired(s.Ad):
		default:
			use = append(use, s)
		}
	}
	return use
}

// expired says whether an ad with a lifetime has not been renewed in time.
func (c *cycle) expired(ad *classad.Ad) bool {
	if _, _, limited := ad.Get(lifetimeName); !limited {
		return false
	}
	life, ok := ad.EvalInt(c.eval, pool.AttrAdLifetime)
	if !ok || life <= 0 {
		return false
	}
	heard, ok := ad.EvalInt(c.eval, pool.AttrLastHeardFrom)
	return ok && heard+life < c.now.Unix()
}

// Holder returns who holds a slot by its own ad: a claim from outside. Empty when
// nobody does.
func Holder(eval *classad.Context, ad *classad.Ad) string {
	state, _ := ad.EvalString(eval, pool.AttrState)
	return holder(eval, ad, state)
}

// holder does as Holder of a slot in this state.
func holder(eval *classad.Context, ad *classad.Ad, state string) string {
	if !strings.EqualFold(state, "Claimed") && !strings.EqualFold(state, "Preempting") {
		return ""
	}
	if group, ok := ad.EvalString(eval, pool.AttrAccountingGroup); ok {
		return group
	}
	user, _ := ad.EvalString(eval, pool.AttrRemoteUser)
	return user
}

// faults are the slots that SLOT_WEIGHT has no weight for: one expression of
// the configuration, and so one warning, however many they are.
type faults struct {
	count int
	first string // what is wrong with the first
}

// weigh returns what the slot counts: its SlotWeight, else SLOT_WEIGHT. A slot
// whose ad lacks what SLOT_WEIGHT asks for counts as 1. So does one with a
// weight that is none, but with a warning, or as one of the faulty.
func (c *cycle) weigh(s pool.Slot) accountant.Weight { return c.weighAd("slot "+s.Name, s.Ad) }

// weighAd is weigh of an ad whose slot warnings call so.
func (c *cycle) weighAd(name string, ad *classad.Ad) accountant.Weight {
	switch {
	case !c.cfg.UseSlotWeights:
	case hasName(ad, slotWeightName):
		w, err := weightOf(pool.AttrSlotWeight, ad.Eval(c.eval, pool.AttrSlotWeight, nil))
		if err == nil {
			return w
		}
		c.warn("%s: %v; counted as 1", name, err)
	case c.cfg.SlotWeight != nil:
		value := c.cfg.SlotWeight.Eval(c.eval, ad, nil)
		if value.Kind() == classad.KindUndefined {
			break
		}
		w, err := weightOf("SLOT_WEIGHT", value)
		if err == nil {
			return w
		}
		if c.faulty.count++; c.faulty.count == 1 {
			c.faulty.first = err.Error()
		}
	}
	return accountant.One
}

// weightOf returns a value as a weight; name says whose value it is.
func weightOf(name string, value classad.Value) (accountant.Weight, error) {
	n, ok := value.Number()
	if !ok {
		return 0, fmt.Errorf("%s is %s: want a number", name, value)
	}
	w, err := accountant.WeightOf(n)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}

func (c *cycle) warn(format string, args ...any) {
	c.plan.Warnings = append(c.plan.Warnings, fmt.Sprintf(format, args...))
}

// total returns the weight of all slots of the pool.
func (c *cycle) total() (sum accountant.Weight) {
	for _, s := range c.slots {
		sum += s.weight
	}
	return sum
}

// poolSize returns the weight that pie slices are cut from: of all slots, or of
// those that NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT counts.
func (c *cycle) poolSize() float64 {
	if c.cfg.PoolSizeConstraint == nil {
		return math.Inf(1)
	}
	var sum accountant.Weight
	for _, s := range c.slots {
		if s.counted {
			sum += s.weight
		}
	}
	return sum.Float()
}

// What every slot is asked for is looked up without looking for its name.
var (
	stateName         = classad.NewName(pool.AttrState)
	lifetimeName      = classad.NewName(pool.AttrAdLifetime)
	slotWeightName    = classad.NewName(pool.AttrSlotWeight)
	partitionableName = classad.NewName(pool.AttrPartitionable)
)

func hasName(ad *classad.Ad, name *classad.Name) bool {
	_, _, ok := ad.Get(name)
	return ok
}

// textOf returns the text that an attribute is, empty for none.
func (c *cycle) textOf(ad *classad.Ad, name *classad.Name) string {
	v, e, ok := ad.Get(name)
	if ok && e != nil {
		v = ad.Eval(c.eval, name.String(), nil)
	}
	text, _ := v.Text()
	return text
}

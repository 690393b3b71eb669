package negotiator

import (
	"cmp"
	"fmt"
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
	standings          // how many there are
)

// slot is a slot as the cycle sees it.
type slot struct {
	name     string
	ad       *classad.Ad
	weight   accountant.Weight
	standing standing
}

// lookAtSlots fills c.slots, and the plan's Outside with what each submitter holds
// in claims from outside. A slot whose ad has expired does not exist any more; one
// that this version cannot handle is named in a warning.
func (c *cycle) lookAtSlots(p Pool, claims []pool.Claim) {
	ours := map[string]bool{}
	for _, cl := range claims {
		ours[cl.Slot] = true
	}
	until := map[string]time.Time{}
	for _, b := range slices.Concat(p.Backoffs, c.plan.Backoffs) {
		if b.Until.After(until[b.Slot]) {
			until[b.Slot] = b.Until
		}
	}
	c.plan.Outside = map[string]Holding{}
	var faulty faults
	for _, s := range c.usable(p.Slots) {
		sl := slot{name: s.Name, ad: s.Ad, weight: c.weigh(s, &faulty)}
		state, _ := s.Ad.EvalString(c.eval, pool.AttrState)
		switch outside := holder(c.eval, s.Ad, state); {
		case ours[s.Name]:
			sl.standing = claimed
		case outside != "":
			sl.standing = claimed
			name := c.cfg.Params.Groups.Spelled(outside)
			h := c.plan.Outside[name]
			c.plan.Outside[name] = Holding{h.Slots + 1, h.Weight + sl.weight}
		case state != "" && !strings.EqualFold(state, "Unclaimed") && !strings.EqualFold(state, "Matched"):
			sl.standing = elsewhere
		case until[s.Name].After(c.now):
			sl.standing = resting
		default:
			c.plan.Candidates++
		}
		c.slots = append(c.slots, sl)
	}
	if faulty.count > 0 {
		c.warn("%s; %s counted as 1", faulty.first, counted(faulty.count, "1 slot", "%d slots"))
	}
	c.plan.Slots = len(c.slots)
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
		case partitionable(c.eval, s.Ad):
			c.warn("slot %s: partitionable slots are not part of this version", s.Name)
		default:
			use = append(use, s)
		}
	}
	return use
}

// expired says whether an ad with a lifetime has not been renewed in time.
func (c *cycle) expired(ad *classad.Ad) bool {
	life, ok := ad.EvalInt(c.eval, pool.AttrAdLifetime)
	if !ok || life <= 0 {
		return false
	}
	heard, ok := ad.EvalInt(c.eval, pool.AttrLastHeardFrom)
	return ok && heard+life < c.now.Unix()
}

func partitionable(eval *classad.Context, ad *classad.Ad) bool {
	yes, ok := ad.EvalBool(eval, "PartitionableSlot")
	return ok && yes
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
func (c *cycle) weigh(s pool.Slot, faulty *faults) accountant.Weight {
	switch {
	case !c.cfg.UseSlotWeights:
	case s.Ad.Has(pool.AttrSlotWeight):
		w, err := weightOf(pool.AttrSlotWeight, s.Ad.Eval(c.eval, pool.AttrSlotWeight, nil))
		if err == nil {
			return w
		}
		c.warn("slot %s: %v; counted as 1", s.Name, err)
	case c.cfg.SlotWeight != nil:
		value := c.cfg.SlotWeight.Eval(c.eval, s.Ad, nil)
		if value.Kind() == classad.KindUndefined {
			break
		}
		w, err := weightOf("SLOT_WEIGHT", value)
		if err == nil {
			return w
		}
		if faulty.count++; faulty.count == 1 {
			faulty.first = err.Error()
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

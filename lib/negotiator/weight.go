package negotiator

import (
	"fmt"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

var slotWeightName = classad.NewName(pool.AttrSlotWeight)

// WeightIn returns the weight of an ad's slot: its SlotWeight, else SLOT_WEIGHT, One where slots have no
// weights or the ad lacks what SLOT_WEIGHT asks for. An error says that it is One for want of a proper
// one, and own that this is the ad's own fault.
func (c *Config) WeightIn(eval *classad.Context, ad *classad.Ad) (w accountant.Weight, own bool, err error) {
	w = accountant.One
	_, _, own = ad.Get(slotWeightName)
	switch {
	case !c.UseSlotWeights:
		own = false
	case own:
		w, err = weightOf(pool.AttrSlotWeight, ad.Eval(eval, pool.AttrSlotWeight, nil))
	case c.SlotWeight != nil:
		if value := c.SlotWeight.Eval(eval, ad, nil); value.Kind() != classad.KindUndefined {
			w, err = weightOf("SLOT_WEIGHT", value)
		}
	}
	return w, own, err
}

// weightOf returns a value as a weight, One with an error; name is the value's, for the
// error.
func weightOf(name string, value classad.Value) (accountant.Weight, error) {
	n, ok := value.Number()
	if !ok {
		return accountant.One, fmt.Errorf("%s is %s: want a number", name, value)
	}
	w, err := accountant.WeightOf(n)
	if err != nil {
		return accountant.One, fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}

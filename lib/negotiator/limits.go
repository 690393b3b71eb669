package negotiator

import (
	"math"

	"fairspool/lib/accountant"
)

// room returns how much more weight the submitter's ceiling lets it use.
func (s *submitter) room() float64 {
	if !s.ceiling.Set {
		return math.Inf(1)
	}
	return float64(s.ceiling.Slots) - s.usage.Float()
}

// leftWithin says whether any slot that matches is free and weighs at most
// room.
func (k *autocluster) leftWithin(room float64) bool {
	for _, b := range k.bundles {
		if b.left > 0 && fits(b.weight, room) {
			return true
		}
	}
	return false
}

// raise gives slots to those who use less than their floor, before shares count
// for anything: always one to the submitter whose use is the smallest part of
// its share, until each has its floor or can use nothing that is left. A slot that is
// heavier than what is missing is given all the same.
func (c *cycle) raise() {
	for {
		var poorest *submitter
		for _, s := range c.submitters {
			if s.usage.Float() < float64(s.floor) && s.hungry() && (poorest == nil || s.stake() < poorest.stake()) {
				poorest = s
			}
		}
		if poorest == nil || c.turn(poorest, math.Inf(1), 1) == 0 {
			return
		}
	}
}

// stake is what the submitter uses in proportion to what it is entitled to.
func (s *submitter) stake() float64 { return s.usage.Float() * s.eup }

// total returns the weight of all slots of the pool.
func (c *cycle) total() (sum accountant.Weight) {
	for _, s := range c.slots {
		sum += s.weight
	}
	return sum
}

package operation

import (
	"math"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// SGEWorld returns what Grid Engine's priorities are reckoned with: usage if there is a share
// tree that gives tickets, and the free slots.
func SGEWorld(cfg *config.Config, from Sources) sge.World {
	c := &cfg.SGE
	w := sge.World{Now: from.Now, FreeSlots: freeSlots(from.Slots(), from.Claims())}
	if c.TicketsShare > 0 && c.Tree != nil {
		w.Used = sge.UsedOf(from.Tallies(), cfg.Decay, from.Now)
	}
	return w
}

// freeSlots returns how many slots of the pool are free. A partitionable slot counts as many
// as it has free processors, any other as one. What others hold, by the slot's own words, is
// not free, nor is what is drained.
func freeSlots(slots []pool.Slot, claims []pool.Claim) (n int64) {
	taken, pieces := map[string]bool{}, map[string][]pool.Resources{}
	for _, c := range claims {
		taken[c.Slot] = true
		if c.Piece.Of != "" && c.State != pool.Promised { // whose piece is the one that is being vacated
			pieces[c.Piece.Of] = append(pieces[c.Piece.Of], c.Piece.Takes)
		}
	}
	eval := &classad.Context{}
	for _, s := range slots {
		switch {
		case taken[s.Name] || !negotiator.Vacant(eval, s.Ad):
		case pool.Partitionable(eval, s.Ad):
			n += int64(min(amountOf(eval, pool.Left(eval, s.Ad, pieces[s.Name]), pool.AttrCpus), math.MaxInt32))
		default:
			n++
		}
	}
	return n
}

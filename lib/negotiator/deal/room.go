package deal

import (
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// room is memory that a cycle uses as long as it runs. The next cycle with the same Learned writes over it.
type room struct {
	slots   []Slot
	single  []*pool.Claim
	on      [][]*pool.Claim
	running []running
	runs    []Run
	shapes  []*shapes.Slot
	ads     []*classad.Ad
	some    []jobprio.Run
	jobs    []jobprio.Job
}

// room returns the room of the last cycle, or a new one.
func (c *common) room() *room {
	if c.learned == nil {
		return &room{}
	}
	r, made := c.learned.Room.(*room)
	if !made {
		r = &room{}
		c.learned.Room = r
	}
	return r
}

// claimsBy returns the claims on each of the slots whose places are known. A claim on a piece is one on the partitionable slot,
// and on a slot that is advertised under the dynamic one's name.
func (r *room) claimsBy(places map[string]int, claims []pool.Claim) [][]*pool.Claim {
	on := slices.Grow(r.on[:0], len(places))[:len(places)]
	clear(on)
	single := slices.Grow(r.single[:0], len(claims)) // most slots have one
	r.on, r.single = on, single
	for i := range claims {
		cl := &claims[i]
		single = append(single, cl)
		if at, there := places[cl.SlotAd()]; there && on[at] != nil {
			on[at] = append(on[at], cl)
		} else if there {
			on[at] = single[i : i+1 : i+1]
		}
		if at, there := places[cl.Slot]; there && cl.Piece.Of != "" {
			on[at] = append(on[at], pieceAsSlot(cl))
		}
	}
	return on
}

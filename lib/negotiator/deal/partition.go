package deal

import (
	"fairspool/lib/accountant"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// pieceWeight returns the weight of a dynamic slot: that of its own ad.
func (c *arrangement) pieceWeight(root *Group, takes pool.Resources) accountant.Weight {
	key := piece{root, takes}
	w, ok := c.pieces[key]
	if !ok {
		w = c.weighPart(pool.DynamicAd(root.Ad, "", takes))
		c.pieces[key] = w
	}
	return w
}

// piece is a part of a slot of a group.
type piece struct {
	root  *Group
	takes pool.Resources
}

// divide takes a piece off a slot that has just been taken out of a class, and
// puts what is left into the class where it belongs now.
func (c *offers) divide(at int, from *class, q *shapes.Request) pool.Resources {
	take, clipped := q.From(from.group.Left)
	takes, number := q.Takes, q.Number
	if clipped {
		takes, number = c.Text(take), -1
	}
	next := from.after[number]
	if next == nil {
		ad := pool.Left(c.Eval, from.Ad, []pool.Resources{takes})
		next = c.classOf(ad, from.group.Weight, true, from.Begun || c.Config.DepthFirst)
		if g := next.group; g.bundle == nil {
			g.root, g.bundle = from.group.root, from.group.bundle
			g.bundle.groups = append(g.bundle.groups, g)
		}
		if !clipped {
			if from.after == nil {
				from.after = map[int]*class{}
			}
			from.after[number] = next
		}
	}
	c.arrive(at, next)
	return takes
}

// arrive makes a slot a candidate of a class during the cycle.
func (c *offers) arrive(at int, k *class) {
	g := k.group
	c.Slots[at].Now = g
	k.Free.Push(slotIndex(at))
	g.free++
	g.arrivals = append(g.arrivals, k)
	g.event = len(c.events)
	c.events = append(c.events, g)
}

// dynamicName returns a name for the next piece of a slot that no slot has.
func (c *inventory) dynamicName(at int) string {
	s := &c.Slots[at]
	for {
		s.pieces++
		name := pool.DynamicName(s.Name, s.pieces)
		if !c.named[name] {
			c.named[name] = true
			return name
		}
	}
}

// takes returns what the jobs of k take of a partitionable slot of the group.
func (c *arrangement) takes(k *Autocluster, g *Group) pool.Resources {
	if take, clipped := k.Request.From(g.Left); clipped {
		return c.Text(take)
	}
	return k.Request.Takes
}

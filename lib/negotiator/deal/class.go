package deal

import (
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/heap"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// Group is a group of slots, and what becomes of these.
type Group struct {
	*shapes.Group
	root    *Group  // where the slots were when the cycle began
	counts  counts  // all slots that began here
	whole   int     // partitionable slots that would be here, were nothing taken
	bundle  *bundle // nil: no job can use a slot of the group
	classes []*class
	tenants []*tenants // of its running slots
	// arrivals are the classes of the group that got slots, in that order: each
	// once when the cycle begins.
	arrivals []*class
	event    int               // its last place in the cycle's events
	free     int               // slots of its classes
	running  accountant.Weight // what its running slots count that may be preempted
	Takers   map[*Submitter]take
}

// take is a number of slots that a submitter took in this cycle.
type take struct {
	all    int
	ByRank int // taken for their rank, while others were left that would have come first
}

// class is a class of slots, with its free ones.
type class struct {
	*shapes.Class
	group *Group
	free  heap.Heap[slotIndex, *slotIndex] // candidates left, as indices of slots, the first in front
	after map[int]*class
}

// counts is a number of slots by standing.
type counts [Standings]int

func (n counts) total() int {
	sum := 0
	for _, k := range n {
		sum += k
	}
	return sum
}

// classOf returns the class of slots with such an ad.
func (c *arrangement) classOf(ad *classad.Ad, weight accountant.Weight, divisible, begun bool) *class {
	return c.classBy(c.Shapes.ClassOf(ad, weight, divisible, begun))
}

// classBy returns what becomes of a class.
func (c *arrangement) classBy(k *shapes.Class) *class {
	if g := k.Group; g.Number == len(c.Groups) {
		c.Groups = append(c.Groups, &Group{Group: g})
		c.Groups[g.Number].root = c.Groups[g.Number]
	}
	if k.Number == len(c.classes) {
		g := c.Groups[k.Group.Number]
		c.classes = append(c.classes, &class{Class: k, group: g})
		g.classes = append(g.classes, c.classes[k.Number])
	}
	return c.classes[k.Number]
}

// settle puts a slot into its class when the cycle begins.
func (c *arrangement) settle(i int, k *class) {
	s := &c.Slots[i]
	s.Group, s.Now = k.group, k.group
	s.Group.counts[s.Standing]++
	if s.Standing != Free {
		return
	}
	if s.Now.Left == nil || s.Now.Left[0] > 0 {
		c.Plan.Candidates++
	}
	if len(k.free) == 0 {
		k.group.arrivals = append(k.group.arrivals, k)
	}
	k.free = append(k.free, slotIndex(i))
	k.group.free++
}

// slotIndex is the index of a slot in the cycle's list.
type slotIndex int

func (i *slotIndex) Before(j *slotIndex) bool { return *i < *j }

// pieceWeight returns the weight of a dynamic slot, by its own ad.
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

// divide takes a piece off a slot that has just been taken out of a class, and puts the
// rest of the slot into its new class.
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
	k.free.Push(slotIndex(at))
	g.free++
	g.arrivals = append(g.arrivals, k)
	g.event = len(c.events)
	c.events = append(c.events, g)
}

// dynamicName returns a name for the next piece of a slot that no slot has.
func (c *inventory) dynamicName(at int) string {
	if c.named == nil {
		c.findNames()
	}
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

// findNames notes the names of slots and of what claims have.
func (c *inventory) findNames() {
	c.named = make(map[string]bool, len(c.Slots)+len(c.claims))
	for i := range c.Slots {
		c.named[c.Slots[i].Name] = true
	}
	for _, s := range c.Excluded {
		c.named[s.Name] = true
	}
	for i := range c.claims {
		c.named[c.claims[i].Slot] = true
	}
}

// takes returns the resources of a partitionable slot of the group that a job of k takes.
func (c *arrangement) takes(k *Autocluster, g *Group) pool.Resources {
	if take, clipped := k.Request.From(g.Left); clipped {
		return c.Text(take)
	}
	return k.Request.Takes
}

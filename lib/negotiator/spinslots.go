package negotiator

import (
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Attributes of slots that only spins look at.
const (
	consumptionPolicy = "consumptionpolicy"
	consumptionOf     = "consumption" // and the name of a resource
	machineResources  = "machineresources"
)

// spinCosts remembers what spins found out about groups of partitionable slots.
type spinCosts struct {
	several map[*group]bool // by group when the cycle began
	costs   map[spinCost]accountant.Weight
	least   float64 // weight of the lightest slot
	usage   map[*submitter]accountant.Weight
}

// spinCost names what a request costs in a group.
type spinCost struct {
	group   *group
	request int
}

// cost returns what a match with a slot of the group counts against limits: what
// it is charged, but in spins a partitionable slot counts as a whole, unless it
// serves several jobs in a cycle; then what its weight sinks by.
func (k *autocluster) cost(c *cycle, g *group) accountant.Weight {
	if g.left == nil || c.cfg.Pie != Spins {
		return k.weight(c, g)
	}
	key := spinCost{g, -1}
	if c.consumes(g) {
		key.request = k.request.number
	}
	w, known := c.spins.costs[key]
	if !known {
		w = c.weighPart(g.ad)
		if key.request >= 0 {
			rest := c.weighPart(pool.Left(c.eval, g.ad, []pool.Resources{k.takes(c, g)}))
			w = max(0, w-rest)
		}
		if c.spins.costs == nil {
			c.spins.costs = map[spinCost]accountant.Weight{}
		}
		c.spins.costs[key] = w
	}
	return w
}

// takes returns what the jobs of k take of a partitionable slot of the group.
func (k *autocluster) takes(c *cycle, g *group) pool.Resources {
	if take, clipped := k.request.from(g.left); clipped {
		return c.text(take)
	}
	return k.request.takes
}

// consumes reports whether partitionable slots of the group serve several jobs in one
// cycle of spins: those with a consumption policy. Their ads say so, or have as
// HTCondor's a Consumption attribute for each of their MachineResources.
func (c *cycle) consumes(g *group) bool {
	yes, known := c.spins.several[g.root]
	if !known {
		yes = g.root.ad.Eval(c.eval, consumptionPolicy, nil).True() || c.hasPolicy(g.root.ad)
		if c.spins.several == nil {
			c.spins.several = map[*group]bool{}
		}
		c.spins.several[g.root] = yes
	}
	return yes
}

func (c *cycle) hasPolicy(ad *classad.Ad) bool {
	text, ok := ad.EvalString(c.eval, machineResources)
	if !ok {
		return false
	}
	for _, name := range strings.FieldsFunc(text, isBetweenDemands) {
		if !strings.EqualFold(name, "swap") && !ad.Has(consumptionOf+name) {
			return false
		}
	}
	return true
}

// consumptionNames are the slots' attributes that spins tell partitionable slots
// apart by.
func (c *cycle) consumptionNames() []string {
	if c.cfg.Pie != Spins {
		return nil
	}
	names := []string{consumptionPolicy, machineResources}
	for _, r := range c.resources {
		names = append(names, consumptionOf+strings.ToLower(r.name))
	}
	return names
}

// once reports whether a match takes a partitionable slot of the group out of the cycle.
func (c *cycle) once(g *group) bool { return c.cfg.Pie == Spins && !c.consumes(g) }

// leastWeight returns the weight of the lightest slot, where a partitionable slot
// with pieces is several: these, and what is left.
func (c *cycle) leastWeight() float64 {
	var least accountant.Weight
	any := false
	see := func(w accountant.Weight) {
		if !any || w < least {
			least, any = w, true
		}
	}
	for i := range c.slots {
		s := &c.slots[i]
		claims := c.ours[s.name]
		if s.whole == nil || len(claims) == 0 {
			see(s.weight)
			continue
		}
		for _, cl := range claims {
			see(cl.Weight)
		}
		if w := c.weighPart(s.ad); w > 0 {
			see(w)
		}
	}
	return least.Float()
}

// piecesOf returns how many dynamic slots claims of this pool have made of a slot.
func (c *cycle) piecesOf(s *slot) int {
	if s.whole == nil {
		return 0
	}
	names := map[string]bool{} // one that is promised to a job has another claim still
	for _, cl := range c.ours[s.name] {
		if cl.Piece.Of != "" {
			names[cl.Slot] = true
		}
	}
	return len(names)
}

// lookedAt returns how many slots the size of the pool counts, pieces of partitionable ones
// among them, and how many of all are looked at for matches: none that are claimed if
// preemption is not considered, else all whose jobs have no time to retire left, or are to
// be looked at early.
func (c *cycle) lookedAt() (all, slots int) {
	for i := range c.slots {
		s := &c.slots[i]
		pieces := c.piecesOf(s)
		if s.counted {
			all += 1 + pieces
		}
		if c.cfg.Preemption.Consider && !c.retires(s.ad) {
			slots += pieces
		}
		switch {
		case s.standing != claimed:
			slots++
		case c.cfg.Preemption.Consider && !c.retires(s.ad), !c.cfg.Preemption.Consider && s.whole != nil:
			slots++
		}
	}
	return all, slots
}

// pendingFor returns who waits for a slot that is claimed outside, and whom HTCondor's
// negotiator takes for its holder: empty for nobody.
func (c *cycle) pendingFor(s *slot) string {
	if c.cfg.Pie != Spins || !c.cfg.Preemption.Consider || s.standing != claimed || len(c.ours[s.name]) > 0 {
		return ""
	}
	for _, name := range []string{preemptingGroup, pool.AttrPreemptingUser} {
		if who, ok := s.ad.EvalString(c.eval, name); ok {
			return c.cfg.Params.Groups.Spelled(who)
		}
	}
	return ""
}

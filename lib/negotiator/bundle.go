package negotiator

import (
	"encoding/binary"
	"slices"

	"fairspool/lib/accountant"
)

// bundle is the candidates that the same clusters can use and that weigh the
// same: what shares have to tell apart. Partitionable slots stay in the bundle in
// which they began the cycle.
type bundle struct {
	weight    accountant.Weight // of each static slot
	divisible bool              // partitionable slots
	groups    []*group
	left      int // static slots not matched by now
	sought    int // how many clusters can use them

	contention
	stock
}

// bundleUp gathers the groups into bundles and gives each cluster those it
// can use.
func (c *cycle) bundleUp() {
	type kind struct {
		users     string // the numbers of the clusters, four bytes each
		weight    accountant.Weight
		divisible bool
	}
	users := c.users()
	known, sets := map[kind]*bundle{}, map[string]bool{}
	for _, g := range c.groups {
		who := users[g.number]
		if len(who) == 0 || g.free == 0 && g.counts[reserved] == 0 {
			continue
		}
		sets[string(who)] = true
		key := kind{string(who), g.weight, g.left != nil}
		if key.divisible {
			key.weight = 0
		}
		b := known[key]
		if b == nil {
			b = &bundle{weight: key.weight, divisible: key.divisible, sought: len(who) / 4}
			known[key] = b
			c.bundles = append(c.bundles, b)
			for ; len(who) > 0; who = who[4:] {
				k := c.clusters[binary.LittleEndian.Uint32(who)]
				k.bundles = append(k.bundles, b)
			}
		}
		b.groups = append(b.groups, g)
		if !b.divisible {
			b.left += g.free
		}
		c.played = c.played || b.divisible
		g.bundle = b
	}
	c.played = c.played || len(sets) > 1
}

// users returns, by group, the numbers of the clusters that can use it. Those that
// are not offered use nothing.
func (c *cycle) users() [][]byte {
	users := make([][]byte, len(c.groups))
	for _, k := range c.clusters {
		if k.barred {
			continue
		}
		for number, v := range k.verdicts {
			if v == accepts {
				users[number] = binary.LittleEndian.AppendUint32(users[number], uint32(k.number))
			}
		}
	}
	return users
}

// supply is what the slots left are worth to the jobs of an autocluster.
type supply struct {
	heaviest, all float64 // weight of the heaviest match, and of all that fit beside each other
}

// supply returns what the bundle is worth to the jobs of k.
func (b *bundle) supply(c *cycle, k *autocluster) (s supply) {
	if !b.divisible {
		if b.left > 0 {
			s.heaviest, s.all = b.weight.Float(), float64(b.left)*b.weight.Float()
		}
		return s
	}
	for _, g := range b.groups {
		if g.free == 0 || !k.request.fits(g.left) || len(c.tenants) > 0 && k.verdict(c, g) != accepts {
			continue // whom to preempt must not depend on what nobody can take
		}
		w := k.weight(c, g).Float()
		s.heaviest = max(s.heaviest, w)
		s.all += w * float64(g.free) * float64(k.request.times(g.left))
	}
	return s
}

// supply returns what all slots left are worth to the jobs of k.
func (c *cycle) supply(k *autocluster) supply {
	if k.supplied != c.moves {
		k.supplied, k.worth = c.moves, supply{}
		for _, b := range k.bundles {
			s := b.supply(c, k)
			k.worth.heaviest = max(k.worth.heaviest, s.heaviest)
			k.worth.all += s.all
		}
	}
	return k.worth
}

// any reports whether any slot of the bundle is left.
func (b *bundle) any() bool {
	return b.left > 0 || b.divisible && slices.ContainsFunc(b.groups, func(g *group) bool { return g.free > 0 })
}

package deal

import (
	"cmp"
	"math"
	"slices"
)

// contention tells how much a bundle is in demand, and so when its slots are
// taken where ranks leave the choice.
type contention struct {
	load  float64    // part of its slots that the tier's submitters are expected to take
	users int        // how many submitters of the tier have jobs that can use them
	last  *Submitter // who was counted last in users
	place int        // in the order of taking; the same for what is equal
}

// contend puts the bundles in the order in which a tier takes them where
// ranks leave the choice: first what is least in demand, so that nobody takes
// what others have nothing besides.
//
// Each submitter is expected to spread its share, as if all slots were good
// for all, evenly over the slots that its jobs can use. So slots that fewer
// submitters can use than others come first, but those that one has nothing
// besides come after those that two have for one of many. In one queue, where there are
// no shares, it is expected to spread all that it wants.
func (c *entitlement) contend(tier []*Submitter) {
	for _, b := range c.bundles {
		b.contention = contention{}
	}
	if c.played {
		c.expect(tier)
	}
	less := func(a, b *bundle) int {
		return cmp.Or(cmp.Compare(a.load, b.load), cmp.Compare(a.users, b.users), cmp.Compare(a.sought, b.sought))
	}
	sorted := slices.Clone(c.bundles)
	slices.SortStableFunc(sorted, less)
	for i, b := range sorted {
		b.place = i
		if i > 0 && less(sorted[i-1], b) == 0 {
			b.place = sorted[i-1].place
		}
	}
	for _, k := range c.Clusters {
		slices.SortStableFunc(k.bundles, func(a, b *bundle) int { return cmp.Compare(a.place, b.place) })
	}
	c.round++
}

// expect adds up what the submitters of a tier are expected to take of each
// bundle.
func (c *entitlement) expect(tier []*Submitter) {
	total := c.freeWeight()
	for _, s := range tier {
		total += s.Usage.Float()
	}
	targets := c.Divide(total, tier, func(_ int, s *Submitter) (usage, demand float64) { return s.Usage.Float(), c.wants(s) })
	for i, target := range targets {
		s := tier[i]
		share := target - s.Usage.Float()
		if c.OneQueue != nil {
			share = math.Inf(1)
		}
		for _, q := range s.Queues {
			part := math.Min(share, c.queueWants(q))
			share -= part
			c.spread(s, q.Cluster, part)
		}
	}
	for _, b := range c.bundles {
		b.load = math.Round(b.load*1e6) / 1e6 // what is meant to be equal is
	}
}

// spread adds part, a slot weight, to the loads of all bundles that k can use.
func (c *entitlement) spread(s *Submitter, k *Autocluster, part float64) {
	all := c.supply(k).all
	for _, b := range k.bundles {
		if all > 0 {
			b.load += part / all
		}
		if b.last != s {
			b.last = s
			b.users++
		}
	}
}

// freeWeight is the weight of what is left of all candidates that anybody can use.
func (c *entitlement) freeWeight() (sum float64) {
	for _, b := range c.bundles {
		if !b.divisible {
			sum += float64(b.left) * b.weight.Float()
			continue
		}
		for _, g := range b.groups {
			if g.free > 0 {
				sum += float64(g.free) * c.pieceWeight(g.root, c.Text(g.Left)).Float()
			}
		}
	}
	return sum
}

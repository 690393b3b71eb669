package negotiator

import (
	"encoding/binary"

	"fairspool/lib/accountant"
)

// bundle is the candidates that the same clusters can use and that weigh the
// same: what shares have to tell apart.
type bundle struct {
	weight accountant.Weight
	left   int // slots not matched by now
	sought int // how many clusters can use them
	spare  int // left, as the forecast goes
	takers map[*submitter]take

	contention
}

// take is a number of slots that a submitter took in this cycle.
type take struct {
	all    int
	byRank int // those of all that it took for their rank, while others were left that would have come first
}

// bundleUp gathers the classes into bundles and gives each cluster those it
// can use. users holds, by group of slots, the numbers of the clusters that
// can use it, four bytes each.
func (c *cycle) bundleUp(users [][]byte) {
	sets := map[string]int{} // numbers of the different sets of users
	set := make([]int, len(users))
	for group, u := range users {
		if _, ok := sets[string(u)]; !ok {
			sets[string(u)] = len(sets)
		}
		set[group] = sets[string(u)]
	}
	type kind struct {
		set    int
		weight accountant.Weight
	}
	known, used := map[kind]*bundle{}, map[int]bool{}
	for _, class := range c.classes {
		who := users[class.group]
		if len(who) == 0 || class.left() == 0 {
			continue
		}
		used[set[class.group]] = true
		key := kind{set[class.group], class.weight}
		b := known[key]
		if b == nil {
			b = &bundle{weight: class.weight, sought: len(who) / 4}
			known[key] = b
			c.bundles = append(c.bundles, b)
			for ; len(who) > 0; who = who[4:] {
				k := c.clusters[binary.LittleEndian.Uint32(who)]
				k.bundles = append(k.bundles, b)
			}
		}
		b.left += class.left()
		class.bundle = b
	}
	c.contended = len(used) > 1
}

// goes counts a slot that a submitter took.
func (b *bundle) goes(to *submitter, byRank bool) {
	if b.takers == nil {
		b.takers = map[*submitter]take{}
	}
	t := b.takers[to]
	t.all++
	if byRank {
		t.byRank++
	}
	b.takers[to] = t
}

// all returns the weight of the slots left.
func (b *bundle) all() float64 { return float64(b.left) * b.weight.Float() }

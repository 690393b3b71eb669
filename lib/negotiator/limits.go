package negotiator

import (
	"container/heap"
	"math"
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
	var line poor
	for i, s := range c.submitters {
		if s.short() {
			line = append(line, needy{s, i})
		}
	}
	heap.Init(&line)
	for len(line) > 0 {
		if s := line[0].submitter; s.short() && s.hungry() && c.turn(s, math.Inf(1), 1) > 0 {
			heap.Fix(&line, 0)
		} else {
			heap.Pop(&line)
		}
	}
}

// short tells whether the submitter uses less than its floor.
func (s *submitter) short() bool { return s.usage.Float() < float64(s.floor) }

// needy is a submitter below its floor, and its place in the order of negotiation.
type needy struct {
	*submitter
	number int
}

// poor is a heap, of which the first is the one with the smallest stake.
type poor []needy

func (l poor) Len() int { return len(l) }
func (l poor) Less(i, j int) bool {
	if a, b := l[i].stake(), l[j].stake(); a != b {
		return a < b
	}
	return l[i].number < l[j].number
}
func (l poor) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *poor) Push(x any)   { *l = append(*l, x.(needy)) }
func (l *poor) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	*l = (*l)[:last]
	return x
}

// stake is what the submitter uses in proportion to what it is entitled to.
func (s *submitter) stake() float64 { return s.usage.Float() * s.eup }

package negotiator

import (
	"math"

	"fairspool/lib/heap"
)

// room returns how much more weight the submitter's ceiling lets it use.
func (s *submitter) room() float64 {
	if !s.ceiling.Set {
		return math.Inf(1)
	}
	return float64(s.ceiling.Slots) - s.usage.Float()
}

// raise gives slots to those who use less than their floor, before shares count
// for anything: always one to the submitter whose use is the smallest part of
// its share, until each has its floor or can use nothing that is left. A slot that is
// heavier than what is missing is given all the same.
func (c *cycle) raise() {
	var line heap.Heap[needy, *needy]
	for i, s := range c.submitters {
		if s.short() {
			line = append(line, needy{s, i})
		}
	}
	line.Heapify()
	all := everybody(c.submitters)
	for len(line) > 0 {
		if s := line[0].submitter; s.short() && c.turn(all, s, math.Inf(1), 1) > 0 {
			line.Fix()
		} else {
			line.Pop()
		}
	}
}

// short reports whether the submitter uses less than its floor.
func (s *submitter) short() bool { return s.usage.Float() < float64(s.floor) }

// needy is a submitter below its floor, and its place in the order of negotiation.
type needy struct {
	*submitter
	number int
}

func (a *needy) Before(b *needy) bool {
	if x, y := a.stake(), b.stake(); x != y {
		return x < y
	}
	return a.number < b.number
}

// stake is what the submitter uses in proportion to what it is entitled to.
func (s *submitter) stake() float64 { return s.usage.Float() * s.eup }

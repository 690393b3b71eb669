package negotiator

import (
	"container/heap"
	"math"

	"fairspool/lib/accountant"
)

// outlook is what the shares are computed from: how much of the free slots
// can be put to use at all, and how much each submitter wants of them.
type outlook struct {
	usable accountant.Weight
	wants  []float64 // by submitter of the tier
}

// look returns the tier's outlook as of now. A submitter wants what its jobs could
// use if there was nobody else. Where some slots are good only for the jobs of
// some, that is too simple: two who both need the few large machines would
// count on more of them than there are. So the fair division is then played
// through, and who runs out of slots before others do wants what it got.
func (c *cycle) look(tier []*submitter) outlook {
	o := outlook{wants: make([]float64, len(tier))}
	for i, s := range tier {
		o.wants[i] = s.wants()
	}
	if c.contended {
		c.forecast(tier, &o)
		return o
	}
	for _, b := range c.bundles {
		o.usable += accountant.Weight(b.left) * b.weight
	}
	return o
}

// wants returns the weight that the submitter's jobs could use, within its
// ceiling, if there was nobody else.
func (s *submitter) wants() (sum float64) {
	for _, q := range s.queues {
		sum += q.wants()
	}
	return math.Min(sum, math.Max(0, s.room()))
}

// wants returns the weight that the queue's jobs could use if there was
// nobody else.
func (q *queue) wants() float64 {
	var heaviest, all accountant.Weight
	for _, b := range q.cluster.bundles {
		if b.left > 0 {
			heaviest = max(heaviest, b.weight)
			all += accountant.Weight(b.left) * b.weight
		}
	}
	return math.Min(float64(q.left)*heaviest.Float(), all.Float())
}

// forecast deals out the slots left one by one, each to the submitter that is
// furthest behind, taking first what the fewest others could use. It moves
// nothing: which slot a job gets in the end is a matter of ranks.
func (c *cycle) forecast(tier []*submitter, o *outlook) {
	for _, b := range c.bundles {
		b.spare = b.left
	}
	var line seats
	for i, s := range tier {
		if s.hungry() {
			line = append(line, newSeat(i, s))
		}
	}
	heap.Init(&line)
	dealt := 0
	ended := map[int]int{} // by submitter: how many slots were dealt before its end
	got := make([]accountant.Weight, len(tier))
	for len(line) > 0 {
		seat := line[0]
		b := seat.draw()
		if b == nil {
			heap.Pop(&line)
			ended[seat.number] = dealt
			continue
		}
		b.spare--
		dealt++
		got[seat.number] += b.weight
		o.usable += b.weight
		seat.usage += b.weight
		seat.advance(b.weight)
		heap.Fix(&line, 0)
	}
	for i, at := range ended {
		if at < dealt {
			o.wants[i] = got[i].Float()
		}
	}
}

// seat is a submitter's place in the forecast.
type seat struct {
	number int
	eup    float64
	usage  accountant.Weight
	most   float64 // what the ceiling allows
	queues []*queue
	left   int // jobs left in queues[0]
	behind float64
}

func newSeat(number int, s *submitter) *seat {
	t := &seat{number: number, eup: s.eup, usage: s.usage, most: s.usage.Float() + s.room(), queues: s.queues, left: s.queues[0].left}
	t.advance(accountant.One)
	return t
}

// advance computes how far the submitter would be with half of another slot
// like the last: rounding to the nearest whole slot.
func (t *seat) advance(w accountant.Weight) { t.behind = (t.usage.Float() + w.Float()/2) * t.eup }

// draw returns the bundle that the next job takes a slot of, nil when there
// is none.
func (t *seat) draw() *bundle {
	for {
		if t.left > 0 {
			for _, b := range t.queues[0].cluster.bundles {
				if b.spare > 0 && fits(b.weight, t.most-t.usage.Float()) {
					t.left--
					return b
				}
			}
		}
		if len(t.queues) == 1 {
			t.left = 0
			return nil
		}
		t.queues = t.queues[1:]
		t.left = t.queues[0].left
	}
}

type seats []*seat

func (l seats) Len() int { return len(l) }
func (l seats) Less(i, j int) bool {
	if l[i].behind != l[j].behind {
		return l[i].behind < l[j].behind
	}
	return l[i].number < l[j].number
}
func (l seats) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *seats) Push(x any)   { *l = append(*l, x.(*seat)) }
func (l *seats) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	*l = (*l)[:last]
	return x
}

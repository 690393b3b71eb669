package negotiator

import (
	"encoding/binary"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// class is a set of slots that are equal in everything that any match or
// rank of this cycle refers to: what one evaluates to, all do.
type class struct {
	ad     *classad.Ad
	weight accountant.Weight
	group  int    // slots of one group accept, and are accepted by, the same jobs
	free   []int  // indices of the candidates, in natural order of their names
	taken  int    // how many of free, from the front, are matched by now
	counts counts // all slots of the class
	bundle *bundle
}

// counts is a number of slots by standing.
type counts [standings]int

func (n counts) total() int {
	sum := 0
	for _, k := range n {
		sum += k
	}
	return sum
}

func (n *counts) add(m counts) {
	for i, k := range m {
		n[i] += k
	}
}

// left returns how many slots of the class can still be matched.
func (k *class) left() int { return len(k.free) - k.taken }

// classify divides the slots into classes, and the classes into groups that
// the match alone cannot tell apart, by the attributes that matter. It
// returns the number of groups.
func (c *cycle) classify(lex *lexicon, all, match sides) int {
	known, groups := map[string]*class{}, map[string]int{}
	var key []byte
	for i := range c.slots {
		s := &c.slots[i]
		key = binary.LittleEndian.AppendUint64(key[:0], uint64(s.weight))
		key = lex.signature(key, s.ad, all.slot)
		k := known[string(key)]
		if k == nil {
			k = &class{ad: s.ad, weight: s.weight}
			known[string(key)] = k
			c.classes = append(c.classes, k)
			key = lex.signature(key[:0], s.ad, match.slot)
			group, ok := groups[string(key)]
			if !ok {
				group = len(groups)
				groups[string(key)] = group
			}
			k.group = group
		}
		k.counts[s.standing]++
		if s.standing == free {
			k.free = append(k.free, i)
		}
	}
	return len(groups)
}

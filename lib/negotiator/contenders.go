package negotiator

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// contender is one who has slots that match, or waits for the nearest.
type contender struct {
	who        int // place in people
	slots, got int
	byRank     int
	waits      int
	first      int // the turn of the first of those that wait, with a Config.Queue
	place      int // and its place
	*submitter
}

// gather returns who has slots that match jobs of k, or waits for the nearest.
func (d *diagnosis) gather(k *autocluster, n *nearest) (list []contender) {
	if len(d.sheet) < len(d.people) {
		d.sheet = make([]contender, len(d.people))
	}
	touched := 0
	of := func(who int) *contender {
		x := &d.sheet[who]
		if x.submitter == nil {
			x.who, x.submitter, x.first = who, d.people[who], math.MaxInt
			touched++
		}
		return x
	}
	for number, held := range d.held {
		if len(held) == 0 || number >= len(k.verdicts) || k.verdicts[number] != accepts {
			continue
		}
		for _, h := range held {
			x := of(h.who)
			x.slots += h.before + h.got
			x.got += h.got
			x.byRank += h.byRank
		}
	}
	for _, w := range d.waiting(n) {
		x := of(w.who)
		x.waits, x.first, x.place = w.jobs, w.first, w.place
	}
	// People are in the order of the cycle.
	list = make([]contender, 0, touched)
	for who := range d.sheet {
		if x := &d.sheet[who]; x.submitter != nil {
			list = append(list, *x)
			*x = contender{}
		}
	}
	return list
}

// field is the contenders of autoclusters that match the same slots that anybody has, and
// have the same nearest: what is the same for thousands of shapes is found out once.
type field struct {
	list        []contender // in the order of the cycle or the queue, but for those in nobody's way
	byEUP       []contender // the same, nice users last, by EUP and name
	got, byRank spoils
	// What the analysis says of them.
	ahead                  []Contender
	holders                []SlotHolder
	moreAhead, moreHolders int
}

// fieldOf returns the contenders for jobs of k.
func (d *diagnosis) fieldOf(k *autocluster, n *nearest) *field {
	var key []byte
	for number, held := range d.held {
		if len(held) > 0 && number < len(k.verdicts) && k.verdicts[number] == accepts {
			key = binary.AppendUvarint(key, uint64(number+1))
		}
	}
	key = append(append(key, 0), d.caseOf(n)...)
	f := d.fields[string(key)]
	if f == nil {
		f = newField(d.gather(k, n), len(d.c.submitters))
		d.fields[string(key)] = f
	}
	return f
}

// newField sums up contenders. Who only has jobs that are told to vacate, behind so many
// submitters, holds slots and is in nobody's way.
func newField(all []contender, submitters int) *field {
	end := slices.IndexFunc(all, func(x contender) bool { return x.who >= submitters })
	if end < 0 {
		end = len(all)
	}
	f := &field{list: slices.Clone(all[:end]), byEUP: slices.Clone(all[:end])}
	slices.SortStableFunc(f.list, func(a, b contender) int { return cmp.Compare(a.first, b.first) })
	slices.SortFunc(f.byEUP, func(a, b contender) int {
		return cmp.Or(inTurn(a.submitter, b.submitter), strings.Compare(a.name, b.name))
	})
	f.got = spoilsOf(f.list, func(x *contender) int { return x.got })
	f.byRank = spoilsOf(f.list, func(x *contender) int { return x.byRank })
	for _, x := range f.list[:min(end, mostAhead)] {
		f.ahead = append(f.ahead, Contender{x.name, x.eup, x.slots, x.waits, x.place})
	}
	f.moreAhead = end - len(f.ahead)
	f.nameHolders(all)
	return f
}

// inTurn compares submitters by who comes first in negotiation.
func inTurn(a, b *submitter) int { return cmp.Or(niceLast(a, b), cmp.Compare(a.eup, b.eup)) }

// nameHolders names those who hold the most.
func (f *field) nameHolders(all []contender) {
	var most []contender
	for _, x := range all {
		if x.slots == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(most, x, func(a, b contender) int {
			return cmp.Or(cmp.Compare(b.slots, a.slots), strings.Compare(a.name, b.name))
		})
		if at == mostHolders {
			f.moreHolders++
			continue
		}
		if most = slices.Insert(most, at, x); len(most) > mostHolders {
			most = most[:mostHolders]
			f.moreHolders++
		}
	}
	for _, x := range most {
		f.holders = append(f.holders, SlotHolder{x.name, x.slots, x.got})
	}
}

// before counts the contenders that come before a submitter.
func (f *field) before(s *submitter) int {
	n, _ := slices.BinarySearchFunc(f.byEUP, s, func(x contender, s *submitter) int {
		if inTurn(x.submitter, s) < 0 {
			return -1
		}
		return 1
	})
	return n
}

// of returns what a submitter is among the contenders; nothing if it is none.
func (f *field) of(s *submitter) contender {
	at, is := slices.BinarySearchFunc(f.byEUP, s, func(x contender, s *submitter) int {
		return cmp.Or(inTurn(x.submitter, s), strings.Compare(x.name, s.name))
	})
	if !is {
		return contender{}
	}
	return f.byEUP[at]
}

// spoils is what some took: in all, how many they are, and the two who took most.
type spoils struct {
	sum, takers int
	most        [2]contender
}

func spoilsOf(list []contender, took func(*contender) int) (s spoils) {
	ahead := func(x, y *contender) bool {
		return y.submitter == nil || cmp.Or(cmp.Compare(took(y), took(x)), strings.Compare(x.name, y.name)) < 0
	}
	for i := range list {
		x := &list[i]
		if took(x) == 0 {
			continue
		}
		s.sum += took(x)
		s.takers++
		switch {
		case ahead(x, &s.most[0]):
			s.most = [2]contender{*x, s.most[0]}
		case ahead(x, &s.most[1]):
			s.most[1] = *x
		}
	}
	return s
}

// without returns what others than a submitter took, which itself took so much: in all, how
// many they are, and who of them took most.
func (s *spoils) without(one *submitter, took int) (sum, takers int, first *submitter) {
	sum, takers, first = s.sum-took, s.takers, s.most[0].submitter
	if took > 0 {
		takers--
	}
	if first == one {
		first = s.most[1].submitter
	}
	return sum, takers, first
}

// aheadOf counts the contenders that come before a submitter.
func (d *diagnosis) aheadOf(s *submitter, k *autocluster) int {
	if f := d.ahead[k]; f != nil {
		return f.before(s)
	}
	return 0
}

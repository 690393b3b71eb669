package negotiator

import (
	"encoding/binary"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Learned is what cycles of one pool learn of its slots and jobs: which of their ads are equal in what is looked up. A cycle gives the
// same answer with and without. The ads do not change; a slot or a job that changes has another ad. The zero Learned knows nothing, and
// is for one cycle at a time.
type Learned struct {
	// Room is memory that a cycle uses as long as it runs, kept for the next one.
	Room        any
	kinds       map[*classad.Ad]int // of slots, by what bySlots says
	kindsOf     []int               // what Kinds returned last
	slots       slotsLearned
	bySlots     *Signatures
	byJobs      *Signatures
	expressions *Expressions
}

// SlotFacts are what a cycle finds in a slot's ad.
type SlotFacts struct {
	// Plain says that the slot is open to jobs, not partitionable, and not for a limited time, and that its job has no time to retire,
	// all by constants.
	Plain  bool
	Weight accountant.Weight // of a plain one
}

// slotsLearned is the slots that the last cycle used.
type slotsLearned struct {
	names  []string
	ads    []*classad.Ad
	facts  []SlotFacts
	plain  bool // all are
	weighs weighing
	some   []*classad.Ad  // which have all expressions that are no constants; nil: not known
	places map[string]int // by name; nil: not known
}

// weighing is what weights come from besides a slot's ad.
type weighing struct {
	use bool
	by  *classad.Expr
}

// Facts returns what find finds in slots, which are ordered by name, each with one. Slots that have not changed are not looked at again.
func (l *Learned) Facts(slots []pool.Slot, c *Config, find func(pool.Slot) SlotFacts) []SlotFacts {
	k := &l.slots
	weighs := weighing{c.UseSlotWeights, c.SlotWeight}
	if len(k.ads) != len(slots) || k.weighs != weighs {
		*k = slotsLearned{names: make([]string, len(slots)), ads: make([]*classad.Ad, len(slots)), facts: make([]SlotFacts, len(slots)), weighs: weighs}
	}
	k.plain = true
	for i := range slots {
		s := &slots[i]
		if k.ads[i] != s.Ad || k.names[i] != s.Name {
			k.ads[i], k.names[i], k.facts[i], k.some, k.places = s.Ad, s.Name, find(*s), nil, nil
		}
		k.plain = k.plain && k.facts[i].Plain
	}
	return k.facts
}

// ArePlain reports whether slots are those of which Facts found last that all are plain.
func (l *Learned) ArePlain(slots []pool.Slot) bool {
	k := &l.slots
	if !k.plain || len(k.ads) != len(slots) {
		return false
	}
	for i := range slots {
		if k.ads[i] != slots[i].Ad || k.names[i] != slots[i].Name {
			return false
		}
	}
	return true
}

// Places returns where each of the slots of Facts is, by name.
func (l *Learned) Places() map[string]int {
	k := &l.slots
	if k.places == nil {
		k.places = make(map[string]int, len(k.names))
		for i, name := range k.names {
			k.places[name] = i
		}
	}
	return k.places
}

// SomeSlots returns ads of some of the slots of Facts that have all expressions which the slots' ads have, but for constants, and
// attributes that are called like scopes if any has such.
func (l *Learned) SomeSlots() []*classad.Ad {
	k := &l.slots
	if k.some == nil {
		x := &Expressions{numbers: map[*classad.Ad]int{}, different: map[string]int{}}
		numbers, shadowed := 0, false
		for _, ad := range k.ads {
			n, shadows := x.NumberOf(ad), ad.ShadowsScopes()
			if n > numbers || shadows && !shadowed {
				k.some = append(k.some, ad)
			}
			numbers, shadowed = max(numbers, n), shadowed || shadows
		}
	}
	return k.some
}

// Signatures numbers ads from 1: those of one number have the same expressions, or none, under some names.
type Signatures struct {
	names   []string
	looks   []*classad.Name
	numbers map[string]int
	key     []byte
}

func newSignatures(names []string) *Signatures {
	s := &Signatures{names: slices.Clone(names), numbers: map[string]int{}}
	for _, name := range names {
		s.looks = append(s.looks, classad.NewName(name))
	}
	return s
}

// mostSignatures bounds what is remembered of jobs that have left.
const mostSignatures = 100_000

// JobSignatures returns the numbering of jobs' ads by what they have under names. It lasts as long as the names are the same.
func (l *Learned) JobSignatures(names []string) *Signatures {
	if s := l.byJobs; s == nil || !slices.Equal(names, s.names) || len(s.numbers) > mostSignatures {
		l.byJobs = newSignatures(names)
	}
	return l.byJobs
}

// NumberOf returns the number of an ad.
func (s *Signatures) NumberOf(ad *classad.Ad) int {
	s.key = appendExprs(s.key[:0], ad, s.looks)
	n, known := s.numbers[string(s.key)]
	if !known {
		n = len(s.numbers) + 1
		s.numbers[string(s.key)] = n
	}
	return n
}

// Expressions numbers ads from 1: those of one number have the same expressions that are no constants, under the same names.
type Expressions struct {
	numbers   map[*classad.Ad]int
	different map[string]int
	key       []byte
}

// Expressions returns the numbering of ads, a new one when the old one has numbers of far more ads than there are jobs.
func (l *Learned) Expressions(jobs int) *Expressions {
	if l.expressions == nil || len(l.expressions.numbers) > 2*jobs+10_000 {
		l.expressions = &Expressions{numbers: map[*classad.Ad]int{}, different: map[string]int{}}
	}
	return l.expressions
}

// NumberOf returns the number of an ad.
func (x *Expressions) NumberOf(ad *classad.Ad) int {
	n, known := x.numbers[ad]
	if !known {
		x.key = appendPrograms(x.key[:0], ad)
		if n, known = x.different[string(x.key)]; !known {
			n = len(x.different) + 1
			x.different[string(x.key)] = n
		}
		x.numbers[ad] = n
	}
	return n
}

// Kinds returns, until it is asked again, the kind of each ad: those of one kind have the same expressions, or none, under the names.
func (l *Learned) Kinds(names []string, ads []*classad.Ad) []int {
	if s := l.bySlots; s == nil || !slices.Equal(names, s.names) || len(l.kinds) > 2*len(ads) {
		l.bySlots, l.kinds = newSignatures(names), make(map[*classad.Ad]int, len(ads))
	}
	l.kindsOf = l.kindsOf[:0]
	for _, ad := range ads {
		n, known := l.kinds[ad]
		if !known {
			n = l.bySlots.NumberOf(ad)
			l.kinds[ad] = n
		}
		l.kindsOf = append(l.kindsOf, n)
	}
	return l.kindsOf
}

// appendExprs appends what an ad has under names.
func appendExprs(key []byte, ad *classad.Ad, names []*classad.Name) []byte {
	for _, name := range names {
		v, e, ok := ad.Get(name)
		from := len(key)
		key = append(key, 0, 0, 0, 0)
		if !ok {
			continue
		}
		if e == nil {
			e = classad.Literal(v)
		}
		key = e.AppendTo(key, classad.StyleSpool)
		binary.LittleEndian.PutUint32(key[from:], uint32(len(key)-from-3)) // 0: there is none
	}
	return key
}

// appendPrograms appends the names and texts of the expressions that are no constants, in an ad and those that it is chained to.
// Constants may hide those of the ads behind.
func appendPrograms(key []byte, ad *classad.Ad) []byte {
	for ; ad != nil; ad = ad.Parent() {
		for _, name := range ad.OwnNames() {
			e, _ := ad.Lookup(name)
			_, constant := e.Constant()
			if constant && ad.Parent() == nil {
				continue
			}
			key = append(append(key, strings.ToLower(name)...), 0)
			if !constant {
				key = e.AppendTo(key, classad.StyleSpool)
			}
			key = append(key, 0)
		}
		key = append(key, 0)
	}
	return key
}

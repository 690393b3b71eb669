package negotiator

import (
	"encoding/binary"
	"slices"
	"strings"

	"fairspool/lib/classad"
)

// Learned is what cycles of one pool learn of its slots and jobs: which of their ads are equal in what is looked up. A cycle gives the
// same answer with and without. The ads do not change; a slot or a job that changes has another ad. The zero Learned knows nothing, and
// is for one cycle at a time.
type Learned struct {
	names   []string            // that are looked up
	kinds   map[*classad.Ad]int // from 1
	numbers map[string]int      // of kinds, by what their ads have under the names

	expressions *Expressions
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

// Kinds returns the kind of each ad: those of one kind have the same expressions, or none, under the names.
func (l *Learned) Kinds(names []string, ads []*classad.Ad) []int {
	if !slices.Equal(names, l.names) || len(l.kinds) > 2*len(ads) {
		l.names, l.kinds, l.numbers = slices.Clone(names), make(map[*classad.Ad]int, len(ads)), map[string]int{}
	}
	kinds := make([]int, len(ads))
	var looks []*classad.Name
	var key []byte
	for i, ad := range ads {
		n, known := l.kinds[ad]
		if !known {
			if looks == nil {
				for _, name := range names {
					looks = append(looks, classad.NewName(name))
				}
			}
			key = appendExprs(key[:0], ad, looks)
			if n, known = l.numbers[string(key)]; !known {
				n = len(l.numbers) + 1
				l.numbers[string(key)] = n
			}
			l.kinds[ad] = n
		}
		kinds[i] = n
	}
	return kinds
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

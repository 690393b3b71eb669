package negotiator

import (
	"encoding/binary"
	"slices"

	"fairspool/lib/classad"
)

// Learned is what cycles of one pool learn of its slots and jobs: which of their ads are equal in what is looked up. A cycle gives the
// same answer with and without. The ads do not change; a slot or a job that changes has another ad. The zero Learned knows nothing, and
// is for one cycle at a time.
type Learned struct {
	names   []string            // that are looked up
	kinds   map[*classad.Ad]int // from 1
	numbers map[string]int      // of kinds, by what their ads have under the names

	expressions map[*classad.Ad]int // what Expressions returned
	different   map[string]int      // the same by these expressions
	key         []byte
}

// Forget drops what was learned of most ads of jobs when there are far more of them than jobs that wait.
func (l *Learned) Forget(jobs int) {
	if l.expressions == nil || len(l.expressions) > 2*jobs+1000 {
		l.expressions, l.different = map[*classad.Ad]int{}, map[string]int{}
	}
}

// Expressions returns the number of an ad's expressions that are no constants, and their names: the same for all ads with the same.
func (l *Learned) Expressions(ad *classad.Ad) int {
	n, known := l.expressions[ad]
	if !known {
		l.key = ad.AppendPrograms(l.key[:0])
		if n, known = l.different[string(l.key)]; !known {
			n = len(l.different)
			l.different[string(l.key)] = n
		}
		l.expressions[ad] = n
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

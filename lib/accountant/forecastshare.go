package accountant

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Portion is a submitter's part of a pool in which all want more than there is.
type Portion struct {
	Name     string
	EUP      float64
	Now      float64 // by the EUPs as they are: 1/EUP of the sum of these, 0 to 1
	InTheEnd float64 // where it settles when all go on and leases have ended
}

// Portions returns the portions of the submitters whose records these are, the
// best EUP first, equal ones by name. A RUP follows what is in use, so who gets more
// is soon worth less: in the end what submitters have is not inverse to their
// factors but to the square roots of these, as long as each has half a slot or more.
// To get twice of what another gets takes a quarter of its factor.
func Portions(records []Record, now time.Time, p Params) []Portion {
	list := make([]Portion, len(records))
	sum, sumInTheEnd := 0.0, 0.0
	for i, r := range records {
		list[i] = Portion{r.Name, r.Effective(now, p), 0, 1 / math.Sqrt(r.lastingFactor(p))}
		sum += 1 / list[i].EUP
		sumInTheEnd += list[i].InTheEnd
	}
	for i := range list {
		list[i].Now = 1 / list[i].EUP / sum
		list[i].InTheEnd /= sumInTheEnd
	}
	slices.SortFunc(list, func(a, b Portion) int {
		return cmp.Or(cmp.Compare(a.EUP, b.EUP), strings.Compare(a.Name, b.Name))
	})
	return list
}

// Package concurrency counts resources with limits, such as licences: the administrator's
// limits, the demands of jobs, and the usage.
package concurrency

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/pool"
)

// Limits are the numbers of units that may be in use at a time
// (CONCURRENCY_LIMIT_DEFAULT, CONCURRENCY_LIMIT_DEFAULT_set, NAME_LIMIT). The zero
// value limits nothing. Names compare without regard to case.
type Limits struct {
	some          bool // false in the zero value
	byDefault     Units
	ofSet, ofName map[string]Units // by lower-case name
}

// NewLimits returns the limits: byDefault, in units, with those of sets by the name of
// the set, and those of names. A name has letters, digits and underscores, no digit
// first; one dot may stand between two such parts, and the first is then the name's set.
// An invalid name is an error, and so is a name that occurs twice in different case, and
// a limit that is not a number from 0 to 1e12. Limits are rounded to millionths.
func NewLimits(byDefault float64, ofSet, ofName map[string]float64) (Limits, error) {
	l := Limits{some: true}
	var err error
	if l.byDefault, err = limitOf(byDefault); err != nil {
		return Limits{}, fmt.Errorf("default of concurrency limits: %w", err)
	}
	if l.ofSet, err = limitsOf(ofSet, pool.ResourceName, "set of concurrency limits"); err != nil {
		return Limits{}, err
	}
	if l.ofName, err = limitsOf(ofName, IsName, "concurrency limit"); err != nil {
		return Limits{}, err
	}
	return l, nil
}

// limitsOf returns the limits by lower-case name; what names their subject in errors.
func limitsOf(given map[string]float64, isName func(string) bool, what string) (map[string]Units, error) {
	limits := make(map[string]Units, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		lower := strings.ToLower(name)
		if !isName(name) {
			return nil, fmt.Errorf("%s %q: want a name of letters, digits and underscores", what, name)
		}
		if _, twice := limits[lower]; twice {
			return nil, fmt.Errorf("%s %s: is there twice; case does not count", what, name)
		}
		n, err := limitOf(given[name])
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", what, name, err)
		}
		limits[lower] = n
	}
	return limits, nil
}

// Of returns how many units of a lower-case name may be in use; ok is false
// when there is no end to them.
func (l Limits) Of(name string) (most Units, ok bool) {
	if most, ok := l.ofName[name]; ok {
		return most, true
	}
	if set, _, inSet := strings.Cut(name, "."); inSet {
		if most, ok := l.ofSet[set]; ok {
			return most, true
		}
	}
	return l.byDefault, l.some
}

// Units counts a limited resource, in millionths. They are whole, so that the order in
// which jobs are counted never matters.
type Units int64

const (
	oneUnit Units = 1e6
	// mostUnits is the largest limit.
	mostUnits = 1e12 * oneUnit
	// allUnits is what more counts as: no limit is as large, and twice it is still
	// a number.
	allUnits = 2 * mostUnits
)

// limitOf returns a limit as the administrator gives it.
func limitOf(n float64) (Units, error) {
	// Written so that a NaN fails too.
	if !(n >= 0 && n <= float64(mostUnits/oneUnit)) {
		return 0, fmt.Errorf("%v: want 0 to %d", n, mostUnits/oneUnit)
	}
	return Units(math.Round(n * float64(oneUnit))), nil
}

// demandedUnits reads the units of a demand. Anything but a number above 0 counts as 1,
// and less than a millionth as a millionth.
func demandedUnits(text string) Units {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !math.IsInf(n, 1), err == nil && math.IsInf(n, 0), !(n > 0):
		return oneUnit
	case n >= float64(allUnits/oneUnit):
		return allUnits
	}
	return max(1, Units(math.Round(n*float64(oneUnit))))
}

// String returns the units as people write them, without needless digits.
func (u Units) String() string {
	text := strconv.FormatInt(int64(u/oneUnit), 10)
	if rest := u % oneUnit; rest > 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%06d", rest), "0")
	}
	return text
}

// Demand is one job's need of a limited resource.
type Demand struct {
	Name string // lower case
	Units
}

// Demands reads a job's ConcurrencyLimits, such as "license:2, sw.matlab", by name. Names
// with one colon and units are between commas and blanks; invalid names are skipped. A
// name that occurs twice is needed twice.
func Demands(text string) []Demand {
	var all []Demand
	for _, one := range strings.FieldsFunc(text, IsBetween) {
		name, amount, given := strings.Cut(one, ":")
		if !IsName(name) {
			continue
		}
		d := Demand{strings.ToLower(name), oneUnit}
		if given {
			d.Units = demandedUnits(amount)
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b Demand) int { return strings.Compare(a.Name, b.Name) })
	return merged(all)
}

// merged adds up the demands of each name, in place; the names are sorted.
func merged(all []Demand) []Demand {
	n := 0
	for _, d := range all {
		if n > 0 && all[n-1].Name == d.Name {
			all[n-1].Units = plus(all[n-1].Units, d.Units)
			continue
		}
		all[n] = d
		n++
	}
	return all[:n]
}

func plus(a, b Units) Units { return min(a+b, allUnits) }

func IsBetween(r rune) bool { return r == ',' || r == ' ' || r >= '\t' && r <= '\r' }

// Text is the inverse of Demands.
func Text(demands []Demand) string {
	var b strings.Builder
	for i, d := range demands {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(d.Name)
		if d.Units != oneUnit {
			b.WriteString(":" + d.Units.String())
		}
	}
	return b.String()
}

// IsName reports whether a name can have a concurrency limit: its parts are valid names
// of resources.
func IsName(name string) bool {
	set, rest, inSet := strings.Cut(name, ".")
	return pool.ResourceName(set) && (!inSet || pool.ResourceName(rest))
}

// InUse counts the use of concurrency limits.
type InUse struct {
	Limits Limits
	Used   map[string]Units // by lower-case name
}

func NewInUse(l Limits) *InUse {
	return &InUse{Limits: l, Used: map[string]Units{}}
}

// Add counts a claim, by its Limits.
func (u *InUse) Add(text string) { u.Take(Demands(text)) }

// Take counts a job with these demands.
func (u *InUse) Take(demands []Demand) {
	for _, d := range demands {
		u.Used[d.Name] = plus(u.Used[d.Name], d.Units)
	}
}

// Left returns how many more jobs that need d of one thing its limit admits;
// math.MaxInt64 without a limit.
func (u *InUse) Left(d Demand) int64 {
	most, ok := u.Limits.Of(d.Name)
	if !ok {
		return math.MaxInt64
	}
	return int64(max(0, most-u.Used[d.Name]) / d.Units)
}

// Headroom returns how many more jobs with these demands the limits admit, one
// after the other; math.MaxInt when nothing limits them.
func (u *InUse) Headroom(demands []Demand) int {
	least := int64(math.MaxInt)
	for _, d := range demands {
		least = min(least, u.Left(d))
	}
	return int(least)
}

// Blocked returns the first limit by name that does not admit one more job with
// these demands; ok is false when all do.
func (u *InUse) Blocked(demands []Demand) (name string, ok bool) {
	for _, d := range demands {
		if u.Left(d) == 0 {
			return d.Name, true
		}
	}
	return "", false
}

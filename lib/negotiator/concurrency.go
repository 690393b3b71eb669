package negotiator

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/pool"
)

// ConcurrencyLimits are the numbers of units that may be in use at a time
// (CONCURRENCY_LIMIT_DEFAULT, CONCURRENCY_LIMIT_DEFAULT_set, NAME_LIMIT). The zero
// value limits nothing. Names compare without regard to case.
type ConcurrencyLimits struct {
	some          bool // false in the zero value
	byDefault     units
	ofSet, ofName map[string]units // by lower-case name
}

// NewConcurrencyLimits returns the limits that are byDefault, in units, save for
// those of sets, by the name of the set, and those of names. A name has letters,
// digits and underscores, no digit first; one dot may stand between two such, and
// the first is then the name's set. A name that is none, or that is there twice in
// different case, is an error, and so is a limit that is not a number from 0 to
// 1e12. Limits are rounded to millionths.
func NewConcurrencyLimits(byDefault float64, ofSet, ofName map[string]float64) (ConcurrencyLimits, error) {
	l := ConcurrencyLimits{some: true}
	var err error
	if l.byDefault, err = limitOf(byDefault); err != nil {
		return ConcurrencyLimits{}, fmt.Errorf("default of concurrency limits: %w", err)
	}
	if l.ofSet, err = limitsOf(ofSet, pool.ResourceName, "set of concurrency limits"); err != nil {
		return ConcurrencyLimits{}, err
	}
	if l.ofName, err = limitsOf(ofName, IsLimitName, "concurrency limit"); err != nil {
		return ConcurrencyLimits{}, err
	}
	return l, nil
}

// limitsOf returns the limits by lower-case name; what says what they are of.
func limitsOf(given map[string]float64, isName func(string) bool, what string) (map[string]units, error) {
	limits := make(map[string]units, len(given))
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

// of returns how many units of a lower-case name may be in use; ok is false
// when there is no end to them.
func (l ConcurrencyLimits) of(name string) (most units, ok bool) {
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

// units counts what there is a limit of, in millionths. They are whole, so that
// the order in which jobs are counted never matters.
type units int64

const (
	oneUnit units = 1e6
	// mostUnits is the largest limit.
	mostUnits = 1e12 * oneUnit
	// allUnits is what more counts as: no limit is as large, and twice it is still
	// a number.
	allUnits = 2 * mostUnits
)

// limitOf returns a limit as the administrator gives it.
func limitOf(n float64) (units, error) {
	// Written so that a NaN fails too.
	if !(n >= 0 && n <= float64(mostUnits/oneUnit)) {
		return 0, fmt.Errorf("%v: want 0 to %d", n, mostUnits/oneUnit)
	}
	return units(math.Round(n * float64(oneUnit))), nil
}

// demandedUnits reads the units of a demand. What is not a number above 0 counts
// as 1, and what is smaller than a millionth as that.
func demandedUnits(text string) units {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !math.IsInf(n, 1), err == nil && math.IsInf(n, 0), !(n > 0):
		return oneUnit
	case n >= float64(allUnits/oneUnit):
		return allUnits
	}
	return max(1, units(math.Round(n*float64(oneUnit))))
}

// String returns the units as people write them, without needless digits.
func (u units) String() string {
	text := strconv.FormatInt(int64(u/oneUnit), 10)
	if rest := u % oneUnit; rest > 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%06d", rest), "0")
	}
	return text
}

// demand is how much one job needs of what there is a limit of.
type demand struct {
	name string // lower case
	units
}

// demandsOf reads a job's ConcurrencyLimits, such as "license:2, sw.matlab", by
// name. Names with one colon and units are between commas and blanks; what has no
// possible name is passed over. A name that is there twice is needed twice.
func demandsOf(text string) []demand {
	var all []demand
	for _, one := range strings.FieldsFunc(text, isBetweenDemands) {
		name, amount, given := strings.Cut(one, ":")
		if !IsLimitName(name) {
			continue
		}
		d := demand{strings.ToLower(name), oneUnit}
		if given {
			d.units = demandedUnits(amount)
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b demand) int { return strings.Compare(a.name, b.name) })
	return merged(all)
}

// merged adds up what is there of each name, in place; the names are sorted.
func merged(all []demand) []demand {
	n := 0
	for _, d := range all {
		if n > 0 && all[n-1].name == d.name {
			all[n-1].units = plus(all[n-1].units, d.units)
			continue
		}
		all[n] = d
		n++
	}
	return all[:n]
}

func plus(a, b units) units { return min(a+b, allUnits) }

func isBetweenDemands(r rune) bool { return r == ',' || r == ' ' || r >= '\t' && r <= '\r' }

// demandText is the inverse of demandsOf: Match.Limits.
func demandText(demands []demand) string {
	var b strings.Builder
	for i, d := range demands {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(d.name)
		if d.units != oneUnit {
			b.WriteString(":" + d.units.String())
		}
	}
	return b.String()
}

// IsLimitName reports whether a name can have a concurrency limit: its parts are names like
// those of resources.
func IsLimitName(name string) bool {
	set, rest, inSet := strings.Cut(name, ".")
	return pool.ResourceName(set) && (!inSet || pool.ResourceName(rest))
}

// unitsInUse counts what is used of concurrency limits.
type unitsInUse struct {
	limits ConcurrencyLimits
	used   map[string]units // by lower-case name
}

func newUnitsInUse(l ConcurrencyLimits) *unitsInUse {
	return &unitsInUse{limits: l, used: map[string]units{}}
}

// add counts a claim, by its Limits.
func (u *unitsInUse) add(text string) { u.take(demandsOf(text)) }

// take counts a job with these demands.
func (u *unitsInUse) take(demands []demand) {
	for _, d := range demands {
		u.used[d.name] = plus(u.used[d.name], d.units)
	}
}

// left returns how many more jobs that need d of one thing its limit admits;
// math.MaxInt64 without a limit.
func (u *unitsInUse) left(d demand) int64 {
	most, ok := u.limits.of(d.name)
	if !ok {
		return math.MaxInt64
	}
	return int64(max(0, most-u.used[d.name]) / d.units)
}

// headroom returns how many more jobs with these demands the limits admit, one
// after the other; math.MaxInt when nothing limits them.
func (u *unitsInUse) headroom(demands []demand) int {
	least := int64(math.MaxInt)
	for _, d := range demands {
		least = min(least, u.left(d))
	}
	return int(least)
}

// blocked returns the first limit by name that does not admit one more job with
// these demands; ok is false when all do.
func (u *unitsInUse) blocked(demands []demand) (name string, ok bool) {
	for _, d := range demands {
		if u.left(d) == 0 {
			return d.name, true
		}
	}
	return "", false
}

package qstat

import (
	"math"
	"strconv"

	"fairspool/lib/sge"
)

// five returns what appends a number as Grid Engine shows normalised ones.
func five(of func(*sge.Numbers) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte { return strconv.AppendFloat(b, of(&r.ranked.Numbers), 'f', 5, 64) }
}

// eight returns what appends a number as Grid Engine shows urgencies, in eight places.
func eight(of func(*sge.Numbers) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte {
		const mostPlain = 99_999_999
		if x := of(&r.ranked.Numbers); x > mostPlain {
			return strconv.AppendFloat(b, x, 'g', 3, 64)
		} else {
			return strconv.AppendFloat(b, x, 'f', 0, 64)
		}
	}
}

// truncated returns what appends tickets and shares, without their fractions.
func truncated(of func(*row) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte { return strconv.AppendFloat(b, math.Trunc(of(r)), 'f', 0, 64) }
}

// What rules are longer by, with each of the options, than those of the plain list; these of
// Grid Engine have other lengths than the headings above them.
const (
	ruleOfList = 113
	ruleOfPri  = 35
	ruleOfUrg  = 64
	ruleOfExt  = 79
	// With -f it is -ext alone that makes a difference.
	slotRuleOfExt  = 108
	blockRuleOfExt = 110
)

// sgeRule returns the length of the rule below a heading of so many characters. With -w and on
// a terminal, where widths are not Grid Engine's, it is that.
func (t *table) sgeRule(heading int) int {
	if t.width > 0 || t.wide {
		return heading
	}
	rule := ruleOfList + t.count(ruleOfPri, ruleOfUrg, ruleOfExt)
	if t.master {
		rule++ // which is a place wider than the slots
	}
	return rule
}

// count sums up what each of -pri, -urg and -ext counts.
func (o options) count(pri, urg, ext int) (n int) {
	if o.pri {
		n += pri
	}
	if o.urg {
		n += urg
	}
	if o.ext {
		n += ext
	}
	return n
}

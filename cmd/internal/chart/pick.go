package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"fairspool/lib/history"
)

// line is a series that is drawn.
type line struct {
	name   string // fit for every medium
	group  bool
	points []history.Point // at least one, all finite
	usage  float64         // weight seconds used between the first point and the last
}

// left is what is not drawn.
type left struct {
	lines int
	less  bool // usage than all that are drawn
}

// pick returns the lines to draw, most usage first, at most n, and what is left
// out.
func pick(series []history.Series, n int) (lines []line, rest left) {
	for _, s := range series {
		points := finite(s.Points)
		if len(points) == 0 {
			continue
		}
		lines = append(lines, line{name: readable(s.Name), group: !strings.Contains(s.Name, "@"), points: points, usage: used(points)})
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.usage, a.usage), cmp.Compare(b.last().InUse, a.last().InUse),
			cmp.Compare(b.last().Demand, a.last().Demand), strings.Compare(a.name, b.name))
	})
	if len(lines) > n {
		return lines[:n], left{len(lines) - n, lines[n].usage < lines[n-1].usage}
	}
	return lines, left{}
}

// wanted tells whether there was ever any demand.
func (l line) wanted() bool {
	return slices.ContainsFunc(l.points, func(p history.Point) bool { return p.Demand != 0 })
}

func (l line) last() history.Point { return l.points[len(l.points)-1] }

// used sums what was in use between the points, which accumulated usage does
// not tell where somebody has reset it.
func used(points []history.Point) float64 {
	sum := 0.0
	for i, p := range points[1:] {
		sum += p.InUse * (seconds(p.Time) - seconds(points[i].Time))
	}
	return sum
}

// finite returns the points whose values can be drawn.
func finite(points []history.Point) []history.Point {
	bad := func(p history.Point) bool { return !drawable(p.Effective) || !drawable(p.InUse) || !drawable(p.Demand) }
	if !slices.ContainsFunc(points, bad) {
		return points
	}
	return slices.DeleteFunc(slices.Clone(points), bad)
}

// drawable leaves room for the arithmetic of scales.
func drawable(v float64) bool { return math.Abs(v) < 1e300 }

// longest is how many characters of a name are shown: the longest group's and
// an ordinary user's in full.
const longest = 48

// printable replaces control characters and what is no UTF-8, neither of which
// SVG allows.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// readable returns a name fit to be shown, the middle left out if it is long.
func readable(name string) string {
	r := []rune(printable(name))
	if len(r) > longest {
		half := (longest - 1) / 2
		r = slices.Concat(r[:half], []rune("…"), r[len(r)-(longest-1-half):])
	}
	return string(r)
}

// String says how many are not drawn.
func (l left) String() string {
	if l.less {
		return fmt.Sprintf("and %d more with less usage", l.lines)
	}
	return fmt.Sprintf("and %d more", l.lines)
}

// others tells of the series that are not drawn.
func others(rest left, drawn int) string {
	return fmt.Sprintf("%v; name up to %d USERs to see others than these", rest, drawn)
}

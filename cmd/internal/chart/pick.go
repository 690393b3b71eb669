package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"gonum.org/v1/plot/plotter"

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

// wanted reports whether there was ever any demand.
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

// slices of time that a line is cut into which has more than twice as many
// points.
const slicesOfTime = 240

// course is how one quantity of a series went, over time in Unix seconds.
type course struct {
	plotter.XYs
	// low and high are the extremes since the point before, at each of the
	// XYs; none where the points are the series' own.
	low, high []float64
}

// thin returns the course of a quantity. A line of many points would be a
// carpet that hides those beneath it, so all points in the same slice of the
// time shown become one at the last's time: their mean, each counting for as
// long as it is since the point before.
func thin(l line, q quantity, s span) course {
	all := make(plotter.XYs, 0, len(l.points))
	for _, p := range l.points {
		if y, ok := q.of(p); ok {
			all = append(all, plotter.XY{X: seconds(p.Time), Y: y})
		}
	}
	if len(all) <= 2*slicesOfTime {
		return course{XYs: all}
	}
	slot := func(i int) int { return min(int((all[i].X-s.from)/(s.to-s.from)*slicesOfTime), slicesOfTime-1) }
	var c course
	for from := 0; from < len(all); {
		end := from + 1
		for end < len(all) && slot(end) == slot(from) {
			end++
		}
		c.add(all, from, end)
		from = end
	}
	return c
}

// add adds the point that stands for all[from:end].
func (c *course) add(all plotter.XYs, from, end int) {
	low, high, sum, time := all[from].Y, all[from].Y, 0.0, 0.0
	for i := from; i < end; i++ {
		low, high = min(low, all[i].Y), max(high, all[i].Y)
		if i > 0 {
			since := max(all[i].X-all[i-1].X, 0)
			sum, time = sum+all[i].Y*since, time+since
		}
	}
	mean := all[end-1].Y
	if time > 0 {
		// Rounding shall not take it out of the band.
		mean = max(low, min(high, sum/time))
	}
	c.XYs = append(c.XYs, plotter.XY{X: all[end-1].X, Y: mean})
	c.low, c.high = append(c.low, low), append(c.high, high)
}

// band returns the outline of what lies between the extremes, none for points
// that are the series' own.
func (c course) band() plotter.XYs {
	if len(c.low) == 0 {
		return nil
	}
	outline := make(plotter.XYs, 0, 2*len(c.low))
	for i := range c.low {
		outline = append(outline, plotter.XY{X: c.XYs[i].X, Y: c.low[i]})
	}
	back := len(outline)
	for i := range c.high {
		outline = append(outline, plotter.XY{X: c.XYs[i].X, Y: c.high[i]})
	}
	slices.Reverse(outline[back:])
	return outline
}

package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gonum.org/v1/plot/plotter"

	"fairspool/lib/history"
)

// tick is a place on an axis that has a label, which may be of two lines.
type tick struct {
	at    float64
	label string
}

// scale is the range of a vertical axis, lo below hi, and its ticks.
type scale struct {
	lo, hi float64
	ticks  []tick
}

// fromZero is the scale for amounts: from nothing to a little more than the
// most, with round numbers.
func fromZero(lo, hi float64, n int) scale {
	lo, hi = min(lo, 0), max(hi, 0)
	if hi <= lo {
		hi = lo + 1
	}
	hi += (hi - lo) / 20
	return scale{lo, hi, round(lo, hi, n)}
}

// logarithm returns the place of v on a logarithmic scale, which has none for
// nothing or less.
func logarithm(v float64) (float64, bool) {
	if v <= 0 {
		return 0, false
	}
	return math.Log10(v), true
}

// narrowest is how many decades a logarithmic scale has at least, so that
// what hardly changes does not look as if it did.
const narrowest = 0.5

// decades is the logarithmic scale, for logarithms from lo to hi.
func decades(lo, hi float64, n int) scale {
	room := max((hi-lo)/20, (narrowest-(hi-lo))/2)
	lo, hi = lo-room, hi+room
	s := scale{lo: lo, hi: hi}
	stride := max(1, math.Ceil((hi-lo)/float64(n)))
	for e := math.Ceil(lo); e <= hi; e += stride {
		s.ticks = append(s.ticks, tick{e, number(math.Pow(10, e))})
	}
	if len(s.ticks) >= 3 || len(s.ticks) == 2 && hi-lo > 2 {
		return s
	}
	for _, mantissas := range [][]float64{{1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 7}} {
		if s.ticks = within(lo, hi, mantissas); len(s.ticks) >= 3 {
			break
		}
	}
	return s
}

// within returns the ticks from lo to hi, logarithms, at these multiples of
// the powers of ten.
func within(lo, hi float64, mantissas []float64) []tick {
	var ticks []tick
	for e := math.Floor(lo); e <= hi; e++ {
		for _, m := range mantissas {
			if at := e + math.Log10(m); at >= lo && at <= hi {
				ticks = append(ticks, tick{at, number(m * math.Pow(10, e))})
			}
		}
	}
	return ticks
}

// round returns about n ticks at round numbers from lo to hi.
func round(lo, hi float64, n int) []tick {
	power := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(n))))
	unit := 10 * power
	for _, m := range []float64{5, 2, 1} {
		if (hi-lo)/(power*m) <= float64(n)+0.5 {
			unit = power * m
		}
	}
	var ticks []tick
	// Adding 0 keeps -0 out of the labels.
	for i := math.Ceil(lo/unit) + 0; i <= math.Floor(hi/unit); i++ {
		ticks = append(ticks, tick{i * unit, number(i * unit)})
	}
	return ticks
}

// number writes a tick's value: as people do below a million, and shortly
// above.
func number(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if a := math.Abs(v); a == 0 || a >= 1e-4 && a < 1e6 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	e, _ := strconv.Atoi(exponent)
	return mantissa + "e" + strconv.Itoa(e)
}

// stride is a distance between ticks of the time axis.
type stride struct {
	// about is its length in seconds.
	about float64
	// first returns the last tick at or before t, and next the one behind a
	// tick.
	first, next func(t time.Time) time.Time
	// label is how a tick is written; below it stands what under says, where
	// that changes.
	label, under string
}

const day = 86400

// strides returns the distances to choose from, short to long. They follow
// the calendar of the zone, days of 23 hours included.
func strides() []stride {
	var all []stride
	for _, s := range []int{1, 2, 5, 10, 15, 30} {
		all = append(all, clock(s, "15:04:05"))
	}
	for _, m := range []int{1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720} {
		all = append(all, clock(60*m, "15:04"))
	}
	for _, d := range []int{1, 2, 7, 14} {
		all = append(all, days(d))
	}
	for _, m := range []int{1, 2, 3, 6} {
		all = append(all, months(m, "Jan", "2006"))
	}
	for y := 1; y <= 1e8; y *= 10 {
		for _, m := range []int{1, 2, 5} {
			all = append(all, months(12*m*y, "2006", ""))
		}
	}
	return all
}

// clock is a stride of so many seconds, which divide a day, counted from
// midnight by the clock on the wall.
func clock(step int, label string) stride {
	at := func(t time.Time, n int) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, n*step, 0, t.Location())
	}
	count := func(t time.Time) int {
		h, m, s := t.Clock()
		return (h*3600 + m*60 + s) / step
	}
	next := func(t time.Time) time.Time {
		for n := count(t) + 1; ; n++ {
			// Where the clock is set forward a time may not exist, and becomes
			// one that was.
			if u := at(t, n); u.After(t) {
				return u
			}
		}
	}
	return stride{float64(step), func(t time.Time) time.Time { return at(t, count(t)) }, next, label, "2 Jan"}
}

// days is a stride of whole days; weeks begin on Mondays.
func days(step int) stride {
	first := func(t time.Time) time.Time {
		noon := time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC)
		sinceMonday := int((noon.Unix()/day-4)%int64(step)+int64(step)) % step
		return time.Date(t.Year(), t.Month(), t.Day()-sinceMonday, 0, 0, 0, 0, t.Location())
	}
	next := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day()+step, 0, 0, 0, 0, t.Location())
	}
	return stride{float64(step) * day, first, next, "2 Jan", "2006"}
}

// months is a stride of whole months, counted from the year 0.
func months(step int, label, under string) stride {
	at := func(t time.Time, n int) time.Time {
		return time.Date(0, time.Month(n*step+1), 1, 0, 0, 0, 0, t.Location())
	}
	count := func(t time.Time) int { return (t.Year()*12 + int(t.Month()) - 1) / step }
	return stride{float64(step) * 30.4 * day, func(t time.Time) time.Time { return at(t, count(t)) },
		func(t time.Time) time.Time { return at(t, count(t)+1) }, label, under}
}

// timeTicks returns at most about n ticks in the range.
func timeTicks(s span, n int, zone *time.Location) []tick {
	var by stride
	for _, by = range strides() {
		if (s.to-s.from)/by.about <= float64(n) {
			break
		}
	}
	var ticks []tick
	under := ""
	for t := by.first(moment(s.from, zone)); seconds(t) <= s.to && len(ticks) <= 2*n; t = by.next(t) {
		if seconds(t) < s.from {
			continue
		}
		label := t.Format(by.label)
		if now := t.Format(by.under); now != under {
			label, under = label+"\n"+now, now
		}
		ticks = append(ticks, tick{seconds(t), label})
	}
	return ticks
}

// line is a series that is drawn.
type line struct {
	name   string // fit for every medium
	group  bool
	points []history.Point // at least one, all finite
	usage  float64         // weight seconds used between the first point and the last
}

// left is the omitted lines.
type left struct {
	lines int
	less  bool // usage than all that are drawn
}

// pick returns the lines to draw, most usage first, at most n, and the omitted ones.
func pick(series []history.Series, n int) (lines []line, rest left) {
	for _, s := range series {
		points := finite(s.Points)
		if len(points) == 0 {
			continue
		}
		lines = append(lines, line{name: readable(s.Name), group: !strings.Contains(s.Name, "@"), points: points, usage: history.Used(points)})
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

// finite returns the points with values that can be drawn.
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

// printable replaces control characters and invalid UTF-8, which SVG does not allow.
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
func others(rest left, s sheet) string {
	if s.inline {
		return rest.String()
	}
	return fmt.Sprintf("%v; name up to %d USERs to see others than these", rest, s.lines)
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
	whole := len(l.points) <= 2*slicesOfTime
	for i, p := range l.points {
		if whole && i > 0 && q.before != nil {
			if y, ok := q.before(l.points[i-1], p); ok {
				all = append(all, plotter.XY{X: seconds(p.Time), Y: y})
			}
		}
		if y, ok := q.of(p); ok {
			all = append(all, plotter.XY{X: seconds(p.Time), Y: y})
		}
	}
	if q.steps == plotter.PreStep && len(all) > 1 {
		all[0].Y = all[1].Y // the first value is one of a moment; the others are means of a time
	}
	if whole {
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

// band returns the outline of the area between the extremes, none for points that are the
// series' own.
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

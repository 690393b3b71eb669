package chart

import (
	"image/color"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Axis returns the range of an axis, and about n ticks.
type Axis func(n int) scale

// Times is an axis of time, in Unix seconds.
func Times(from, to time.Time, zone *time.Location) Axis {
	s := span{seconds(from), seconds(to)}.shown()
	return func(n int) scale { return scale{lo: s.from, hi: s.to, ticks: timeTicks(s, n, zone)} }
}

// UpTo is an axis of amounts from nothing to the most.
func UpTo(most float64) Axis { return func(n int) scale { return fromZero(0, most, n) } }

// Parts is an axis from none to all, in per cent.
func Parts() Axis {
	return func(int) scale {
		return scale{lo: 0, hi: 1, ticks: []tick{{0, "0 %"}, {0.25, "25 %"}, {0.5, "50 %"}, {0.75, "75 %"}, {1, "100 %"}}}
	}
}

// Powers is a logarithmic axis for values from lo to hi, which are above 0.
func Powers(lo, hi float64) Axis {
	return func(n int) scale {
		s := decades(math.Log10(lo), math.Log10(hi), n)
		s.lo = math.Log10(lo)
		for len(s.ticks) > 0 && s.ticks[0].at < s.lo {
			s.ticks = s.ticks[1:]
		}
		return s
	}
}

// Rows is an axis with a name for each row, the first at the top. Each row is so high.
func Rows(names []string, height float64) Axis {
	return func(int) scale {
		s := scale{lo: 0, hi: float64(len(names)), size: min(0.95*height, 8.5)}
		for i, name := range names {
			s.ticks = append(s.ticks, tick{s.hi - float64(i) - 0.5, shortened(name, 20)})
		}
		return s
	}
}

// Waited returns the place of a wait in seconds on an axis of waits, on which a minute and ten hours can both be read.
func Waited(wait float64) float64 { return math.Log10(1 + max(wait, 0)/60) }

// waits are the waits at which an axis of waits has labels, and from which on heats have the next colour.
var waits = []struct {
	seconds float64
	label   string
	spare   bool
}{{0, "0", false}, {60, "1 min", true}, {600, "10 min", false}, {3600, "1 h", false}, {6 * 3600, "6 h", true}, {day, "1 d", false}, {7 * day, "7 d", false}, {30 * day, "30 d", true},
	{100 * day, "100 d", false}, {1000 * day, "1000 d", false}}

// Waits is an axis of waits up to the longest, in seconds. A part of it, beside the longest, is left free.
func Waits(longest, free float64) Axis {
	return func(n int) scale {
		most := max(Waited(longest), Waited(600))
		var all, some []tick
		for _, w := range waits {
			if at := Waited(w.seconds); at <= most {
				all = append(all, tick{at, w.label})
				if !w.spare {
					some = append(some, tick{at, w.label})
				}
			}
		}
		if most *= 1 + free; float64(n)*(all[1].at-all[0].at) < 0.6*most { // labels would touch
			all = some
		}
		return scale{lo: 0, hi: most, ticks: all}
	}
}

// dashes tell lines apart that lie upon each other.
var dashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {9, 2, 2, 2}, {4, 4}, {1, 3}}

// lineOf returns how the line of a rank is drawn, on light and on dark.
func lineOf(rank int, solid bool) draw.LineStyle {
	s := strokeOf(rank%len(dashes), false)
	if s.Width = 1.4; !solid {
		s.Dashes = dashes[rank%len(dashes)]
	}
	return s
}

// Steps are means over bins of equal width.
type Steps struct {
	From   time.Time
	Width  time.Duration
	Values []float64
	Rank   int
	Filled bool // it is an area
	Solid  bool // it is a line without gaps, whatever the rank
}

// Plot implements plot.Plotter.
func (s Steps) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var line []vg.Point
	at := func(i int) vg.Length { return x(seconds(s.From.Add(time.Duration(i) * s.Width))) }
	for i, v := range s.Values {
		if i > 0 && s.Values[i-1] == v {
			line = line[:len(line)-1]
		} else {
			line = append(line, vg.Point{X: at(i), Y: y(v)})
		}
		line = append(line, vg.Point{X: at(i + 1), Y: y(v)})
	}
	if len(line) == 0 {
		return
	}
	if s.Filled {
		area := append([]vg.Point{{X: line[0].X, Y: c.Min.Y}}, append(line, vg.Point{X: line[len(line)-1].X, Y: c.Min.Y})...)
		c.FillPolygon(filling(s.Rank), c.ClipPolygonXY(area))
		return
	}
	c.StrokeLines(lineOf(s.Rank, s.Solid), c.ClipLinesXY(line)...)
}

// filling is the colour of the area of a rank.
func filling(rank int) color.Color {
	n := color.NRGBAModel.Convert(colours()[rank%len(dashes)]).(color.NRGBA)
	n.A = 0x70
	return n
}

// Line goes through points.
type Line struct {
	X, Y []float64
	Rank int
}

// Plot implements plot.Plotter.
func (l Line) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := make([]vg.Point, len(l.X))
	for i := range l.X {
		line[i] = vg.Point{X: x(l.X[i]), Y: y(l.Y[i])}
	}
	c.StrokeLines(lineOf(l.Rank, false), c.ClipLinesXY(line)...)
}

// heat are the colours of waits, from those of less than a minute to those of a week and more.
var heat = []color.NRGBA{
	{0xd7, 0xe3, 0xee, 0xff}, {0xfb, 0xdf, 0x9b, 0xff}, {0xf9, 0xb4, 0x5c, 0xff}, {0xef, 0x80, 0x42, 0xff}, {0xd9, 0x4a, 0x3a, 0xff}, {0xa3, 0x1f, 0x4b, 0xff}, {0x57, 0x12, 0x4f, 0xff},
}

// Heats are waits in seconds over time: a row of bins for each user, the first at the top. Less than 0: there is none.
type Heats struct {
	From  time.Time
	Width time.Duration
	Rows  [][]float64
}

// class returns which colour a wait has.
func class(wait float64) int {
	k := -1
	for i := range heat {
		if wait >= waits[i].seconds {
			k = i
		}
	}
	return k
}

// Plot implements plot.Plotter.
func (h Heats) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(i int) vg.Length { return min(x(seconds(h.From.Add(time.Duration(i)*h.Width))), c.Max.X) }
	paths := make([]vg.Path, len(heat))
	for row, bins := range h.Rows {
		middle := y(float64(len(h.Rows)-row) - 0.5)
		for i := 0; i < len(bins); {
			k, from := class(bins[i]), i
			for ; i < len(bins) && class(bins[i]) == k; i++ {
			}
			if k >= 0 {
				paths[k].Move(vg.Point{X: at(from), Y: middle})
				paths[k].Line(vg.Point{X: at(i), Y: middle})
			}
		}
	}
	c.SetLineWidth((y(1) - y(0)) * 0.9)
	c.SetLineDash(nil, 0)
	for k, path := range paths {
		if len(path) > 0 {
			c.SetColor(heat[k])
			c.Stroke(path)
		}
	}
}

// Dumbbell is a user's mean waits in seconds before and after a change.
type Dumbbell struct {
	Before, After float64
	Note          string // behind it
	Chance        bool   // the difference says nothing
}

// Dumbbells are the changes of users, a row each, the first at the top.
type Dumbbells []Dumbbell

// Plot implements plot.Plotter.
func (d Dumbbells) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, b := range d {
		from, to, at := x(Waited(b.Before)), x(Waited(b.After)), y(float64(len(d)-i)-0.5)
		shade := changed(b)
		c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.5}, c.Min.X, at, min(from, to), at)
		c.StrokeLine2(draw.LineStyle{Color: shade, Width: 2}, from, at, to, at)
		dots(c, shade, from, to, at)
		c.FillText(writing(8, false, color.Black, draw.XLeft, draw.YCenter), vg.Point{X: max(from, to) + 7, Y: at}, b.Note)
	}
}

// changed returns the colour of a change.
func changed(b Dumbbell) color.Color {
	switch {
	case b.Chance || b.After == b.Before:
		return grey
	case b.After < b.Before:
		return colours()[0]
	}
	return colours()[1]
}

// dots draws the ring before a change and the disc after it.
func dots(c draw.Canvas, shade color.Color, from, to, at vg.Length) {
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: shade, Radius: 3, Shape: draw.RingGlyph{}}, vg.Point{X: from, Y: at})
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: shade, Radius: 3, Shape: draw.CircleGlyph{}}, vg.Point{X: to, Y: at})
}

// LineKey is the key of a line.
func LineKey(rank int, solid bool, name string) Key {
	return Key{name, func(c draw.Canvas, x, y vg.Length) { c.StrokeLine2(lineOf(rank, solid), x, y, x+keySample, y) }}
}

// AreaKey is the key of an area.
func AreaKey(rank int, name string) Key {
	return Key{name, func(c draw.Canvas, x, y vg.Length) { block(c, filling(rank), x, y) }}
}

func block(c draw.Canvas, shade color.Color, x, y vg.Length) {
	c.FillPolygon(shade, []vg.Point{{X: x, Y: y - 4}, {X: x, Y: y + 4}, {X: x + keySample, Y: y + 4}, {X: x + keySample, Y: y - 4}})
}

// HeatKeys are the keys of waits.
func HeatKeys() (keys []Key) {
	for i, shade := range heat {
		name := "from " + waits[i].label
		if i == 0 {
			name = "wait below " + waits[1].label
		}
		keys = append(keys, Key{name, func(c draw.Canvas, x, y vg.Length) { block(c, shade, x, y) }})
	}
	return keys
}

// ChangeKeys are the keys of dumbbells.
func ChangeKeys(chance bool) []Key {
	key := func(name string, b Dumbbell) Key {
		return Key{name, func(c draw.Canvas, x, y vg.Length) {
			c.StrokeLine2(draw.LineStyle{Color: changed(b), Width: 2}, x, y, x+keySample, y)
			from, to := x+2, x+keySample-2
			if b.After < b.Before {
				from, to = to, from
			}
			dots(c, changed(b), from, to, y)
		}}
	}
	keys := []Key{key("longer: ring before, disc after", Dumbbell{After: 1}), key("shorter", Dumbbell{Before: 1})}
	if chance {
		keys = append(keys, key("may be chance", Dumbbell{Chance: true}))
	}
	return keys
}

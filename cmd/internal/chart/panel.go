package chart

import (
	"image/color"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panel is one quantity of all lines over the time shown.
type panel struct {
	quantity
	plot   *plot.Plot
	canvas draw.Canvas // where it goes, axes included
	footer vg.Length   // what the labels of the time axis take
}

const (
	// timeLabels is how many labels the time axis has at most.
	timeLabels = 9
	tickLength = 4
	// banded is how many lines there may be that have bands.
	banded = 3
)

// newPanel makes a panel; its time axis has labels only if it is the lowest.
func newPanel(q quantity, lines []line, shown span, zone *time.Location, lowest bool) *panel {
	courses := make([]course, len(lines))
	for i, l := range lines {
		courses[i] = thin(l, q, shown)
		if len(lines) > banded {
			courses[i].low, courses[i].high = nil, nil
		}
	}
	lo, hi := extent(courses)
	vertical := q.scale(lo, hi, int(2*q.share))
	horizontal := timeTicks(shown, timeLabels, zone)

	p := plot.New()
	p.BackgroundColor = nil
	axis(&p.X, shown.from, shown.to, horizontal)
	axis(&p.Y, vertical.lo, vertical.hi, vertical.ticks)
	p.X.Tick.Label = writing(9, false, color.Black, draw.XCenter, draw.YTop)
	p.Y.Tick.Label = writing(9, false, color.Black, draw.XRight, draw.YCenter)
	p.Y.Label.Text = q.label
	p.Y.Label.TextStyle = writing(9, false, color.Black, draw.XCenter, draw.YBottom)
	p.Y.Label.Padding = 4
	footer := p.X.Tick.Label.Height("00:00\n1 Jan") + tickLength
	if !lowest {
		p.X.Tick.Marker = plot.ConstantTicks(nil)
		footer = 0
	}
	p.Add(grid{horizontal, vertical.ticks})
	// The first lies on top.
	for i := len(lines) - 1; i >= 0; i-- {
		p.Add(curve{courses[i], q.mean, strokeOf(i, lines[i].group), markOf(i), shown, float64(i) / float64(len(lines))})
	}
	return &panel{quantity: q, plot: p, footer: footer}
}

// axis sets up an axis; gonum's own way with ticks knows nothing of calendars.
func axis(a *plot.Axis, lo, hi float64, ticks []tick) {
	a.Min, a.Max, a.Padding = lo, hi, 0
	a.Color, a.Tick.Color = grey, grey
	a.Tick.Length = tickLength
	marks := make(plot.ConstantTicks, len(ticks))
	for i, t := range ticks {
		marks[i] = plot.Tick{Value: t.at, Label: t.label}
	}
	a.Tick.Marker = marks
}

// extent returns the lowest and the highest value, both 0 if there is none.
func extent(courses []course) (lo, hi float64) {
	some := false
	for _, c := range courses {
		for _, p := range slices.Concat(c.XYs, c.band()) {
			if !some {
				lo, hi, some = p.Y, p.Y, true
			}
			lo, hi = min(lo, p.Y), max(hi, p.Y)
		}
	}
	return lo, hi
}

// align gives the data of all panels the same place between left and right.
func align(panels []*panel) {
	left, right := vg.Length(0), vg.Length(0)
	for _, p := range panels {
		within := p.plot.DataCanvas(p.canvas)
		left = max(left, within.Min.X-p.canvas.Min.X)
		right = max(right, p.canvas.Max.X-within.Max.X)
	}
	for _, p := range panels {
		within := p.plot.DataCanvas(p.canvas)
		p.canvas.Min.X += left - (within.Min.X - p.canvas.Min.X)
		p.canvas.Max.X -= right - (p.canvas.Max.X - within.Max.X)
	}
}

// grid is faint lines at the ticks, of the panels without labels too.
type grid struct{ vertical, horizontal []tick }

func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: faint, Width: 0.5}
	for _, t := range g.vertical {
		c.StrokeLine2(style, x(t.at), c.Min.Y, x(t.at), c.Max.Y)
	}
	for _, t := range g.horizontal {
		c.StrokeLine2(style, c.Min.X, y(t.at), c.Max.X, y(t.at))
	}
}

// curve is the line of one series in one panel.
type curve struct {
	course
	mean   bool
	stroke draw.LineStyle
	mark   draw.GlyphStyle
	shown  span
	// shift, from 0 to 1, keeps the marks of different lines apart.
	shift float64
}

func (l curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if outline := l.band(); len(outline) > 0 {
		area := make([]vg.Point, len(outline))
		for i, at := range outline {
			area[i] = vg.Point{X: x(at.X), Y: y(at.Y)}
		}
		c.FillPolygon(pale(l.stroke.Color), area)
	}
	stroke := plotter.Line{XYs: l.XYs, LineStyle: l.stroke}
	if l.mean {
		stroke.StepStyle = plotter.PreStep
	}
	stroke.Plot(c, p)
	for _, i := range l.marked() {
		c.DrawGlyphNoClip(l.mark, vg.Point{X: x(l.XYs[i].X), Y: y(l.XYs[i].Y)})
	}
}

// marks is how many marks there are along a line that is as long as the panel.
const marks = 8

// marked returns which points have a mark: one each time that an eighth of the
// time shown has gone by; if that is none, the last.
func (l curve) marked() []int {
	var places []int
	slot := func(i int) int {
		return int((l.XYs[i].X-l.shown.from)/(l.shown.to-l.shown.from)*marks + 1 - l.shift)
	}
	for i := 1; i < len(l.XYs); i++ {
		if slot(i) != slot(i-1) {
			places = append(places, i)
		}
	}
	if len(places) == 0 && len(l.XYs) > 0 {
		places = append(places, len(l.XYs)-1)
	}
	return places
}

package chart

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ends is where the names stand, to the right of the lines.
const (
	// leader is the length of the piece that leads from the end of a line to its name.
	leader = 22
	// leastSkip is from one name to the next at least: where there is less, the panel has none.
	leastSkip = 9
)

// endsWidth returns how wide the names at the ends of the lines are.
func endsWidth(lines []line) vg.Length {
	widest := vg.Length(0)
	for _, l := range lines {
		widest = max(widest, nameStyle().Width(l.name))
	}
	return leader + widest
}

// ends writes the names of the lines at their ends, each with its mark, as near to the end as the others allow.
func (p *panel) ends(lines []line) {
	data := p.plot.DataCanvas(p.canvas)
	skip := min(lineSkip, (data.Max.Y-data.Min.Y)/vg.Length(len(lines)))
	if skip < leastSkip {
		return
	}
	x, y := p.plot.Transforms(&data)
	var of []int // lines, the lowest end first
	for i, c := range p.courses {
		if len(c.XYs) > 0 {
			of = append(of, i)
		}
	}
	last := func(i int) plotter.XY { return p.courses[i].XYs[len(p.courses[i].XYs)-1] }
	slices.SortStableFunc(of, func(a, b int) int { return cmp.Or(cmp.Compare(last(a).Y, last(b).Y), cmp.Compare(b, a)) })
	wanted := make([]vg.Length, len(of))
	for k, i := range of {
		wanted[k] = y(last(i).Y)
	}
	for k, at := range apart(wanted, skip, data.Min.Y+skip/2, data.Max.Y-skip/2) {
		i := of[k]
		stroke := strokeOf(i, lines[i].group)
		stroke.Width = vg.Points(0.6)
		p.canvas.StrokeLine2(stroke, x(last(i).X), wanted[k], data.Max.X+leader-9, at)
		p.canvas.DrawGlyphNoClip(markOf(i), vg.Point{X: data.Max.X + leader - 7, Y: at})
		p.canvas.FillText(nameStyle(), vg.Point{X: data.Max.X + leader, Y: at}, lines[i].name)
	}
}

// apart returns places, ascending, that are skip from each other at least and between low and high, as near to those wanted, also
// ascending, as a pass in each direction brings them.
func apart(wanted []vg.Length, skip, low, high vg.Length) []vg.Length {
	places := slices.Clone(wanted)
	for i := range places {
		least := low
		if i > 0 {
			least = places[i-1] + skip
		}
		places[i] = max(places[i], least)
	}
	for i := len(places) - 1; i >= 0; i-- {
		most := high
		if i < len(places)-1 {
			most = places[i+1] - skip
		}
		places[i] = min(places[i], most)
	}
	return places
}

// changes marks and names the changes of factors on the lines.
type changes struct {
	lines []line
	most  int // names
}

func (g changes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := writing(8, false, color.Black, draw.XLeft, draw.YBottom)
	var taken []vg.Rectangle
	for i := range g.lines {
		for k := 1; k < len(g.lines[i].points); k++ {
			last, at := g.lines[i].points[k-1], g.lines[i].points[k]
			factor, changed := refactored(last, at)
			value, ok := logarithm(at.Effective)
			if !changed || !ok {
				continue
			}
			mark := draw.GlyphStyle{Color: colours()[i%len(colours())], Radius: vg.Points(4), Shape: draw.RingGlyph{}}
			place := vg.Point{X: x(seconds(at.Time)), Y: y(value)}
			c.DrawGlyphNoClip(mark, place)
			text := "factor " + number(float64(float32(factor)))
			width, height := style.Width(text), style.Height("X")
			box := vg.Rectangle{Min: vg.Point{X: min(place.X+5, c.Max.X-width), Y: min(place.Y+4, c.Max.Y-height)}}
			box.Max = vg.Point{X: box.Min.X + width, Y: box.Min.Y + height}
			if len(taken) < g.most && !slices.ContainsFunc(taken, func(r vg.Rectangle) bool {
				return r.Min.X < box.Max.X && box.Min.X < r.Max.X && r.Min.Y < box.Max.Y && box.Min.Y < r.Max.Y
			}) {
				taken = append(taken, box)
				c.FillText(style, box.Min, text)
			}
		}
	}
}

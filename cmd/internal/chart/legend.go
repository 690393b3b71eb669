package chart

import (
	"image/color"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	// sample is how long the piece of line is that stands before a name.
	sample = 26
	// columns is how many columns of names there are at most.
	columns = 4
	// lineSkip is from one line of the legend to the next.
	lineSkip = 14
)

func nameStyle() text.Style { return writing(9, false, color.Black, draw.XLeft, draw.YCenter) }

// legend draws names and samples of the lines at the bottom, in columns, down
// each column by rank, and returns the height that it has taken.
func legend(c draw.Canvas, lines []line, rest left) vg.Length {
	name := nameStyle()
	widest := vg.Length(0)
	for _, l := range lines {
		widest = max(widest, name.Width(l.name))
	}
	each := sample + 6 + widest + 2*margin
	across := min(columns, max(1, int((c.Max.X-c.Min.X+2*margin)/each)), len(lines))
	down := (len(lines) + across - 1) / across
	rows := down
	if rest.lines > 0 {
		rows++
		note := writing(9, false, grey, draw.XLeft, draw.YCenter)
		c.FillText(note, vg.Point{X: c.Min.X, Y: c.Min.Y + lineSkip/2}, others(rest, drawn))
	}
	top := c.Min.Y + lineSkip*vg.Length(rows)
	for i, l := range lines {
		x, y := c.Min.X+each*vg.Length(i/down), top-lineSkip*(vg.Length(i%down)+0.5)
		c.StrokeLine2(strokeOf(i, l.group), x, y, x+sample, y)
		c.DrawGlyphNoClip(markOf(i), vg.Point{X: x + sample/2, Y: y})
		c.FillText(name, vg.Point{X: x + sample + 6, Y: y}, l.name)
	}
	return lineSkip * vg.Length(rows)
}

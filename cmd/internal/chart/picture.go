package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Picture is groups of plots in columns of equal width, below a title and a key. Unlike a Chart it can have any axes.
type Picture struct {
	Title string
	// Note says how to read it.
	Note    string
	Key     []Key
	Columns int
	Groups  []Group
}

// Group is plots one above another that share the horizontal axis, of which the lowest has the labels.
type Group struct {
	Title string
	Plots []Axes
}

// Axes are marks on two axes, of a height in points.
type Axes struct {
	Label  string // above it
	Height float64
	X, Y   Axis
	Marks  []Mark
}

// Mark is what stands on axes.
type Mark = plot.Plotter

// Key is a sample of a mark, and what it stands for.
type Key struct {
	Name   string
	sample func(c draw.Canvas, x, y vg.Length) // y is the middle
}

const (
	// pictureWidth is that of a picture of its own, inlineWidth of one in a page, in points.
	pictureWidth = 750
	inlineWidth  = 290
	// labelWidth is what a label of an axis takes, at least.
	labelWidth = 42
	keySample  = 18
	// roomy is how much wider texts may be where the typeface is another one.
	roomy = 1.12
)

// painter paints a picture.
type painter struct {
	Picture
	inline bool
	width  vg.Length // within the margins
	fix    func(string) string
}

// Draw writes the picture in one of the Formats.
func (p Picture) Draw(w io.Writer, format string) error {
	a := painter{Picture: p, width: pictureWidth - 2*margin, fix: printable}
	height := a.height() + 2*margin
	if format == "svg" {
		canvas := vgsvg.New(pictureWidth, height)
		a.paint(draw.New(canvas))
		return writeSVG(w, canvas)
	}
	a.fix = func(s string) string { return known(printable(s), nameStyle()) }
	canvas := vgimg.NewWith(vgimg.UseWH(pictureWidth, height), vgimg.UseDPI(dpi))
	a.paint(draw.New(canvas))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// Inline returns the picture, of which a page has the title and the note, as an element for it; see Chart.Inline.
func (p Picture) Inline(attributes string) (string, error) {
	p.Title, p.Note, p.Columns = "", "", 1
	a := painter{Picture: p, inline: true, width: inlineWidth, fix: printable}
	canvas := vgsvg.New(inlineWidth, a.height())
	a.paint(draw.New(canvas))
	return element(canvas, attributes)
}

// element returns what was drawn as an element for a page.
func element(canvas *vgsvg.Canvas, attributes string) (string, error) {
	var b bytes.Buffer
	if err := writeSVG(&b, canvas); err != nil {
		return "", err
	}
	_, drawing, _ := strings.Cut(b.String(), "<g ")
	follow := []string{hex(grey), "var(--axis)", hex(faint), "var(--grid)", "font-family:" + fonts + ";", "",
		"font-variant:normal;", "", "font-weight:normal;", "", "font-style:normal;", ""}
	for i, c := range heat {
		follow = append(follow, hex(c), fmt.Sprintf("var(--heat%d)", i))
	}
	width, height := canvas.Size()
	return fmt.Sprintf("<svg viewBox=\"0 0 %g %.5g\" fill=\"currentColor\" %s>\n<g ", float64(width), float64(height), attributes) +
		strings.NewReplacer(follow...).Replace(drawing), nil
}

func titleStyle() text.Style { return writing(12, true, color.Black, draw.XLeft, draw.YTop) }
func groupStyle() text.Style { return writing(10, true, color.Black, draw.XLeft, draw.YTop) }
func noteStyle() text.Style  { return writing(9, false, grey, draw.XLeft, draw.YTop) }
func footer() vg.Length      { return writing(9, false, grey, 0, 0).Height("0\n0") + tickLength }

// wrapped cuts a text into lines that are as wide as the picture at most.
func (a *painter) wrapped(s string, style text.Style) (lines []string) {
	for _, word := range strings.Fields(a.fix(s)) {
		if n := len(lines) - 1; n >= 0 && roomy*style.Width(lines[n]+" "+word) <= a.width {
			lines[n] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// keyRows returns the rows of the key.
func (a *painter) keyRows() (rows [][]Key) {
	left := vg.Length(-1)
	for _, k := range a.Key {
		k.Name = shortened(a.fix(k.Name), 48)
		w := keyWidth(k)
		if w > left {
			rows, left = append(rows, nil), a.width
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		left -= w
	}
	return rows
}

func keyWidth(k Key) vg.Length { return keySample + 5 + roomy*nameStyle().Width(k.Name) + margin }

// rows returns the groups that are beside each other.
func (a *painter) rows() [][]Group { return slices.Collect(slices.Chunk(a.Groups, max(a.Columns, 1))) }

func (a *painter) groupHeight(g Group) vg.Length {
	h := footer() + margin
	if g.Title != "" && !a.inline {
		h += groupStyle().Height("X") + 4
	}
	for _, p := range g.Plots {
		h += vg.Length(p.Height) + 2*margin/3
		if p.Label != "" {
			h += labelStyle(0, 0).Height("X") + 4
		}
	}
	return h
}

func (a *painter) rowHeight(row []Group) (h vg.Length) {
	for _, g := range row {
		h = max(h, a.groupHeight(g))
	}
	return h
}

// height returns what the picture takes, without the margins.
func (a *painter) height() (h vg.Length) {
	if a.Title != "" {
		h += titleStyle().Height("X") + 5
	}
	h += vg.Length(len(a.wrapped(a.Note, noteStyle()))) * lineSkip
	h += vg.Length(len(a.keyRows()))*lineSkip + margin
	for _, row := range a.rows() {
		h += a.rowHeight(row)
	}
	return h
}

func (a *painter) paint(c draw.Canvas) {
	if !a.inline {
		c.SetColor(color.White)
		c.Fill(c.Rectangle.Path())
		c = draw.Crop(c, margin, -margin, margin, -margin)
	}
	top := c.Max.Y
	if a.Title != "" {
		c.FillText(titleStyle(), vg.Point{X: c.Min.X, Y: top}, shortened(a.fix(a.Title), 100))
		top -= titleStyle().Height("X") + 5
	}
	for _, line := range a.wrapped(a.Note, noteStyle()) {
		c.FillText(noteStyle(), vg.Point{X: c.Min.X, Y: top}, line)
		top -= lineSkip
	}
	for _, row := range a.keyRows() {
		x, y := c.Min.X, top-lineSkip/2
		for _, k := range row {
			k.sample(c, x, y)
			c.FillText(nameStyle(), vg.Point{X: x + keySample + 5, Y: y}, k.Name)
			x += keyWidth(k)
		}
		top -= lineSkip
	}
	top -= margin
	columns := vg.Length(max(a.Columns, 1))
	each := (a.width - (columns-1)*2*margin) / columns
	for _, row := range a.rows() {
		for i, g := range row {
			at := c
			at.Min.X = c.Min.X + vg.Length(i)*(each+2*margin)
			at.Max = vg.Point{X: at.Min.X + each, Y: top}
			a.group(at, g)
		}
		top -= a.rowHeight(row)
	}
}

// group paints plots from the top of a canvas down.
func (a *painter) group(c draw.Canvas, g Group) {
	top := c.Max.Y
	if g.Title != "" && !a.inline {
		c.FillText(groupStyle(), vg.Point{X: c.Min.X, Y: top}, a.within(g.Title, groupStyle(), c))
		top -= groupStyle().Height("X") + 4
	}
	var panels []*panel
	for i, q := range g.Plots {
		if q.Label != "" {
			c.FillText(labelStyle(draw.XLeft, draw.YTop), vg.Point{X: c.Min.X, Y: top}, a.within(q.Label, labelStyle(0, 0), c))
			top -= labelStyle(0, 0).Height("X") + 4
		}
		p := &panel{plot: a.plot(q, c.Max.X-c.Min.X, i == len(g.Plots)-1), canvas: c}
		p.canvas.Max.Y = top
		top -= vg.Length(q.Height)
		p.canvas.Min.Y = top
		if i == len(g.Plots)-1 {
			p.canvas.Min.Y -= footer()
		}
		top -= 2 * margin / 3
		panels = append(panels, p)
	}
	align(panels)
	for _, p := range panels {
		p.plot.Draw(p.canvas)
	}
}

// within returns a text that is no wider than a canvas.
func (a *painter) within(s string, style text.Style, c draw.Canvas) string {
	s = a.fix(s)
	for n := len([]rune(s)); n > 3 && style.Width(s) > c.Max.X-c.Min.X; n-- {
		s = shortened(s, n-1)
	}
	return s
}

// plot returns the plot, so wide with its labels.
func (a *painter) plot(q Axes, width vg.Length, lowest bool) *plot.Plot {
	x, y := q.X(int(width/labelWidth)-1), q.Y(max(int(q.Height/30), 2))
	p := plot.New()
	p.BackgroundColor = nil
	for i := range y.ticks {
		y.ticks[i].label = a.fix(y.ticks[i].label)
	}
	axis(&p.X, x.lo, x.hi, x.ticks)
	axis(&p.Y, y.lo, y.hi, y.ticks)
	p.X.Tick.Label = writing(9, false, color.Black, draw.XCenter, draw.YTop)
	p.Y.Tick.Label = writing(9, false, color.Black, draw.XRight, draw.YCenter)
	if y.size > 0 {
		p.Y.Tick.Label = writing(y.size, false, color.Black, draw.XRight, draw.YCenter)
		p.Y.Tick.Length = 0
		p.Y.LineStyle.Width = 0
		p.Y.Padding = 5
		y.ticks = nil
	}
	if !lowest {
		p.X.Tick.Marker = plot.ConstantTicks(nil)
	}
	p.Add(grid{x.ticks, y.ticks})
	p.Add(q.Marks...)
	return p
}

// Package chart draws how priorities and usage went over time: as a picture
// in SVG or PNG, or as text for a terminal.
//
// A picture has panels that share the time axis: effective priority, on a logarithmic scale, since factors lie decades
// apart; the slots in use; and, if jobs asked for any, the slots wanted by idle jobs. The text has the first two. Each
// submitter has one line, the same in each panel, with its name at the line's end; accounting groups are dashed. A
// change of a factor is a step of the priority, marked and named. If there are more than a picture can show, it has
// those with the most usage in the time shown and counts the rest. A line of many points is drawn as their mean over
// time; up to three lines also have a pale band from the lowest to the highest.
//
// scale.go chooses the lines and their points, and places the ticks; chart.go draws with gonum/plot, ends.go adds names
// and marks to the lines; terminal.go draws with characters. Nothing here reads a clock or a file, and the same input
// gives the same bytes.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	stdfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"fairspool/lib/history"
)

// ErrNothing is what drawing returns when no series has a point that can be
// drawn.
var ErrNothing = errors.New("nothing to draw: there are no samples")

// Chart is what there is to draw.
type Chart struct {
	// Title stands above; the range of time stands below it.
	Title string
	// Series are drawn each as a line in a colour of its own; a name without @ is an
	// accounting group's. Points are ascending in time; those with a value that is
	// infinite or not a number are left out.
	Series []history.Series
	// Zone is the zone of the displayed times.
	Zone *time.Location
}

// quantity is one of the things drawn over time.
type quantity struct {
	label string
	// of returns the value to draw, and false if it has no place on the scale.
	of func(history.Point) (float64, bool)
	// scale returns the range and the ticks for values from lo to hi, with
	// about n ticks.
	scale func(lo, hi float64, n int) scale
	// steps says how the values between two points are drawn. Means since the point before have the later point's
	// value, values that hold until a change the earlier one's; none: they go from one to the other.
	steps plotter.StepKind
	// before returns the value just before a point, if that is another: then the line is a step there; nil: it never is.
	before func(last, p history.Point) (float64, bool)
	// share is the part of the height that is the panel's, relative to the
	// others.
	share float64
}

func priority() quantity {
	return quantity{
		label: "effective priority, lower is better",
		of:    func(p history.Point) (float64, bool) { return logarithm(p.Effective) },
		before: func(last, p history.Point) (float64, bool) {
			if _, changed := refactored(last, p); !changed {
				return 0, false
			}
			return logarithm(p.Priority * last.Effective / last.Priority)
		},
		scale: decades, share: 3,
	}
}

func inUse() quantity {
	return quantity{
		label: "slots in use",
		of:    func(p history.Point) (float64, bool) { return p.InUse, true },
		scale: fromZero, steps: plotter.PreStep, share: 3,
	}
}

func demand() quantity {
	return quantity{
		label: "slots wanted",
		of:    func(p history.Point) (float64, bool) { return p.Demand, true },
		scale: fromZero, steps: plotter.PostStep, share: 1.6,
	}
}

// refactored reports whether the priority factor changed between two points, and returns the new one.
func refactored(last, p history.Point) (factor float64, changed bool) {
	if last.Priority <= 0 || p.Priority <= 0 || last.Effective <= 0 || p.Effective <= 0 {
		return 0, false
	}
	before, factor := last.Effective/last.Priority, p.Effective/p.Priority
	// What samples have is rounded to twelve digits.
	return factor, math.Abs(factor/before-1) > 1e-6
}

// span is a range of time in Unix seconds, from below to.
type span struct{ from, to float64 }

// seconds returns t in Unix seconds.
func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// moment is the inverse of seconds, to the second.
func moment(s float64, zone *time.Location) time.Time { return time.Unix(int64(s), 0).In(zone) }

// words returns the range as people write it.
func (s span) words(zone *time.Location) string {
	const layout = "2006-01-02 15:04"
	if s.to-s.from < 1 {
		return moment(s.from, zone).Format(layout + " MST")
	}
	from, to := moment(s.from, zone), moment(s.to, zone)
	if from.Format("MST") != to.Format("MST") {
		return from.Format(layout+" MST") + " to " + to.Format(layout+" MST")
	}
	return from.Format(layout) + " to " + to.Format(layout+" MST")
}

// together returns the time that the lines cover.
func together(lines []line) span {
	s := span{seconds(lines[0].points[0].Time), seconds(lines[0].points[0].Time)}
	for _, l := range lines {
		s.from = min(s.from, seconds(l.points[0].Time))
		s.to = max(s.to, seconds(l.points[len(l.points)-1].Time))
	}
	return s
}

// shown returns the range that an axis shows for s, which makes an hour of a
// moment.
func (s span) shown() span {
	if s.to-s.from < 1 {
		return span{s.from - 1800, s.to + 1800}
	}
	return s
}

// sheet is the area of a picture.
type sheet struct {
	// width and height are in points.
	width, height vg.Length
	// lines is how many lines a picture shows at most, labels how many labels its time axis has at most.
	lines, labels int
	// inline: the picture is in a page that has a title for it.
	inline bool
}

var (
	// whole is a picture of its own: 1000 by 800 pixels, at 96 to an inch.
	whole = sheet{width: 750, height: 600, lines: 12, labels: 9}
	// inline is a picture within a page, with texts legible on a telephone.
	inline = sheet{width: 250, height: 270, lines: 6, labels: 4, inline: true}
)

const (
	dpi = 96
	// margin is the free space around and between parts of the picture.
	margin = 9
)

// Formats are the formats of pictures, which are the extensions of the files
// without the dot.
func Formats() []string { return []string{"svg", "png"} }

// Draw writes a picture in one of the Formats. It returns ErrNothing, and has
// written nothing, if there is no point to draw.
func (c Chart) Draw(w io.Writer, format string) error {
	s := whole
	lines, rest := pick(c.Series, s.lines)
	if len(lines) == 0 {
		return ErrNothing
	}
	switch format {
	case "svg":
		canvas := vgsvg.New(s.width, s.height)
		c.paint(draw.New(canvas), s, lines, rest)
		return writeSVG(w, canvas)
	case "png":
		for i := range lines {
			lines[i].name = known(lines[i].name, nameStyle())
		}
		canvas := vgimg.NewWith(vgimg.UseWH(s.width, s.height), vgimg.UseDPI(dpi))
		c.paint(draw.New(canvas), s, lines, rest)
		_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
		return err
	}
	return fmt.Errorf("%q: pictures are svg or png", format)
}

// Inline returns the picture as an element for a page of HTML, with the first six of the lines that Draw would draw.
// Its texts have the colour of the surrounding text, axes and grid the colours of the variables --axis and --grid.
// attributes are the element's, escaped. The error is ErrNothing if there is no point to draw.
func (c Chart) Inline(attributes string) (string, error) {
	s := inline
	lines, rest := pick(c.Series, s.lines)
	if len(lines) == 0 {
		return "", ErrNothing
	}
	undomain(lines)
	canvas := vgsvg.New(s.width, s.height)
	c.paint(draw.New(canvas), s, lines, rest)
	var b bytes.Buffer
	if err := writeSVG(&b, canvas); err != nil {
		return "", err
	}
	_, drawing, _ := strings.Cut(b.String(), "<g ")
	return fmt.Sprintf("<svg viewBox=\"0 0 %g %g\" fill=\"currentColor\" %s>\n<g ", float64(s.width), float64(s.height), attributes) +
		strings.NewReplacer(hex(grey), "var(--axis)", hex(faint), "var(--grid)", "font-family:"+fonts+";", "",
			"font-variant:normal;", "", "font-weight:normal;", "", "font-style:normal;", "").Replace(drawing), nil
}

// undomain leaves out the domain of all names if it is the same.
func undomain(lines []line) {
	domain := ""
	for i, l := range lines {
		_, of, _ := strings.Cut(l.name, "@")
		if i > 0 && !l.group && domain != "" && of != domain {
			return
		}
		if !l.group {
			domain = of
		}
	}
	for i := range lines {
		lines[i].name = strings.TrimSuffix(lines[i].name, "@"+domain)
	}
}

// hex writes a colour as SVG has it.
func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// fonts are typefaces of the same measure as the one that texts are measured with: it is not everywhere.
const fonts = family + ",Arial,Helvetica,sans-serif"

// writeSVG writes the canvas.
func writeSVG(w io.Writer, canvas *vgsvg.Canvas) error {
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("font-family:"+family+";"), []byte("font-family:"+fonts+";")))
	return err
}

// paint draws the title at the top, the legend at the bottom and the panels
// between them.
func (c Chart) paint(canvas draw.Canvas, s sheet, lines []line, rest left) {
	covered := together(lines)
	if !s.inline {
		canvas.SetColor(color.White)
		canvas.Fill(canvas.Rectangle.Path())
		canvas = draw.Crop(canvas, margin, -margin, margin, -margin)
		title := writing(12, true, color.Black, draw.XLeft, draw.YTop)
		canvas.FillText(title, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, printable(c.Title))
		canvas.Max.Y -= title.Height("X") + 3
	}
	under := writing(9, false, grey, draw.XLeft, draw.YTop)
	canvas.FillText(under, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, covered.words(c.Zone))
	canvas.Max.Y -= under.Height("X") + margin

	if s.inline {
		canvas.Min.Y += legend(canvas, s, lines, rest) + margin
	} else if rest.lines > 0 {
		note(canvas, s, rest)
		canvas.Min.Y += lineSkip + margin
	}
	c.panels(canvas, s, lines, covered.shown())
}

// panels draws the quantities, one above the other.
func (c Chart) panels(canvas draw.Canvas, s sheet, lines []line, shown span) {
	shows := []quantity{priority(), inUse()}
	if !s.inline && slices.ContainsFunc(lines, line.wanted) {
		shows = append(shows, demand())
	}
	panels := make([]*panel, len(shows))
	shares := 0.0
	for i, q := range shows {
		panels[i] = newPanel(q, s, lines, shown, c.Zone, i == len(shows)-1)
		shares += q.share
	}
	// The lowest has the labels of the time axis besides.
	if !s.inline {
		canvas.Max.X -= endsWidth(lines)
	}
	free := canvas.Max.Y - canvas.Min.Y - margin*vg.Length(len(panels)-1) - panels[len(panels)-1].footer
	for _, p := range panels {
		free -= p.header
	}
	top := canvas.Max.Y
	for _, p := range panels {
		if p.header > 0 {
			canvas.FillText(labelStyle(draw.XLeft, draw.YTop), vg.Point{X: canvas.Min.X, Y: top}, p.label)
			top -= p.header
		}
		p.canvas = canvas
		p.canvas.Max.Y = top
		p.canvas.Min.Y = top - free*vg.Length(p.share/shares) - p.footer
		top = p.canvas.Min.Y - margin
	}
	align(panels)
	for _, p := range panels {
		p.plot.Draw(p.canvas)
		if !s.inline {
			p.ends(lines)
		}
	}
}

// colours is the palette of Okabe and Ito, which people with any kind of
// colour vision can tell apart, without its yellow, which white paper swallows.
func colours() []color.Color {
	return []color.Color{
		color.NRGBA{0x00, 0x72, 0xb2, 0xff}, // blue
		color.NRGBA{0xd5, 0x5e, 0x00, 0xff}, // vermilion
		color.NRGBA{0x00, 0x9e, 0x73, 0xff}, // bluish green
		color.NRGBA{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
		color.NRGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
		color.NRGBA{0x56, 0xb4, 0xe9, 0xff}, // sky blue
		color.NRGBA{0x00, 0x00, 0x00, 0xff},
	}
}

// shapes are of another number than the colours, so that no two lines have
// both in common.
func shapes() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{},
		draw.CrossGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PlusGlyph{},
	}
}

var (
	grey  = color.NRGBA{0x59, 0x59, 0x59, 0xff}
	faint = color.NRGBA{0xe0, 0xe0, 0xe0, 0xff}
)

// strokeOf returns how the line of this rank is drawn.
func strokeOf(rank int, group bool) draw.LineStyle {
	s := draw.LineStyle{Color: colours()[rank%len(colours())], Width: vg.Points(1.1)}
	if group {
		s.Dashes = []vg.Length{vg.Points(6), vg.Points(2.5)}
	}
	return s
}

// pale returns the colour of the band along a line.
func pale(c color.Color) color.Color {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = 0x30
	return n
}

// markOf returns the marks upon the line of this rank.
func markOf(rank int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: colours()[rank%len(colours())], Radius: vg.Points(2.8), Shape: shapes()[rank%len(shapes())]}
}

// family is the typeface, as SVG names it.
const family = "Liberation Sans"

// writing returns a text style of the size, in points.
func writing(size float64, bold bool, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
	if bold {
		f.Weight = stdfont.WeightBold
	}
	return text.Style{Color: c, Font: f, XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}

// known replaces the characters that the typeface has no glyph for, which
// would leave no trace in a picture of pixels.
func known(name string, style text.Style) string {
	face := style.Handler.Cache().Lookup(style.Font, style.Font.Size).Face
	var b sfnt.Buffer
	return strings.Map(func(r rune) rune {
		if glyph, err := face.GlyphIndex(&b, r); err != nil || glyph == 0 {
			return '?'
		}
		return r
	}, name)
}

const (
	// sample is the length of the piece of line before a name.
	sample = 26
	// columns is how many columns of names there are at most.
	columns = 4
	// lineSkip is from one line of the legend to the next.
	lineSkip = 14
)

func nameStyle() text.Style { return writing(9, false, color.Black, draw.XLeft, draw.YCenter) }

// legend draws names and samples of the lines at the bottom, in columns, down
// each column by rank, and returns the height that it has taken.
func legend(c draw.Canvas, s sheet, lines []line, rest left) vg.Length {
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
		note(c, s, rest)
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

// note says at the bottom how many lines are left out.
func note(c draw.Canvas, s sheet, rest left) {
	c.FillText(writing(9, false, grey, draw.XLeft, draw.YCenter), vg.Point{X: c.Min.X, Y: c.Min.Y + lineSkip/2}, others(rest, s))
}

// panel is one quantity of all lines over the time shown.
type panel struct {
	quantity
	plot    *plot.Plot
	courses []course
	canvas  draw.Canvas // where it goes, axes included
	footer  vg.Length   // the height of the time axis's labels
	header  vg.Length   // the height of the label above it; 0: the label is beside the axis
}

func labelStyle(x text.XAlignment, y text.YAlignment) text.Style {
	return writing(9, false, color.Black, x, y)
}

const (
	tickLength = 4
	// banded is how many lines there may be that have bands.
	banded = 3
)

// newPanel makes a panel; its time axis has labels only if it is the lowest.
func newPanel(q quantity, s sheet, lines []line, shown span, zone *time.Location, lowest bool) *panel {
	courses := make([]course, len(lines))
	for i, l := range lines {
		courses[i] = thin(l, q, shown)
		if len(lines) > banded {
			courses[i].low, courses[i].high = nil, nil
		}
	}
	lo, hi := extent(courses)
	vertical := q.scale(lo, hi, int(2*q.share))
	horizontal := timeTicks(shown, s.labels, zone)

	p := plot.New()
	p.BackgroundColor = nil
	axis(&p.X, shown.from, shown.to, horizontal)
	axis(&p.Y, vertical.lo, vertical.hi, vertical.ticks)
	p.X.Tick.Label = writing(9, false, color.Black, draw.XCenter, draw.YTop)
	p.Y.Tick.Label = writing(9, false, color.Black, draw.XRight, draw.YCenter)
	header := vg.Length(0)
	if s.inline {
		header = labelStyle(draw.XLeft, draw.YTop).Height("X") + 5
	} else {
		p.Y.Label.Text = q.label
		p.Y.Label.TextStyle = labelStyle(draw.XCenter, draw.YBottom)
		p.Y.Label.Padding = 4
	}
	footer := p.X.Tick.Label.Height("00:00\n1 Jan") + tickLength
	if !lowest {
		p.X.Tick.Marker = plot.ConstantTicks(nil)
		footer = 0
	}
	p.Add(grid{horizontal, vertical.ticks})
	// The first lies on top.
	for i := len(lines) - 1; i >= 0; i-- {
		p.Add(curve{courses[i], q.steps, strokeOf(i, lines[i].group), markOf(i), shown, float64(i) / float64(len(lines))})
	}
	if q.before != nil {
		p.Add(changes{lines, s.lines})
	}
	return &panel{quantity: q, plot: p, courses: courses, footer: footer, header: header}
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

// extent returns the lowest and the highest value, both 0 without values.
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
	steps  plotter.StepKind
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
	stroke.StepStyle = l.steps
	stroke.Plot(c, p)
	for _, i := range l.marked() {
		c.DrawGlyphNoClip(l.mark, vg.Point{X: x(l.XYs[i].X), Y: y(l.XYs[i].Y)})
	}
}

// marks is how many marks there are along a line that is as long as the panel.
const marks = 8

// marked returns the indices of points with a mark: one for each eighth of the time
// shown; if there is none, the last.
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

package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	// width and height are a picture's, in points: 1000 by 800 pixels, of
	// which there are 96 to an inch.
	width, height = 750, 600
	dpi           = 96
	// margin is left free around and between what is drawn.
	margin = 9
	// drawn is how many lines a picture shows at most.
	drawn = 12
)

// Formats are the formats of pictures, which are the extensions of the files
// without the dot.
func Formats() []string { return []string{"svg", "png"} }

// Draw writes a picture in one of the Formats. It returns ErrNothing, and has
// written nothing, if there is no point to draw.
func (c Chart) Draw(w io.Writer, format string) error {
	lines, rest := pick(c.Series, drawn)
	if len(lines) == 0 {
		return ErrNothing
	}
	switch format {
	case "svg":
		canvas := vgsvg.New(width, height)
		c.paint(draw.New(canvas), lines, rest)
		return writeSVG(w, canvas)
	case "png":
		for i := range lines {
			lines[i].name = known(lines[i].name, nameStyle())
		}
		canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
		c.paint(draw.New(canvas), lines, rest)
		_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
		return err
	}
	return fmt.Errorf("%q: pictures are svg or png", format)
}

// writeSVG names typefaces of the same measure behind the one that the texts
// were measured with: it is not everywhere.
func writeSVG(w io.Writer, canvas *vgsvg.Canvas) error {
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	fonts := "font-family:" + family + ";"
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte(fonts), []byte("font-family:"+family+",Arial,Helvetica,sans-serif;")))
	return err
}

// paint draws the title at the top, the legend at the bottom and the panels
// between them.
func (c Chart) paint(canvas draw.Canvas, lines []line, rest left) {
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	canvas = draw.Crop(canvas, margin, -margin, margin, -margin)

	covered := together(lines)
	title := writing(12, true, color.Black, draw.XLeft, draw.YTop)
	canvas.FillText(title, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, printable(c.Title))
	canvas.Max.Y -= title.Height("X") + 3
	under := writing(9, false, grey, draw.XLeft, draw.YTop)
	canvas.FillText(under, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, covered.words(c.Zone))
	canvas.Max.Y -= under.Height("X") + margin

	canvas.Min.Y += legend(canvas, lines, rest) + margin
	c.panels(canvas, lines, covered.shown())
}

// panels draws the quantities, one above the other.
func (c Chart) panels(canvas draw.Canvas, lines []line, shown span) {
	shows := []quantity{priority(), inUse()}
	if slices.ContainsFunc(lines, line.wanted) {
		shows = append(shows, demand())
	}
	panels := make([]*panel, len(shows))
	shares := 0.0
	for i, q := range shows {
		panels[i] = newPanel(q, lines, shown, c.Zone, i == len(shows)-1)
		shares += q.share
	}
	// The lowest has the labels of the time axis besides.
	free := canvas.Max.Y - canvas.Min.Y - margin*vg.Length(len(panels)-1) - panels[len(panels)-1].footer
	top := canvas.Max.Y
	for _, p := range panels {
		p.canvas = canvas
		p.canvas.Max.Y = top
		p.canvas.Min.Y = top - free*vg.Length(p.share/shares) - p.footer
		top = p.canvas.Min.Y - margin
	}
	align(panels)
	for _, p := range panels {
		p.plot.Draw(p.canvas)
	}
}

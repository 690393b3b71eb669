package chart

import (
	"image/color"
	"strings"

	stdfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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

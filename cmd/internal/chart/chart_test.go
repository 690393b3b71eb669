package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fairspool/internal/testenv"
	"fairspool/lib/history"
)

// noon is the time at which all series of the tests begin.
var noon = time.Date(2026, 11, 14, 12, 0, 0, 0, time.UTC)

// waves returns a series of n points, in use from 0 to most.
func waves(name string, n int, step time.Duration, most, factor float64) history.Series {
	s := history.Series{Name: name}
	for i := range n {
		up := 1 + math.Sin(float64(i)/20)
		s.Points = append(s.Points, history.Point{
			Time: noon.Add(time.Duration(i) * step), Effective: (0.5 + most*up) * factor, InUse: most / 2 * up, Demand: most,
		})
	}
	return s
}

func everybody(n int) []history.Series {
	var all []history.Series
	for i := range n {
		all = append(all, waves(fmt.Sprintf("user%02d@example.org", i), 50, time.Hour, float64(i+1), 1))
	}
	return all
}

// drawnSVG returns the texts and the number of paths of a picture.
func drawnSVG(t *testing.T, c Chart) (texts []string, paths int) {
	t.Helper()
	var b bytes.Buffer
	if err := c.Draw(&b, "svg"); err != nil {
		t.Fatalf("Draw = %v", err)
	}
	d := xml.NewDecoder(&b)
	within := false
	for {
		token, err := d.Token()
		if err == io.EOF {
			return texts, paths
		}
		if err != nil {
			t.Fatalf("the SVG is not XML: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			within = x.Name.Local == "text"
			if x.Name.Local == "path" {
				paths++
			}
		case xml.CharData:
			if within {
				texts = append(texts, string(x))
			}
		case xml.EndElement:
			within = false
		}
	}
}

func has(texts []string, want string) bool {
	for _, x := range texts {
		if x == want {
			return true
		}
	}
	return false
}

func TestDrawSVG(t *testing.T) {
	texts, _ := drawnSVG(t, Chart{"the pool", everybody(3), time.UTC})
	for _, want := range []string{
		"the pool", "2026-11-14 12:00 to 2026-11-16 13:00 UTC", "effective priority, lower is better", "slots in use",
		"slots wanted", "user00@example.org", "user01@example.org", "user02@example.org", "12:00", "14 Nov", "15 Nov",
	} {
		if !has(texts, want) {
			t.Errorf("Draw: no text %q among %q", want, texts)
		}
	}
}

// TestDrawChooses holds a picture to the twelve with the most usage.
func TestDrawChooses(t *testing.T) {
	texts, _ := drawnSVG(t, Chart{"", everybody(100), time.UTC})
	for i := range 100 {
		if name := fmt.Sprintf("user%02d@example.org", i); has(texts, name) != (i >= 88) {
			t.Errorf("%s drawn: %v, want %v", name, i < 88, i >= 88)
		}
	}
	if note := others(left{88, true}, whole); !has(texts, note) {
		t.Errorf("Draw: no text %q", note)
	}
}

// TestDrawNames holds that every name leads to a well-formed picture.
func TestDrawNames(t *testing.T) {
	for name, want := range map[string]string{
		"żółć.Ωδ@пример.рф":        "żółć.Ωδ@пример.рф",
		`<script>&"'@x`:            `<script>&"'@x`,
		"a\x00b\x1b[31m\xff@x":     "a?b?[31m?@x",
		strings.Repeat("é", 48):    strings.Repeat("é", 48),
		strings.Repeat("w", 50):    strings.Repeat("w", 23) + "…" + strings.Repeat("w", 24),
		"group_physics.particles1": "group_physics.particles1",
	} {
		texts, _ := drawnSVG(t, Chart{name, []history.Series{waves(name, 3, time.Hour, 1, 1)}, time.UTC})
		if !has(texts, want) {
			t.Errorf("Draw(%q): texts %q, want %q", name, texts, want)
		}
	}
}

func TestDrawDemandOnlyIfAny(t *testing.T) {
	s := waves("a@x", 5, time.Hour, 1, 1)
	for i := range s.Points {
		s.Points[i].Demand = 0
	}
	if texts, _ := drawnSVG(t, Chart{"", []history.Series{s}, time.UTC}); has(texts, "slots wanted") {
		t.Errorf("Draw: a panel for demand, and there is none")
	}
}

func TestGroupsAreDashed(t *testing.T) {
	for name, want := range map[string]bool{"group_physics": true, "group_physics.a@x": false} {
		var b bytes.Buffer
		testenv.OK(t, (Chart{"", []history.Series{waves(name, 5, time.Hour, 1, 1)}, time.UTC}).Draw(&b, "svg"))
		if got := strings.Contains(b.String(), "stroke-dasharray:6,2.5"); got != want {
			t.Errorf("%s dashed = %v, want %v", name, got, want)
		}
	}
}

func TestDrawPNG(t *testing.T) {
	var first, again bytes.Buffer
	c := Chart{"the pool", append(everybody(3), waves("日本@x", 700, time.Hour, 1, 1e10)), time.UTC}
	for _, b := range []*bytes.Buffer{&first, &again} {
		if err := c.Draw(b, "png"); err != nil {
			t.Fatalf("Draw = %v", err)
		}
	}
	if !bytes.Equal(first.Bytes(), again.Bytes()) {
		t.Error("Draw: the same chart gives two pictures")
	}
	picture, err := png.Decode(&first)
	if err != nil {
		t.Fatalf("Draw: no PNG: %v", err)
	}
	if got := picture.Bounds().Size(); got.X != 1000 || got.Y != 800 {
		t.Errorf("Draw: %v, want 1000 by 800 pixels", got)
	}
	seen := map[color.Color]bool{}
	for x := range 1000 {
		for y := range 800 {
			seen[color.NRGBAModel.Convert(picture.At(x, y))] = true
		}
	}
	for i, want := range colours()[:4] {
		if !seen[want] {
			t.Errorf("Draw: line %d has left no pixel of %v", i, want)
		}
	}
}

// TestExtremes draws what is at the edge of what there can be.
func TestExtremes(t *testing.T) {
	point := func(eup, inUse float64) history.Point {
		return history.Point{Time: noon, Effective: eup, InUse: inUse, Demand: inUse}
	}
	one := func(p ...history.Point) []history.Series { return []history.Series{{Name: "a@x", Points: p}} }
	at := func(t time.Time) history.Point { return history.Point{Time: t, Effective: 1} }
	cases := map[string]struct {
		series []history.Series
		want   error
	}{
		"nobody":           {nil, ErrNothing},
		"no points":        {one(), ErrNothing},
		"one point":        {one(point(0.5, 1)), nil},
		"nothing finite":   {one(point(math.NaN(), 1), point(1, math.Inf(1)), point(math.Inf(-1), 0)), ErrNothing},
		"one finite":       {one(point(math.NaN(), 1), point(1, 1)), nil},
		"priority of none": {one(point(0, 0), point(-1, -3)), nil},
		"huge and tiny":    {one(point(1e299, 1e299), point(5e-324, 5e-324)), nil},
		"same time twice":  {one(point(1, 1), point(2, 2)), nil},
		"five minutes":     {one(at(noon), at(noon.Add(5*time.Minute))), nil},
		"a second":         {one(at(noon), at(noon.Add(time.Second))), nil},
		"since 1970":       {one(at(time.Unix(0, 0)), at(noon)), nil},
		"ten millennia":    {one(at(time.Unix(-62135596800, 0)), at(time.Unix(253402300799, 0))), nil},
		"backwards":        {one(at(noon), at(noon.Add(-time.Hour)), at(noon)), nil},
		"factors apart":    {[]history.Series{waves("a@x", 30, time.Hour, 1, 1), waves("nice-user.a@x", 30, time.Hour, 1, 1e10)}, nil},
	}
	for name, x := range cases {
		c := Chart{"the pool", x.series, time.UTC}
		for _, format := range Formats() {
			var b bytes.Buffer
			if err := c.Draw(&b, format); !errors.Is(err, x.want) || (err == nil) != (b.Len() > 0) {
				t.Errorf("%s: Draw(%s) = %v with %d bytes, want %v", name, format, err, b.Len(), x.want)
			}
			if strings.Contains(b.String(), "NaN") {
				t.Errorf("%s: Draw(%s): something is not a number", name, format)
			}
		}
		var b bytes.Buffer
		if err := c.Terminal(&b, Screen{Width: 80, Height: 24}); !errors.Is(err, x.want) {
			t.Errorf("%s: Terminal = %v, want %v", name, err, x.want)
		}
	}
}

func TestDrawRefusesFormat(t *testing.T) {
	if err := (Chart{"", everybody(1), time.UTC}).Draw(io.Discard, "pdf"); err == nil {
		t.Error("Draw(pdf) = nil, want an error")
	}
}

func BenchmarkDraw(b *testing.B) {
	var all []history.Series
	for i := range 100 {
		all = append(all, waves(fmt.Sprint("user", i, "@x"), 2000, 22*time.Hour, float64(i), 1))
	}
	for _, format := range Formats() {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				testenv.OK(b, (Chart{"", all, time.UTC}).Draw(io.Discard, format))
			}
		})
	}
}

func screen(t *testing.T, c Chart, s Screen) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Terminal(&b, s); err != nil {
		t.Fatalf("Terminal = %v", err)
	}
	return b.String()
}

func TestTerminal(t *testing.T) {
	up := history.Series{Name: "alice@x"}
	for i, in := range []float64{0, 0, 10, 10, 20} {
		up.Points = append(up.Points, history.Point{Time: noon.Add(time.Duration(i) * time.Hour), Effective: float64(1 + i), InUse: in})
	}
	flat := history.Series{Name: "bob@x"}
	for _, p := range up.Points {
		flat.Points = append(flat.Points, history.Point{Time: p.Time, Effective: 5})
	}
	const want = `the pool
    effective priority, lower is better
 5 +oooooooooooooooooooooooooooo*o*o*o*o
   |            ****************
 2 +   *********
 1 +***
    slots in use
20 +                            ********
   |
10 +          ******************
 0 +*o*o*o*o*ooooooooooooooooooooooooooo
   ++-----------------+----------------+
  12:00             14:00
 14 Nov
* alice@x  o bob@x
`
	got := screen(t, Chart{"the pool", []history.Series{up, flat}, time.UTC}, Screen{Width: 40, Height: 10})
	if got != want {
		t.Errorf("Terminal =\n%s\nwant\n%s", got, want)
	}
}

// TestTerminalFits holds the plot to the screen, whatever its size.
func TestTerminalFits(t *testing.T) {
	c := Chart{strings.Repeat("a long title ", 40), everybody(100), time.UTC}
	for _, s := range []Screen{{80, 24, false}, {132, 50, false}, {40, 24, false}} {
		rows := strings.Split(strings.TrimSuffix(screen(t, c, s), "\n"), "\n")
		if len(rows) >= s.Height {
			t.Errorf("Terminal(%v): %d rows", s, len(rows))
		}
		for _, r := range rows {
			if utf8.RuneCountInString(r) > s.Width {
				t.Errorf("Terminal(%v): %d characters in %q", s, utf8.RuneCountInString(r), r)
			}
		}
	}
	for _, s := range []Screen{{0, 0, false}, {-5, 1 << 40, true}, {1 << 40, 3, true}} {
		if got := screen(t, c, s); len(got) > 1<<16 {
			t.Errorf("Terminal(%v): %d bytes", s, len(got))
		}
	}
}

func TestTerminalColours(t *testing.T) {
	c := Chart{"", everybody(7), time.UTC}
	if got := screen(t, c, Screen{80, 24, false}); strings.Contains(got, "\x1b") || !strings.Contains(got, "and 1 more with less usage\n") {
		t.Errorf("Terminal without colours =\n%q", got)
	}
	if got := screen(t, c, Screen{80, 24, true}); !strings.Contains(got, "\x1b[34m*\x1b[0m user06@example.org") {
		t.Errorf("Terminal with colours =\n%q", got)
	}
}

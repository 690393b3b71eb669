package chart

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

func TestWaits(t *testing.T) {
	for longest, want := range map[float64]string{
		0: "0 | 1 min | 10 min", 7200: "0 | 1 min | 10 min | 1 h", 400 * day: "0 | 1 min | 10 min | 1 h | 6 h | 1 d | 7 d | 30 d | 100 d",
	} {
		if got := labels(Waits(longest, 0)(14).ticks); got != want {
			t.Errorf("up to %v: %s, want %s", longest, got, want)
		}
	}
	if got, want := labels(Waits(400*day, 0.6)(6).ticks), "0 | 10 min | 1 h | 1 d | 7 d | 100 d"; got != want {
		t.Errorf("in little room: %s, want %s", got, want)
	}
	for wait, want := range map[float64]int{-1: -1, 0: 0, 59: 0, 60: 1, 599: 1, 3600: 3, 8 * 3600: 4, day: 5, 7 * day: 6, 3000 * day: 6} {
		if got := class(wait); got != want {
			t.Errorf("a wait of %v s has colour %d, want %d", wait, got, want)
		}
	}
}

func TestAxes(t *testing.T) {
	if s := Powers(1, 5000)(6); s.lo != 0 || labels(s.ticks) != "1 | 10 | 100 | 1000" {
		t.Errorf("from %v: %s", s.lo, labels(s.ticks))
	}
	s := Rows([]string{"ann", strings.Repeat("long", 20)}, 10)(0)
	if s.hi != 2 || s.ticks[0].at != 1.5 || s.ticks[1].label != "longlongl…glonglong" && len([]rune(s.ticks[1].label)) != 20 {
		t.Errorf("rows are %+v", s)
	}
}

// picture is one with each kind of mark.
func picture(columns int) Picture {
	from := time.Unix(1_000_000_000, 0)
	axes := Axes{Label: "of a & b", Height: 60, X: Times(from, from.Add(time.Hour), time.UTC), Y: UpTo(3), Marks: []Mark{
		Steps{From: from, Width: time.Minute, Values: []float64{1, 1, 3, 0}, Rank: 1}, Steps{From: from, Width: time.Minute, Values: []float64{2, 2}, Filled: true}}}
	heats := Axes{Height: 20, X: axes.X, Y: Rows([]string{"<ann>", "bob"}, 10), Marks: []Mark{Heats{From: from, Width: time.Minute, Rows: [][]float64{{0, 0, 70, -1}, {-1, -1, -1, 8 * day}}}}}
	bells := Axes{Height: 20, X: Waits(7200, 0.5), Y: Rows([]string{"ann", "bob"}, 10), Marks: []Mark{Dumbbells{{Before: 60, After: 600, Note: "+9 min"}, {Chance: true}}}}
	curve := Axes{Height: 60, X: Powers(1, 100), Y: Parts(), Marks: []Mark{Line{X: []float64{0, 1, 2}, Y: []float64{0, 0.5, 1}, Rank: 7}}}
	keys := append(append(HeatKeys(), ChangeKeys(true)...), LineKey(0, false, "now"), LineKey(1, true, "a\x00b"), AreaKey(0, "held"))
	return Picture{Title: "All", Note: strings.Repeat("many words ", 40), Key: keys, Columns: columns, Groups: []Group{{Title: "one", Plots: []Axes{axes, axes}}, {Plots: []Axes{heats}}, {Plots: []Axes{bells}}, {Plots: []Axes{curve}}}}
}

// TestPicture holds that a picture shows everything, in any number of columns, within its edges.
func TestPicture(t *testing.T) {
	for _, columns := range []int{0, 1, 2, 4} {
		var b strings.Builder
		testenv.OK(t, picture(columns).Draw(&b, "svg"))
		text := b.String()
		wellFormed(t, []byte(text))
		for _, want := range []string{">All<", ">one<", ">of a &amp; b<", ">&lt;ann&gt;<", ">+9 min<", ">may be chance<", ">wait below 1 min<", ">a?b<", ">100 %<"} {
			if !strings.Contains(text, want) {
				t.Errorf("in %d columns the picture lacks %s", columns, want)
			}
		}
		if n := strings.Count(text, ">many words"); n < 2 {
			t.Errorf("the note has %d lines", n)
		}
	}
	svg, err := picture(2).Inline(`role="img"`)
	testenv.OK(t, err)
	wellFormed(t, []byte(svg))
	if strings.Contains(svg, ">All<") || strings.Contains(svg, ">many words") || !strings.Contains(svg, "var(--heat6)") || strings.Contains(svg, "#FFFFFF") {
		t.Error("the picture of a page has a title, a note, or colours of its own")
	}
}

// wellFormed fails for a text that is not XML.
func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

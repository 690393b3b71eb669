package chart

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	"fairspool/lib/history"
)

// TestFactorChange holds that a change of a factor is a step, with a mark and its name, and that nothing else is.
func TestFactorChange(t *testing.T) {
	s := history.Series{Name: "a@x"}
	for i := range 10 {
		p := history.Point{Time: noon.Add(time.Duration(i) * time.Hour), Priority: 1 + float64(i)/3, InUse: 1}
		p.Effective = p.Priority * 2
		if i >= 5 {
			p.Effective = p.Priority * 1e10
		}
		s.Points = append(s.Points, p)
	}
	texts, _ := drawnSVG(t, Chart{"", []history.Series{s}, time.UTC})
	if !has(texts, "factor 1e10") || has(texts, "factor 2") {
		t.Errorf("Draw: texts %q, want factor 1e10 and no other", texts)
	}
	lines, _ := pick([]history.Series{s}, 1)
	c := thin(lines[0], priority(), together(lines))
	if len(c.XYs) != 11 || c.XYs[5].X != c.XYs[6].X || math.Abs(c.XYs[5].Y-math.Log10(2*s.Points[5].Priority)) > 1e-12 || math.Abs(c.XYs[6].Y-math.Log10(s.Points[5].Effective)) > 1e-12 {
		t.Errorf("thin = %v, want a step at the sixth point", c.XYs)
	}
	for i := range s.Points {
		s.Points[i].Effective = s.Points[i].Priority * (2 + 1e-9*float64(i%2)) // as samples are rounded
	}
	if texts, _ := drawnSVG(t, Chart{"", []history.Series{s}, time.UTC}); slices.ContainsFunc(texts, func(s string) bool { return strings.HasPrefix(s, "factor") }) {
		t.Errorf("Draw: texts %q of a factor that stays", texts)
	}
}

// TestSteps holds that amounts go in steps: a mean back to the point before it, and what was wanted on to the next.
func TestSteps(t *testing.T) {
	for want, q := range map[plotter.StepKind]quantity{plotter.NoStep: priority(), plotter.PreStep: inUse(), plotter.PostStep: demand()} {
		if q.steps != want {
			t.Errorf("%s: steps of kind %v, want %v", q.label, q.steps, want)
		}
	}
	l := line{points: []history.Point{{Time: noon, InUse: 70}, {Time: noon.Add(time.Hour), InUse: 3}, {Time: noon.Add(2 * time.Hour), InUse: 5}}}
	if c := thin(l, inUse(), together([]line{l})); c.XYs[0].Y != 3 || c.XYs[2].Y != 5 {
		t.Errorf("thin = %v, want the first hour's mean from its beginning", c.XYs)
	}
}

// TestNamesAtEnds holds that each line's name stands in the picture, and the domain once it is the same stands in none of a page's.
func TestNamesAtEnds(t *testing.T) {
	c := Chart{"", everybody(5), time.UTC}
	texts, _ := drawnSVG(t, c)
	inline, err := c.Inline(`role="img"`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		name := fmt.Sprintf("user%02d@example.org", i)
		if !has(texts, name) {
			t.Errorf("Draw: no name %s", name)
		}
		if short := strings.TrimSuffix(name, "@example.org"); strings.Contains(inline, name) || !strings.Contains(inline, ">"+short+"</text>") {
			t.Errorf("Inline: no name %s", short)
		}
	}
	if !strings.HasPrefix(inline, `<svg viewBox="0 0 250 270" fill="currentColor" role="img">`) || strings.Contains(inline, "<?xml") {
		t.Errorf("Inline = %.200s", inline)
	}
	if _, err := (Chart{}).Inline(""); err != ErrNothing {
		t.Errorf("Inline of nothing = %v", err)
	}
	var again bytes.Buffer
	if err := c.Draw(&again, "svg"); err != nil || strings.Contains(again.String(), "var(") {
		t.Errorf("Draw: %v, or variables of a page in a picture of its own", err)
	}
}

// TestApartLaws holds that names stand in the order of their lines' ends, apart from each other and within the panel, and at the ends
// where they have room.
func TestApartLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wanted := rapid.SliceOfN(rapid.Map(rapid.Float64Range(0, 100), func(x float64) vg.Length { return vg.Length(x) }), 1, 10).Draw(t, "wanted")
		slices.Sort(wanted)
		places := apart(wanted, 10, 0, 100)
		free := true
		for i, p := range places {
			if p < -1e-9 || p > 100+1e-9 || i > 0 && p-places[i-1] < 10-1e-9 {
				t.Fatalf("apart(%v) = %v", wanted, places)
			}
			free = free && (i == 0 || wanted[i]-wanted[i-1] >= 10)
		}
		if free && !slices.Equal(places, wanted) {
			t.Fatalf("apart(%v) = %v, and all had room", wanted, places)
		}
	})
}

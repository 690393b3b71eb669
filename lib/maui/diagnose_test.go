package maui_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/maui"
	policy "fairspool/lib/policy/maui"
)

// TestGoldenDiagnosis compares with what diagnose -p of Maui 3.3.1 printed, character by
// character.
func TestGoldenDiagnosis(t *testing.T) { eachGolden(t, compareDiagnosis) }

func compareDiagnosis(t *testing.T, file string, g *goldenCase) {
	want, told := g.Output["diagnose -p"]
	if !told {
		return
	}
	got := strings.SplitAfter(g.diagnosis(t), "\n")
	lines, agree := strings.SplitAfter(want, "\n"), 0
	for i := range max(len(got), len(lines)) {
		line := func(list []string) string {
			if i < len(list) {
				return list[i]
			}
			return ""
		}
		if line(got) == line(lines) || g.clockMoved() && alike(line(got), line(lines)) {
			agree++
			continue
		}
		t.Errorf("%s: line %d = %q, want %q", g.Name, i+1, line(got), line(lines))
	}
	t.Logf("golden maui/%s: %d of %d agree", file, agree, max(len(got), len(lines)))
}

// clockMoved reports whether the clock went on between the cycle that is told of and diagnose
// -p, as it did wherever there were several cycles.
func (g *goldenCase) clockMoved() bool { return g.Now < 1e9 }

var figures = regexp.MustCompile(`[ (:]-?[0-9]+\.?[0-9]*`)

// alike reports whether two lines have the same words, and the same numbers but for what a
// clock that moves by some seconds makes of minutes: one in the last digit that is shown.
func alike(a, b string) bool {
	words := func(s string) string { return strings.ReplaceAll(figures.ReplaceAllString(s, " N"), " ", "") }
	if words(a) != words(b) {
		return false
	}
	others := figures.FindAllString(b, -1)
	for i, s := range figures.FindAllString(a, -1) {
		x, _ := strconv.ParseFloat(s[1:], 64)
		y, _ := strconv.ParseFloat(others[i][1:], 64)
		last := 0.1
		if !strings.Contains(s, ".") {
			last = 1
		}
		if math.Abs(x-y) > last+1e-9 {
			return false
		}
	}
	return true
}

// diagnosis returns diagnose -p of the jobs that Maui listed.
func (g *goldenCase) diagnosis(t *testing.T) string {
	cfg, _ := policy.Parse("maui.cfg", []byte(g.MauiCfg), true)
	r, jobs := maui.NewReckoner(&cfg, g.world(t, &cfg)), g.jobs(t)
	listed, _ := g.listed()
	if len(listed) == 0 {
		return maui.NothingDiagnosed
	}
	d := maui.NewDiagnosis(&cfg)
	b := d.Head(nil)
	for _, id := range listed { // TestGoldenQueue compares the order
		i := slices.IndexFunc(g.Jobs, func(j goldenJob) bool { return j.ID == id })
		p := r.Of(&jobs[i])
		b = d.Job(b, id, 1, jobs[i].System != 0, &p)
	}
	return string(d.Foot(b))
}

// TestDiagnosisCounts says that equal jobs on one line count like so many lines.
func TestDiagnosisCounts(t *testing.T) {
	cfg, warnings := policy.Parse("maui.cfg", []byte("USERWEIGHT 3\nUSERCFG[john] PRIORITY=7\n"), false)
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	r := maui.NewReckoner(&cfg, maui.World{Now: time.Unix(0, 0)})
	foot := func(lines, count int) string {
		d := maui.NewDiagnosis(&cfg)
		other := r.Of(&maui.Job{User: "mary", Since: -3600})
		d.Job(nil, "other", 1, false, &other)
		john := r.Of(&maui.Job{User: "john", Since: -600})
		for range lines {
			d.Job(nil, "john", count, false, &john)
		}
		return string(d.Foot(nil))
	}
	if one, many := foot(1, 5), foot(5, 1); one != many || one == foot(1, 1) {
		t.Errorf("five jobs on a line:\n%son five:\n%s", one, many)
	}
}

// TestDiagnosisFootTies says that the last line multiplies by 100 first, the jobs' lines
// last, which is seen where a percentage lies between two digits.
func TestDiagnosisFootTies(t *testing.T) {
	for _, x := range []struct {
		john, mary int64 // points and minutes
		want       string
	}{{49, 31, "61.2( 61.2)  38.8( 38.8)"}, {23, 57, "28.8( 28.8)  71.2( 71.2)"}, {1, 3, "25.0( 25.0)  75.0( 75.0)"}} {
		cfg, _ := policy.Parse("maui.cfg", fmt.Appendf(nil, "USERWEIGHT 1\nUSERCFG[john] PRIORITY=%d\n", x.john), true)
		r, d := maui.NewReckoner(&cfg, maui.World{Now: time.Unix(0, 0)}), maui.NewDiagnosis(&cfg)
		for _, j := range []maui.Job{{User: "john"}, {User: "mary", Since: -60 * x.mary}} {
			p := r.Of(&j)
			d.Job(nil, j.User, 1, false, &p)
		}
		if foot := string(d.Foot(nil)); !strings.Contains(foot, x.want) {
			t.Errorf("%d and %d: %q, want %q in it", x.john, x.mary, foot, x.want)
		}
	}
}

// TestPercents says that the components' percents come to 100, unless nothing adds anything,
// and that nothing is written but numbers.
func TestPercents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := maui.Default()
		weight, factor := rapid.Int64Range(-1e12, 1e12), rapid.Float64Range(-1e30, 1e30)
		p := maui.Priority{}
		for c := range maui.Components {
			cfg.Components[c].Weight = weight.Draw(t, "weight")
			p.Parts[c] = maui.Part{Weight: cfg.Components[c].Weight, Factor: factor.Draw(t, "factor")}
		}
		for s := range maui.Subs {
			cfg.Subs[s].Weight = weight.Draw(t, "weight")
			p.Subs[s] = maui.Part{Weight: cfg.Subs[s].Weight, Factor: factor.Draw(t, "factor")}
		}
		components, subs := p.Percents()
		sum := 0.0
		for _, x := range components {
			sum += x
		}
		if math.Abs(sum-100) > 1e-6 && sum != 0 {
			t.Errorf("percents of components %v come to %v", components, sum)
		}
		d := maui.NewDiagnosis(&cfg)
		text := string(d.Foot(d.Job(nil, "job", 1, false, &p)))
		if all := fmt.Sprint(subs, text); strings.Contains(all, "NaN") || strings.Contains(all, "Inf") {
			t.Errorf("%s", all)
		}
	})
}

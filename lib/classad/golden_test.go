package classad

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// goldenFiles finds the files of one kind with results of the reference: a
// sample that lies here, and all there are where FAIRSPOOL_GOLDEN says.
func goldenFiles(t *testing.T, kind string) []string {
	t.Helper()
	sample, err := filepath.Glob(filepath.Join("testdata", "golden", kind+"*.jsonl"))
	if err != nil || len(sample) == 0 {
		t.Fatalf("no %s*.jsonl in testdata/golden: %v", kind, err)
	}
	all := os.Getenv("FAIRSPOOL_GOLDEN")
	if all == "" {
		t.Log("FAIRSPOOL_GOLDEN is not set: only the sample in testdata is compared")
		return sample
	}
	more, err := filepath.Glob(filepath.Join(all, "classad", kind+"*.jsonl"))
	testenv.OK(t, err)
	return append(sample, more...)
}

// agreement counts what agrees in one file.
type agreement struct {
	t         *testing.T
	label     string
	all, same int
	skipped   int // cases left out
	meant     map[string]int
}

// check compares one result. A difference fails the test unless why says that
// it is meant.
func (a *agreement) check(what, got, want, why string) {
	a.t.Helper()
	a.all++
	switch {
	case got == want:
		a.same++
	case why != "":
		a.meant[why]++
		a.t.Logf("%s: %s = %q, the reference has %q", a.label, what, got, want)
	default:
		a.t.Errorf("%s: %s = %q, want %q", a.label, what, got, want)
	}
}

func (a *agreement) log() {
	a.t.Logf("golden %s: %d of %d agree", a.label, a.same, a.all)
	if a.skipped > 0 {
		a.t.Logf("golden %s: %d left out", a.label, a.skipped)
	}
	for _, why := range slices.Sorted(mapKeys(a.meant)) {
		a.t.Logf("golden %s: %d meant to differ: %s", a.label, a.meant[why], why)
	}
}

func mapKeys(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// overGolden calls f for every line of every golden file of a kind, once for lines that
// several files have.
func overGolden[T any](t *testing.T, kind string, f func(a *agreement, c T)) {
	seen := map[string]bool{}
	for _, file := range goldenFiles(t, kind) {
		label := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		t.Run(strings.ReplaceAll(label, "/", "_"), func(t *testing.T) {
			a := &agreement{t: t, label: label, meant: map[string]int{}}
			in, err := os.Open(file)
			testenv.OK(t, err)
			defer in.Close()
			lines := bufio.NewScanner(in)
			lines.Buffer(nil, 1<<24)
			for lines.Scan() {
				if seen[lines.Text()] {
					a.skipped++
					continue
				}
				seen[lines.Text()] = true
				var c T
				testenv.OK(t, json.Unmarshal(lines.Bytes(), &c))
				f(a, c)
			}
			if lines.Err() != nil || a.all+a.skipped == 0 {
				t.Errorf("%s has %d cases, want some: %v", label, a.all, lines.Err())
			}
			a.log()
		})
	}
}

var goldenContext = &Context{Now: time.Unix(1_700_000_000, 0).UTC()}

// goldenAd reads an ad the way the README of the golden data says.
func goldenAd(text string) (*Ad, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return ParseAd(text)
	}
	// Each line is for itself: it stands between blank ones.
	r, ad := NewReader(strings.NewReader(strings.ReplaceAll(text, "\n", "\n\n")), ""), New()
	r.SetForm(FormLong)
	for {
		line, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return ad, nil
		case err != nil:
			return nil, err
		}
		for _, e := range line.entries() {
			ad.Set(e.name, e.expr)
		}
	}
}

type evalCase struct {
	Area, Expr, My, Target, Result string
	Strict                         bool
}

func (c evalCase) result() string {
	my, err := goldenAd(c.My)
	if err != nil {
		return "AD_PARSE_ERROR"
	}
	var target *Ad
	if c.Target != "" {
		if target, err = goldenAd(c.Target); err != nil {
			return "AD_PARSE_ERROR"
		}
	}
	parse, context := ParseExpr, *goldenContext
	if c.Strict {
		parse, context.Strict = ParseStrictExpr, true
	}
	e, err := parse(c.Expr)
	if err != nil {
		return "PARSE_ERROR"
	}
	return e.Eval(&context, my, target).String()
}

func TestGoldenClassAdEval(t *testing.T) {
	overGolden(t, "eval", func(a *agreement, c evalCase) {
		a.check(c.Area+" "+c.Expr+" in "+c.My+" with "+c.Target, c.result(), c.Result, meantEval(c))
	})
}

type matchCase struct {
	Name, Left, Right string
	Match             bool
	LeftRank          float64 `json:"left_rank"`
	RightRank         float64 `json:"right_rank"`
	LeftRequirements  string  `json:"left_requirements"`
	RightRequirements string  `json:"right_requirements"`
}

// ads reads both sides.
func (c matchCase) ads(t *testing.T) (left, right *Ad) {
	t.Helper()
	left, err := goldenAd(c.Left)
	if err != nil {
		t.Fatalf("%s: left: %v", c.Name, err)
	}
	if right, err = goldenAd(c.Right); err != nil {
		t.Fatalf("%s: right: %v", c.Name, err)
	}
	return left, right
}

func TestGoldenClassAdMatch(t *testing.T) {
	overGolden(t, "match", func(a *agreement, c matchCase) {
		left, right := c.ads(t)
		describe := func(match bool, lr, rr float64, lq, rq string) string {
			return strconv.FormatBool(match) + " ranks " + strconv.FormatFloat(lr, 'g', 12, 64) + " " + strconv.FormatFloat(rr, 'g', 12, 64) + " requirements " + lq + " " + rq
		}
		rank := func(my, target *Ad) float64 {
			e, _ := my.Lookup("Rank")
			x, _ := Rank(goldenContext, e, my, target)
			return x
		}
		got := describe(Match(goldenContext, left, right), rank(left, right), rank(right, left),
			left.Eval(goldenContext, "Requirements", right).String(), right.Eval(goldenContext, "Requirements", left).String())
		want := describe(c.Match, c.LeftRank, c.RightRank, c.LeftRequirements, c.RightRequirements)
		a.check(c.Name, got, want, "")
	})
}

type roundtripCase struct {
	Form, Text, Unparsed string
	UnparsedNew          string `json:"unparsed_new"`
}

func TestGoldenClassAdRoundtrip(t *testing.T) {
	overGolden(t, "roundtrip", func(a *agreement, c roundtripCase) {
		got, gotNew := c.print()
		a.check(c.Form+" "+c.Text, got+" | "+gotNew, c.Unparsed+" | "+c.UnparsedNew, "")
	})
}

func (c roundtripCase) print() (old, new string) {
	const bad = "PARSE_ERROR"
	switch c.Form {
	case "expr":
		e, err := ParseExpr(c.Text)
		if err != nil {
			return bad, bad
		}
		return e.Format(StyleOld), e.Format(StyleNew)
	case "line":
		ad, err := NewReader(strings.NewReader(c.Text), "").Next()
		if err != nil {
			return bad, bad
		}
		name := ad.Names()[0]
		e, _ := ad.Lookup(name)
		return name + " = " + e.Format(StyleOld), name + " = " + e.Format(StyleNew)
	}
	ad, err := ParseAd(c.Text)
	if err != nil {
		return bad, bad
	}
	for _, e := range orderedEntries(ad, StyleOld) {
		// The printer behind the data quotes names, as HTCondor's commands and readers do not.
		old += string(appendName(nil, e.name)) + " = " + e.expr.Format(StyleOld) + "\n"
	}
	if old == "" {
		old = "\n" // that is how the printer behind the data shows an empty ad
	}
	return old, ad.Format(StyleNew)
}

func TestGoldenClassAdRefs(t *testing.T) {
	type refsCase struct {
		Expr, My           string
		External, Internal []string
	}
	overGolden(t, "refs", func(a *agreement, c refsCase) {
		ad, err := goldenAd(c.My)
		testenv.OK(t, err)
		e, err := ParseLongExpr(c.Expr)
		testenv.OK(t, err)
		own, external := References(e, ad)
		list := func(names []string) string {
			if names == nil {
				return "none"
			}
			return "[" + strings.Join(names, " ") + "]"
		}
		a.check(c.Expr, list(external)+list(own), list(c.External)+list(c.Internal), "")
	})
}

// readAll reads every ad of a stream; the errors of bad ads are counted.
func readAll(t *testing.T, r *Reader) (ads []*Ad, bad []error) {
	t.Helper()
	for {
		ad, err := r.Next()
		var se *SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return ads, bad
		case errors.As(err, &se):
			bad = append(bad, err)
		case err != nil:
			t.Fatal(err)
		default:
			ads = append(ads, ad)
		}
	}
}

package classad

import (
	"fmt"
	"strings"
	"testing"
)

// truthAds are the same ad twice, the second for evalCounting.
type truthAds struct{ ad, counted *Ad }

// newTruthAds makes an ad with the operands as attributes C0, C1, ... and, as
// expressions that nothing can fold, as E0, E1, ...
func newTruthAds(t *testing.T) truthAds {
	ad := New()
	for i, c := range operandCases {
		e := mustExpr(t, c.text)
		ad.Set(fmt.Sprint("C", i), Literal(e.Eval(noon, nil, nil)))
		ad.Set(fmt.Sprint("E", i), mustExpr(t, "ifThenElse(Yes, "+c.text+", 0)"))
	}
	ad.SetBool("Yes", true)
	return truthAds{ad, countedAd(ad)}
}

// check compares an expression with the model's value, with its operands
// written in, as attributes that are constants and as attributes that must be
// evaluated, each by every evaluator. $0, $1, ... in form are the operands.
func (a truthAds) check(t *testing.T, form string, want any, operands ...int) {
	t.Helper()
	for _, kind := range []string{"", "C", "E"} {
		text := form
		for i, at := range operands {
			written := operandCases[at].text
			if kind != "" {
				written = fmt.Sprint(kind, at)
			}
			text = strings.ReplaceAll(text, fmt.Sprint("$", i), written)
		}
		e := mustExpr(t, text)
		if got := e.Eval(noon, a.ad, nil); !identicalModels(inModel(got), want) {
			t.Errorf("Eval(%s) of %v = %v, want %v", text, named(operands), got, want)
		}
		if got := counted(e).Eval(noon, a.counted, nil); !identicalModels(inModel(got), want) {
			t.Errorf("Eval(%s) of %v, every operator looking at its depth = %v, want %v", text, named(operands), got, want)
		}
	}
}

func named(operands []int) []string {
	var texts []string
	for _, at := range operands {
		texts = append(texts, operandCases[at].text)
	}
	return texts
}

func TestTruthOfBinaryOperators(t *testing.T) {
	ads := newTruthAds(t)
	for _, op := range binaryTexts {
		for i, l := range operandCases {
			for j, r := range operandCases {
				ads.check(t, "$0 "+op+" $1", modelBinary(op, l.is, r.is), i, j)
			}
		}
	}
}

func TestTruthOfOtherOperators(t *testing.T) {
	ads := newTruthAds(t)
	for i, a := range operandCases {
		for _, op := range []string{"!", "~", "+", "-"} {
			ads.check(t, op+"($0)", modelUnary(op, a.is), i)
		}
		for j, b := range operandCases {
			elvis := a.is
			if elvis == nil {
				elvis = b.is
			}
			ads.check(t, "$0 ?: $1", elvis, i, j)
			ads.check(t, "$0[$1]", modelSubscript(a.is, b.is), i, j)
			ads.check(t, "$0 ? $1 : 5", modelChoice(a.is, b.is, int64(5)), i, j)
			ads.check(t, "$0 ? 5 : $1", modelChoice(a.is, int64(5), b.is), i, j)
		}
	}
}

// chainOperands are operands of each row of the tables, some of them twice.
func chainOperands() []int {
	var of []int
	for i, c := range operandCases {
		switch c.text {
		case "undefined", "error", "true", "false", "0", "2", "-0.0", "2.5", `real("NaN")`, `"true"`, noonText, "{}":
			of = append(of, i)
		}
	}
	return of
}

func TestTruthOfChains(t *testing.T) {
	ads := newTruthAds(t)
	of := chainOperands()
	if len(of) != 12 {
		t.Fatalf("%d operands for chains, want 12", len(of))
	}
	for _, first := range []string{"&&", "||"} {
		for _, second := range []string{"&&", "||"} {
			for _, i := range of {
				for _, j := range of {
					for _, k := range of {
						a, b, c := operandCases[i].is, operandCases[j].is, operandCases[k].is
						ads.check(t, "($0 "+first+" $1) "+second+" $2", modelLogic(second, modelLogic(first, a, b), c), i, j, k)
						ads.check(t, "$0 "+first+" ($1 "+second+" $2)", modelLogic(first, a, modelLogic(second, b, c)), i, j, k)
					}
				}
			}
		}
	}
}

// TestTruthOfLongChains reaches the programs for many terms.
func TestTruthOfLongChains(t *testing.T) {
	ads := newTruthAds(t)
	of := chainOperands()
	for _, op := range []string{"&&", "||"} {
		for n := range 2000 {
			text, rest := "", n*2654435761%1000003
			var want any = op == "&&"
			for term := range 5 {
				at := of[rest%len(of)]
				rest = (rest*48271 + term) % 2147483647
				if term > 0 {
					text += " " + op + " "
				}
				text += fmt.Sprint("E", at)
				want = modelLogic(op, want, operandCases[at].is)
			}
			e := mustExpr(t, text)
			if got := e.Eval(noon, ads.ad, nil); !identicalModels(inModel(got), want) {
				t.Errorf("Eval(%s) = %v, want %v", text, got, want)
			}
		}
	}
}

// TestShortCutsTakeNoRandomNumbers sees by the sequence of random numbers that
// what stands behind the deciding term is not evaluated.
func TestShortCutsTakeNoRandomNumbers(t *testing.T) {
	first := mustExpr(t, "random(1000000)").Eval(noon, nil, nil)
	ad := New()
	ad.Set("First", Literal(first))
	ad.SetBool("No", false)
	for _, text := range []string{
		"(No && random(10) >= 0) || random(1000000) == First", "(!No || random(10) >= 0) && random(1000000) == First",
		"(No ? random(10) : 0) || random(1000000) == First", "((No ?: random(10)) || No) || random(1000000) == First", "(No && No && random(10) && No) || random(1000000) == First",
	} {
		if got := mustExpr(t, text).Eval(noon, ad, nil); !got.True() {
			t.Errorf("Eval(%s) = %v, want true: no number is taken before", text, got)
		}
	}
	if got := mustExpr(t, "(No || random(10) < 0) || random(1000000) == First").Eval(noon, ad, nil); got.True() {
		t.Errorf("Eval of the second random number = %v, want it not to be the first", got)
	}
}

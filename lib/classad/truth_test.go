package classad

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
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

// The tables of the language written down a second time, as plainly as can be,
// and compared with the engine over every pair of operands of every kind.

// operandCase is an operand: its text, and what it is in the model: nil for
// UNDEFINED, failure for ERROR, bool, int64, float64, string, moment, seconds,
// items or members.
type operandCase struct {
	text string
	is   any
}

type (
	failure struct{}
	moment  struct {
		at   int64
		zone int
	}
	seconds float64
	items   string // as printed
	members string // as printed
)

const noonText = `absTime("2024-02-29T12:00:00Z")`

var operandCases = []operandCase{
	{"undefined", nil}, {"error", failure{}}, {"true", true}, {"false", false},
	{"0", int64(0)}, {"1", int64(1)}, {"-1", int64(-1)}, {"2", int64(2)}, {"7", int64(7)}, {"-7", int64(-7)}, {"63", int64(63)}, {"3000000000", int64(3e9)},
	{"9007199254740993", int64(1<<53 + 1)}, {"9223372036854775807", int64(math.MaxInt64)}, {"-9223372036854775808", int64(math.MinInt64)},
	{"0.0", 0.0}, {"-0.0", math.Copysign(0, -1)}, {"1.0", 1.0}, {"2.5", 2.5}, {"-2.5", -2.5}, {"9007199254740992.0", float64(1 << 53)}, {"1e308", 1e308}, {"-1e308", -1e308},
	{`real("NaN")`, math.NaN()}, {`real("INF")`, math.Inf(1)}, {`real("-INF")`, math.Inf(-1)},
	{`""`, ""}, {`"a"`, "a"}, {`"A"`, "A"}, {`"_"`, "_"}, {`"Z"`, "Z"}, {`"ab"`, "ab"}, {`"true"`, "true"}, {`"1"`, "1"}, {`"\344"`, "\xe4"},
	{noonText, moment{1709208000, 0}}, {`absTime("2024-02-29T13:00:00+01:00")`, moment{1709208000, 3600}}, {`absTime("2024-02-29T12:00:01Z")`, moment{1709208001, 0}},
	{"relTime(0)", seconds(0)}, {"relTime(90.75)", seconds(90.75)}, {"relTime(-1.5)", seconds(-1.5)},
	{"{}", items("{  }")}, {"{ 1, 2 }", items("{ 1,2 }")}, {"[]", members("[  ]")}, {"[ a = 1 ]", members("[ a = 1 ]")},
}

// binaryTexts are the operators with two sides, and what they are to the
// model.
var binaryTexts = []string{
	"&&", "||", "=?=", "=!=", "is", "isnt", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>",
}

// modelBinary is l op r.
func modelBinary(op string, l, r any) any {
	switch op {
	case "&&", "||":
		return modelLogic(op, l, r)
	case "=?=", "is":
		return modelSame(l, r)
	case "=!=", "isnt":
		if same, ok := modelSame(l, r).(bool); ok {
			return !same
		}
		return failure{}
	}
	switch {
	case l == failure{} || r == failure{}:
		return failure{}
	case l == nil || r == nil:
		return nil
	}
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
		return modelCompare(op, l, r)
	case "+", "-", "*", "/", "%":
		return modelArithmetic(op, l, r)
	}
	return modelBits(op, l, r)
}

// truth is T, F, U, E or X, as in the tables.
func truth(v any) byte {
	switch v := v.(type) {
	case nil:
		return 'U'
	case failure:
		return 'E'
	case bool:
		if v {
			return 'T'
		}
		return 'F'
	case int64:
		return truth(v != 0)
	case float64:
		return truth(v != 0)
	}
	return 'X'
}

// logicTables are the results by rows of the left side, each over T F U E X of
// the right side.
var logicTables = map[string]map[byte]string{
	"&&": {'T': "TFUEE", 'F': "FFFFF", 'U': "UFUEE", 'E': "EEEEE", 'X': "EEEEE"},
	"||": {'T': "TTTTT", 'F': "TFUEE", 'U': "TUUEE", 'E': "EEEEE", 'X': "EEEEE"},
}

func modelLogic(op string, l, r any) any {
	row := logicTables[op][truth(l)]
	return map[byte]any{'T': true, 'F': false, 'U': nil, 'E': failure{}}[row[strings.IndexByte("TFUEX", truth(r))]]
}

func modelSame(l, r any) any {
	if fmt.Sprintf("%T", l) != fmt.Sprintf("%T", r) {
		return false
	}
	switch l.(type) {
	case items, members:
		return failure{}
	}
	return l == r
}

// number returns what counts as a number, and whether it is a real one.
func number(v any) (i int64, x float64, isReal, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, 1, false, true
		}
		return 0, 0, false, true
	case int64:
		return v, float64(v), false, true
	case float64:
		return 0, v, true, true
	}
	return 0, 0, false, false
}

// relation is what holds between two ordered things.
func relation[T cmp.Ordered](op string, a, b T) any {
	return map[string]bool{"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
}

func modelCompare(op string, l, r any) any {
	switch l := l.(type) {
	case string:
		if r, ok := r.(string); ok {
			return relation(op, asciiLower(l), asciiLower(r))
		}
		return failure{}
	case moment:
		if r, ok := r.(moment); ok {
			return relation(op, l.at, r.at)
		}
		return failure{}
	case seconds:
		if r, ok := r.(seconds); ok {
			return relation(op, l, r)
		}
		return failure{}
	}
	i, x, left, ok := number(l)
	j, y, right, too := number(r)
	switch {
	case !ok || !too:
		return failure{}
	case left || right:
		return relation(op, x, y)
	}
	return relation(op, i, j)
}

// asciiLower folds the capitals that the operands have.
func asciiLower(s string) string { return strings.NewReplacer("A", "a", "Z", "z").Replace(s) }

func modelArithmetic(op string, l, r any) any {
	i, x, left, ok := number(l)
	j, y, right, too := number(r)
	switch {
	case !ok || !too:
		return modelTimes(op, l, r)
	case left || right:
		return modelReal(op, x, y)
	}
	return modelInt(op, i, j)
}

func modelReal(op string, x, y float64) any {
	z, ok := map[string]float64{"+": x + y, "-": x - y, "*": x * y, "/": x / y}[op]
	if !ok || z > math.MaxFloat64 {
		return failure{}
	}
	return z
}

func modelInt(op string, i, j int64) any {
	a, b, z := big.NewInt(i), big.NewInt(j), new(big.Int)
	switch op {
	case "+":
		z.Add(a, b)
	case "-":
		z.Sub(a, b)
	case "*":
		z.Mul(a, b)
	default:
		if j == 0 {
			return failure{}
		}
		if op == "%" {
			z.Rem(a, b)
			break
		}
		if z.Quo(a, b); !z.IsInt64() {
			return int64(math.MaxInt64)
		}
	}
	return wrap(z)
}

// wrap keeps the lowest 64 bits.
func wrap(z *big.Int) int64 {
	return int64(new(big.Int).And(z, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
}

func modelTimes(op string, l, r any) any {
	_, x, _, _ := number(l)
	_, y, _, _ := number(r)
	switch op + fmt.Sprintf(" %T %T", l, r) {
	case "+ classad.moment classad.seconds":
		m, s := l.(moment), r.(seconds)
		return moment{m.at + int64(s), m.zone}
	case "+ classad.seconds classad.moment":
		return modelTimes(op, r, l)
	case "- classad.moment classad.seconds":
		m, s := l.(moment), r.(seconds)
		return moment{m.at - int64(s), m.zone}
	case "- classad.moment classad.moment":
		return seconds(l.(moment).at - r.(moment).at)
	case "+ classad.seconds classad.seconds":
		return l.(seconds) + r.(seconds)
	case "- classad.seconds classad.seconds":
		return l.(seconds) - r.(seconds)
	case "* classad.seconds int64", "* classad.seconds float64":
		return finite(float64(l.(seconds)) * y)
	case "/ classad.seconds int64", "/ classad.seconds float64":
		return finite(float64(l.(seconds)) / y)
	case "* int64 classad.seconds", "* float64 classad.seconds":
		return finite(x * float64(r.(seconds)))
	}
	return failure{}
}

// finite is a span of time; an endless one is ERROR here.
func finite(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return failure{}
	}
	return seconds(x)
}

func modelBits(op string, l, r any) any {
	i, ok := l.(int64)
	j, too := r.(int64)
	if !ok || !too {
		return failure{}
	}
	count := uint(((j % 64) + 64) % 64)
	a, b := new(big.Int).SetUint64(uint64(i)), new(big.Int).SetUint64(uint64(j))
	switch op {
	case "&":
		return wrap(a.And(a, b))
	case "|":
		return wrap(a.Or(a, b))
	case "^":
		return wrap(a.Xor(a, b))
	case "<<":
		return wrap(a.Lsh(a, count))
	case ">>>":
		return wrap(a.Rsh(a, count))
	}
	return wrap(new(big.Int).Rsh(big.NewInt(i), count))
}

func modelUnary(op string, v any) any {
	switch v.(type) {
	case nil, failure:
		return v
	}
	switch op {
	case "!":
		switch truth(v) {
		case 'T':
			return false
		case 'F':
			return true
		}
	case "~":
		if i, ok := v.(int64); ok {
			return -i - 1
		}
	case "+":
		switch v.(type) {
		case int64, float64, seconds:
			return v
		}
	case "-":
		switch v := v.(type) {
		case int64:
			return wrap(new(big.Int).Neg(big.NewInt(v)))
		case float64:
			return -v
		case seconds:
			return -v
		}
	}
	return failure{}
}

func modelChoice(c, t, f any) any {
	switch truth(c) {
	case 'T':
		return t
	case 'F':
		return f
	case 'U':
		return nil
	}
	return failure{}
}

// modelSubscript is base[index].
func modelSubscript(base, index any) any {
	switch {
	case base == failure{} || index == failure{}:
		return failure{}
	case base == nil || index == nil:
		return nil
	}
	i, isInt := index.(int64)
	s, isText := index.(string)
	switch {
	case base == items("{ 1,2 }") && isInt && (i == 0 || i == 1):
		return i + 1
	case base == members("[ a = 1 ]") && (s == "a" || s == "A"):
		return int64(1)
	case base == members("[ a = 1 ]") && isText, base == members("[  ]") && isText:
		return nil
	}
	return failure{}
}

// inModel is a value as the model has it.
func inModel(v Value) any {
	switch v.Kind() {
	case KindError:
		return failure{}
	case KindBoolean:
		return v.bits == 1
	case KindInteger:
		return int64(v.bits)
	case KindReal:
		return v.real()
	case KindString:
		return v.text()
	case KindAbsTime:
		return moment{int64(v.bits), int(v.zone)}
	case KindRelTime:
		return seconds(v.real())
	case KindList:
		return items(v.String())
	case KindClassAd:
		return members(v.String())
	}
	return nil
}

// identicalModels is equality to the last bit, where all NaN are one.
func identicalModels(a, b any) bool {
	x, ok := a.(float64)
	y, too := b.(float64)
	if ok && too {
		return x == y && math.Signbit(x) == math.Signbit(y) || x != x && y != y
	}
	s, ok := a.(seconds)
	u, too := b.(seconds)
	if ok && too {
		return identicalModels(float64(s), float64(u))
	}
	return a == b
}

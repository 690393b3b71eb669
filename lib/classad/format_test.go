package classad

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFormatStyles(t *testing.T) {
	for _, c := range []struct{ expr, old, newForm, spool string }{
		{`a is undefined`, `a =?= undefined`, `a is undefined`, `a =?= undefined`},
		{`0.1 + 1e300`, `0.1 + 1E+300`, `1.000000000000000E-01 + 1.000000000000000E+300`, `0.1 + 1e+300`},
		{`"a\n\"b\"\001"`, "\"a\n\\\"b\\\"\001\"", `"a\n\"b\"\001"`, `"a\n\"b\"\001"`},
		{`- 1`, ` -1`, ` -1`, `- 1`}, {`-1`, `-1`, `-1`, `-1`}, {`a*-b`, `a *  -b`, `a *  -b`, `a * -b`},
		{`5 .x`, `5.x`, `5.x`, `5 .x`}, {`a.'b c'`, `a.b c`, `a.b c`, `a.'b c'`}, {`'true'`, `'true'`, `'true'`, `'true'`},
		{`1e400`, `real("INF")`, `real("INF")`, `1e999`}, {`-0.0`, `-0.0`, `-0.0`, `-0.0`},
		{`[bb=1;a=2]`, `[ a = 2; bb = 1 ]`, `[ a = 2; bb = 1 ]`, `[ a = 2; bb = 1 ]`},
		{`relTime("1:05")`, `relTime("01:05")`, `relTime("01:05")`, `relTime("01:05")`},
		{"\"\303\251\"", "\"\303\251\"", `"\303\251"`, "\"\303\251\""},
	} {
		e := mustExpr(t, c.expr)
		for _, f := range []struct {
			style Style
			want  string
		}{{StyleOld, c.old}, {StyleNew, c.newForm}, {StyleSpool, c.spool}} {
			if got := e.Format(f.style); got != f.want {
				t.Errorf("Format(%s, %d) = %s, want %s", c.expr, f.style, got, f.want)
			}
		}
	}
}

func TestLongFormHasOneLineForEachAttribute(t *testing.T) {
	ad := New()
	ad.SetString("B", "x\nOwner = \"bob\"")
	ad.SetString("a", `C:\dir\`)
	want := "a = \"C:\\dir\\\"\nB = \"x Owner = \\\"bob\\\"\"\n"
	if got := string(ad.AppendLong(nil)); got != want {
		t.Errorf("AppendLong = %q, want %q", got, want)
	}
}

// drawing draws expressions as the parser makes them: operands that are not
// simple stand in parentheses.
type drawing struct {
	name   *rapid.Generator[string]
	text   *rapid.Generator[string]
	simple bool // only what the old and new styles can write
}

func (d drawing) literal(t *rapid.T) node {
	switch rapid.IntRange(0, 5).Draw(t, "literal") {
	case 0:
		return &literal{Int(rapid.Int64().Draw(t, "int"))}
	case 1:
		x := rapid.Float64().Draw(t, "real")
		if d.simple && (math.Abs(x) > 1e300 || x != 0 && math.Abs(x) < 1e-300) {
			x = 1.5
		}
		return &literal{Real(x)}
	case 2:
		return &literal{String(d.text.Draw(t, "text"))}
	case 3:
		return &literal{Bool(rapid.Bool().Draw(t, "bool"))}
	case 4:
		return &literal{absTime(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), 60*rapid.IntRange(-700, 700).Draw(t, "zone"))}
	}
	return &literal{Value{kind: Kind(rapid.IntRange(0, 1).Draw(t, "exceptional"))}}
}

func (d drawing) operand(t *rapid.T, depth int) node {
	if depth <= 0 {
		return &reference{newAttribute(d.name.Draw(t, "name"))}
	}
	return &paren{d.node(t, depth-1)}
}

func (d drawing) nodes(t *rapid.T, depth int) []node {
	var out []node
	for range rapid.IntRange(0, 3).Draw(t, "length") {
		out = append(out, d.node(t, depth-1))
	}
	return out
}

func (d drawing) node(t *rapid.T, depth int) node {
	if depth <= 0 {
		return d.literal(t)
	}
	operand := func() node { return d.operand(t, depth-1) }
	switch rapid.IntRange(0, 10).Draw(t, "node") {
	case 0:
		return &selection{operand(), newAttribute(d.name.Draw(t, "name"))}
	case 1:
		return &subscript{operand(), d.node(t, depth-1)}
	case 2:
		return &unary{op(rapid.IntRange(int(opNeg), int(opBitNot)).Draw(t, "op")), operand()}
	case 3, 4:
		return &binary{op(rapid.IntRange(int(opOr), int(opMod)).Draw(t, "op")), operand(), operand()}
	case 5:
		return &conditional{operand(), operand(), operand()}
	case 6:
		return &elvis{operand(), operand()}
	case 7:
		name := d.name.Draw(t, "name")
		return &call{name: name, fn: functionNamed(name), args: d.nodes(t, depth)}
	case 8:
		var items []*Expr
		for _, n := range d.nodes(t, depth) {
			items = append(items, newExpr(n))
		}
		return newListing(items)
	case 9:
		ad := New()
		for range rapid.IntRange(0, 3).Draw(t, "attributes") {
			ad.Set(d.name.Draw(t, "name"), newExpr(d.node(t, depth-1)))
		}
		return &record{ad}
	}
	return &absolute{newAttribute(d.name.Draw(t, "name"))}
}

func TestSpoolStyleReadsBack(t *testing.T) {
	bytes := rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) })
	d := drawing{name: rapid.OneOf(rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,5}`), bytes), text: bytes}
	rapid.Check(t, func(t *rapid.T) {
		e := newExpr(d.node(t, 4))
		text := e.Format(StyleSpool)
		if strings.ContainsAny(text, "\n\r") {
			t.Fatalf("Format = %q, want one line", text)
		}
		again, err := ParseExpr(text)
		if err != nil {
			t.Fatalf("ParseExpr(%s): %v", text, err)
		}
		if !equalNodes(e.tree(), again.tree()) {
			t.Errorf("ParseExpr(%s) = %s, want the same", text, again.Format(StyleSpool))
		}
	})
}

func TestOldAndNewStylesReadBack(t *testing.T) {
	d := drawing{
		name: rapid.StringMatching(`x[A-Za-z0-9_]{0,5}`), text: rapid.StringMatching(`[ -\[\]-~]*`),
		simple: true,
	}
	rapid.Check(t, func(t *rapid.T) {
		e := newExpr(d.node(t, 4))
		for _, style := range []struct {
			style Style
			parse func(string) (*Expr, error)
		}{{StyleOld, ParseLongExpr}, {StyleNew, ParseExpr}} {
			text := e.Format(style.style)
			again, err := style.parse(text)
			if err != nil {
				t.Fatalf("parsing %s: %v", text, err)
			}
			if got := again.Format(style.style); got != text {
				t.Errorf("read back = %s, want %s", got, text)
			}
		}
	})
}

func FuzzParseExpr(f *testing.F) {
	for _, seed := range []string{
		`a ?: -b.c[1] =!= "x\101" "y" && !f(1; {2, [a = 1]})`, `'a b'.'true' ?: 5 .x`, "1e400 - -0.0", `/* c */ absTime("2024-02-29T12:34:56-0600")`,
		`- -1`, `..a`, `relTime("1d2h")`, `absTime("2024")`, "a ? b : c ? : d", "real(\"NaN\")", `"\377"`, "1..a", "((((1))))",
		`regexp("(?i)a[b-d]+#", "abc", "xi")`, `evalInEachContext(a, {[a = 1], 5})`, `formatTime(0, "%c %j %U")`, `versioncmp("1.01", "1.1")`, `split(",,a b", ", ")`,
	} {
		f.Add(seed)
	}
	my, _ := ParseAd(`[ a = b; b = TARGET.a; c = 3; d = { a, c }; n = [ a = 1 ] ]`)
	target, _ := ParseAd(`[ a = 1; x = "y" ]`)
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := ParseLongExpr(text); err == nil {
			e.Eval(noon, target, my)
			_ = e.String()
		}
		e, err := ParseExpr(text)
		if err != nil {
			return
		}
		spool := e.Format(StyleSpool)
		again, err := ParseExpr(spool)
		if err != nil {
			t.Fatalf("ParseExpr(%q), printed from %q: %v", spool, text, err)
		}
		if !equalNodes(e.tree(), again.tree()) {
			t.Errorf("ParseExpr(%q) = %q, want %q", text, again.Format(StyleSpool), spool)
		}
		first, second := e.Eval(noon, my, target), again.Eval(noon, my, target)
		if first.String() != second.String() {
			t.Errorf("Eval(%q) = %v, want %v as the first time", text, second, first)
		}
		References(e, my)
	})
}

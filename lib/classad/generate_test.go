package classad

import "pgregory.net/rapid"

// gen draws texts of expressions over a small alphabet of names, so that
// attributes refer to each other often, also in circles.
type gen struct {
	*rapid.T
	blind bool // nothing that looks at the text of an attribute
	calm  bool // no random numbers
}

func (g gen) of(texts ...string) string { return texts[g.n(len(texts))] }
func (g gen) n(below int) int           { return rapid.IntRange(0, below-1).Draw(g.T, "choice") }

func (g gen) name() string {
	return g.of("", "", "MY.", "TARGET.") + g.of("A", "B", "C", "D", "A", "B", "C", "D", "N", "L", "Requirements")
}

func (g gen) leaf() string {
	switch g.n(8) {
	case 0, 1, 2, 3:
		return g.name()
	case 4, 5:
		return g.of("true", "false", "undefined", "error", "0", "1", "2", "0.0", "2.5", "-1", `"a"`, `"true"`, `""`, `"A + 1"`)
	case 6:
		return g.of("{ 1, 2 }", "{ }", `{ "a", true }`, "{ A, 1 }", "[ x = A; A = 5 ]", "[ y = B ].y", "N.x", "TARGET.N.x", "L[0]", "MY.N.A", `relTime("1:05")`, `absTime("2024-01-01T00:00:00")`)
	}
	if !g.blind && g.n(4) == 0 {
		return g.of("MY", "TARGET", "size(ROOT)", "unparse(A)", "unresolved(B)")
	}
	if !g.calm && g.n(5) == 0 {
		return g.of("random(3)", "random()")
	}
	return g.of("time()", "CurrentTime", "MY.CurrentTime", "TARGET.CurrentTime", ".A", "TARGET.TARGET.A", "TARGET.MY.B",
		`MY["A"]`, `TARGET["B"]`, "nosuch(A)", "countMatches(A, L)", "evalInEachContext(x, N)", "parent.A", "N.parent.B", `eval("B")`, `eval("TARGET.C")`, `eval("A && B")`)
}

// operand is an expression in the middle of another one.
func (g gen) operand(depth int) string {
	if depth <= 0 || g.n(4) == 0 {
		return g.leaf()
	}
	if g.n(5) == 0 {
		return "ifThenElse(" + g.expr(depth-1) + ", " + g.expr(depth-1) + ", " + g.expr(depth-1) + ")"
	}
	return "(" + g.expr(depth) + ")"
}

func (g gen) expr(depth int) string {
	if depth <= 0 {
		return g.leaf()
	}
	sub := func() string { return g.operand(depth - 1) }
	arg := func() string { return g.expr(depth - 1) }
	switch g.n(12) {
	case 0:
		return g.leaf()
	case 1, 2, 3:
		return sub() + g.of(" && ", " || ") + sub()
	case 4:
		o := g.of(" && ", " || ")
		return sub() + o + sub() + o + sub()
	case 5:
		return sub() + g.of(" == ", " != ", " < ", " >= ", " =?= ", " =!= ", " + ", " - ", " * ", " / ", " % ", " & ", " | ", " << ") + sub()
	case 6:
		return g.of("!", "-", "+", "~") + sub()
	case 7:
		return sub() + " ? " + sub() + " : " + sub()
	case 8:
		return sub() + " ?: " + sub()
	case 9:
		return "ifThenElse(" + arg() + ", " + arg() + ", " + arg() + ")"
	case 10:
		return g.of("isUndefined", "isError", "isBoolean", "bool", "int", "string", "size", "eval", "debug", "sum", "toUpper", "getHours", "relTime", "absTime", "strcat") + "(" + g.of("", "debug") + "(" + arg() + "))"
	}
	return g.of("strcat", "member", "regexp", "stringListMember", "join", "pow", "split", "identicalMember", "countMatches", "strcmp") + "(" + arg() + ", " + arg() + ")"
}

func (g gen) ad() *Ad {
	ad := New()
	for _, name := range []string{"A", "B", "C", "D", "N", "L", "Requirements"} {
		text := ""
		switch name {
		case "N":
			text = g.of("", "[ x = A; A = 7 ]", "[ x = 1; z = B ]", "[ x = N.x ]")
		case "L":
			text = g.of("", "{ N }", "{ 1, A }", "{ [ A = 1 ], [ A = B ] }", `{ 1, "a" }`)
		case "Requirements":
			text = g.expr(3)
		default:
			text = g.of("", "x", "x", "x")
			if text != "" {
				text = g.expr(g.n(3))
			}
		}
		if text != "" {
			ad.Set(name, g.parse(text))
		}
	}
	if g.n(20) == 0 {
		ad.Set("CurrentTime", g.parse(g.leaf()))
	}
	return ad
}

func (g gen) parse(text string) *Expr {
	e, err := ParseExpr(text)
	if err != nil {
		g.Fatalf("ParseExpr(%q): %v", text, err)
	}
	return e
}

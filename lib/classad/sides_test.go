package classad

import (
	"strings"
	"testing"
)

func TestSides(t *testing.T) {
	for _, c := range []struct {
		text, own, other string
		ok               bool
	}{
		{"1 + 2", "", "", true},
		{"MY.Rank", "my rank", "my", true},
		{"TARGET.Memory >= RequestMemory", "requestmemory target", "memory requestmemory target", true},
		{"(Self.A || other.b) && ifThenElse(c, MY.D, 1)", "a c d my other self", "b c my other self", true},
		{"member(X, {MY.Y, \"z\"})", "my x y", "my x", true},
		{"a ?: MY.b", "a b my", "a my", true},
		{"time() > EnteredCurrentState", "enteredcurrentstate", "enteredcurrentstate", true},
		{"CurrentTime", "currenttime", "currenttime", true},
		{"[ a = 1 ].a", "", "", false},
		{"x.y", "", "", false},
		{"MY", "", "", false},
		{".a", "", "", false},
		{"a[0]", "", "", false},
		{`eval("a")`, "", "", false},
	} {
		e, err := ParseExpr(c.text)
		if err != nil {
			t.Fatal(err)
		}
		own, other, ok := Sides(e)
		if strings.Join(own, " ") != c.own || strings.Join(other, " ") != c.other || ok != c.ok {
			t.Errorf("Sides(%s) = %q, %q, %v, want %q, %q, %v", c.text, own, other, ok, c.own, c.other, c.ok)
		}
	}
}

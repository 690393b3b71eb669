package classad

import (
	"strings"
	"testing"
)

func TestSides(t *testing.T) {
	for _, c := range []struct {
		text, own, other, either string
		ok                       bool
	}{
		{"1 + 2", "", "", "", true},
		{"MY.Rank", "rank", "", "", true},
		{"TARGET.Memory >= RequestMemory", "", "memory", "requestmemory", true},
		{"TARGET.Memory >= Memory", "", "memory", "memory", true},
		{"(Self.A || other.b) && ifThenElse(c, MY.D, 1)", "a d", "b", "c", true},
		{`member(X, {MY.Y, "z"})`, "y", "", "x", true},
		{"a ?: MY.b", "b", "", "a", true},
		{"time() > EnteredCurrentState", "", "", "enteredcurrentstate", true},
		{"CurrentTime", "", "", "currenttime", true},
		{"[ a = 1 ].a", "", "", "", false},
		{"x.y", "", "", "", false},
		{"MY", "", "", "", false},
		{".a", "", "", "", false},
		{"a[0]", "", "", "", false},
		{`eval("a")`, "", "", "", false},
	} {
		e, err := ParseExpr(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Sides(e)
		own, other, either := strings.Join(got.Own, " "), strings.Join(got.Other, " "), strings.Join(got.Either, " ")
		if own != c.own || other != c.other || either != c.either || ok != c.ok {
			t.Errorf("Sides(%s) = %q, %q, %q, %v, want %q, %q, %q, %v", c.text, own, other, either, ok, c.own, c.other, c.either, c.ok)
		}
	}
}

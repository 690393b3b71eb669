package negotiator

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNatural(t *testing.T) {
	for _, pair := range [][2]string{
		{"", "a"}, {"slot2", "slot10"}, {"slot2@b", "slot10@a"}, {"slot1@node9", "slot1@node10"},
		{"a01", "a1"}, {"a1", "a02"}, {"1", "a"}, {"a", "a1"}, {"a1b", "a1c"}, {"x99999999999999999999", "x100000000000000000000"},
	} {
		if a, b := natural(pair[0], pair[1]), natural(pair[1], pair[0]); a >= 0 || b <= 0 {
			t.Errorf("natural(%q, %q) = %d and %d the other way round, want it before", pair[0], pair[1], a, b)
		}
	}
}

func TestNaturalIsAnOrder(t *testing.T) {
	name := rapid.StringMatching(`[ab@]?[0-2]{0,3}[ab]?[0-2]{0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if (natural(a, b) == 0) != (a == b) || (natural(a, b) < 0) != (natural(b, a) > 0) {
			t.Fatalf("natural(%q, %q) = %d, the other way round %d", a, b, natural(a, b), natural(b, a))
		}
		if natural(a, b) <= 0 && natural(b, c) <= 0 && natural(a, c) > 0 {
			t.Fatalf("natural: %q <= %q <= %q, but %q > %q", a, b, c, a, c)
		}
	})
}

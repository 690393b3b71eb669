package pool

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseJobID(t *testing.T) {
	for _, c := range []struct {
		text string
		want JobID
		ok   bool
	}{
		{"12.0", JobID{12, 0}, true}, {"1.999", JobID{1, 999}, true},
		{"0.0", JobID{}, false}, {"12", JobID{}, false}, {"12.", JobID{}, false}, {".1", JobID{}, false},
		{"12.-1", JobID{}, false}, {"+12.0", JobID{}, false}, {"12.0x", JobID{}, false}, {"12.0.0", JobID{}, false},
		{"99999999999.0", JobID{}, false}, {"", JobID{}, false},
	} {
		got, err := ParseJobID(c.text)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("ParseJobID(%q) = %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	for text, want := range map[string]string{"2147483648": "from 1 to 2147483647", "0": "from 1 up", "1x": "from 1 up"} {
		if _, err := ParseCluster(text); err == nil || !strings.HasSuffix(err.Error(), "want a whole number "+want) {
			t.Errorf("ParseCluster(%q) = %v, want an error that says %s", text, err, want)
		}
	}
}

func TestParseClaimState(t *testing.T) {
	for s := Matched; s <= Promised; s++ {
		if got, err := ParseClaimState(s.String()); got != s || err != nil {
			t.Errorf("ParseClaimState(%q) = %v, %v, want %v", s.String(), got, err, s)
		}
	}
	if _, err := ParseClaimState("Claimed"); err == nil {
		t.Error(`ParseClaimState("Claimed") succeeded, want an error`)
	}
}

func TestCompareNames(t *testing.T) {
	want := []string{"", "slot", "slot1", "slot01", "slot1@a", "slot1@b", "slot2@a", "slot10@a", "slot10_2@a", "slots"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, CompareNames)
	if !slices.Equal(got, slices.SortedFunc(slices.Values(want), CompareNames)) {
		t.Errorf("sorted names = %q, not the same from another order", got)
	}
	if slices.Index(got, "slot2@a") > slices.Index(got, "slot10@a") {
		t.Errorf("sorted names = %q, want slot2 before slot10", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a0]{0,2}[0-2]{0,3}[@a1]{0,3}`)
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if (CompareNames(a, b) == 0) != (a == b) || sign(CompareNames(a, b)) != -sign(CompareNames(b, a)) {
			t.Fatalf("CompareNames(%q, %q) = %d, the other way %d", a, b, CompareNames(a, b), CompareNames(b, a))
		}
		if CompareNames(a, b) < 0 && CompareNames(b, c) < 0 && CompareNames(a, c) >= 0 {
			t.Fatalf("%q < %q < %q, but not %q < %q", a, b, c, a, c)
		}
	})
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

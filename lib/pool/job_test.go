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

func TestProcsText(t *testing.T) {
	for _, c := range []struct {
		procs Procs
		text  string
	}{{Procs{1, 2, 3}, "1.2-3"}, {Procs{7, 0, 0}, "7.0"}, {Procs{2, 0, 2147483647}, "2.0-2147483647"}} {
		if got := c.procs.String(); got != c.text {
			t.Errorf("String(%+v) = %s, want %s", c.procs, got, c.text)
		}
		var back Procs
		if err := back.UnmarshalText([]byte(c.text)); err != nil || back != c.procs {
			t.Errorf("UnmarshalText(%s) = %+v, %v, want %+v", c.text, back, err, c.procs)
		}
	}
	for _, bad := range []string{"", "1", "1.0-", "1.2-2", "1.2-1", "0.0-1", "1.0-1-2", "1.0--1", "1.0-1.5", "1.0-99999999999"} {
		got := Procs{9, 9, 9}
		if err := got.UnmarshalText([]byte(bad)); err == nil || got != (Procs{9, 9, 9}) {
			t.Errorf("UnmarshalText(%q) = %+v, %v, want an error and no change", bad, got, err)
		}
	}
}

func TestProcsSets(t *testing.T) {
	p := Procs{1, 2, 5}
	for _, c := range []struct {
		q       Procs
		both    Procs
		meet    bool
		rest    []Procs
		follows bool
	}{
		{p, p, true, nil, false},
		{Procs{1, 0, 9}, p, true, nil, false},
		{Procs{1, 3, 4}, Procs{1, 3, 4}, true, []Procs{{1, 2, 2}, {1, 5, 5}}, false},
		{Procs{1, 0, 2}, Procs{1, 2, 2}, true, []Procs{{1, 3, 5}}, false},
		{Procs{1, 5, 7}, Procs{1, 5, 5}, true, []Procs{{1, 2, 4}}, false},
		{Procs{1, 0, 1}, Procs{}, false, []Procs{p}, false},
		{Procs{1, 6, 7}, Procs{}, false, []Procs{p}, true},
		{Procs{1, 7, 7}, Procs{}, false, []Procs{p}, false},
		{Procs{2, 3, 4}, Procs{}, false, []Procs{p}, false},
		{Procs{2, 6, 7}, Procs{}, false, []Procs{p}, false},
	} {
		if both, ok := p.Intersect(c.q); ok != c.meet || ok && both != c.both {
			t.Errorf("%v.Intersect(%v) = %v, %v, want %v, %v", p, c.q, both, ok, c.both, c.meet)
		}
		if rest := p.Minus(c.q); !slices.Equal(rest, c.rest) {
			t.Errorf("%v.Minus(%v) = %v, want %v", p, c.q, rest, c.rest)
		}
		longer, want := p, p
		if c.follows {
			want.Last = c.q.Last
		}
		if ok := longer.Extend(c.q); ok != c.follows || longer != want {
			t.Errorf("%v.Extend(%v) = %v, %v, want %v, %v", p, c.q, longer, ok, want, c.follows)
		}
	}
}

func TestJoinProcs(t *testing.T) {
	got := JoinProcs([]Procs{{2, 5, 5}, {1, 4, 5}, {2, 0, 4}, {1, 0, 0}, {1, 1, 2}, {3, 0, 0}})
	if want := []Procs{{1, 0, 2}, {1, 4, 5}, {2, 0, 5}, {3, 0, 0}}; !slices.Equal(got, want) {
		t.Errorf("JoinProcs = %v, want %v", got, want)
	}
}

// Of any two procs, each job of the first is either in the intersection or in one piece
// of the difference, which JoinProcs puts together again; and the text of each piece
// reads back.
func TestProcsLaw(t *testing.T) {
	drawn := rapid.Custom(func(t *rapid.T) Procs {
		first := rapid.IntRange(0, 9).Draw(t, "first")
		return Procs{rapid.IntRange(1, 2).Draw(t, "cluster"), first, rapid.IntRange(first, 9).Draw(t, "last")}
	})
	rapid.Check(t, func(t *rapid.T) {
		p, q := drawn.Draw(t, "p"), drawn.Draw(t, "q")
		pieces := p.Minus(q)
		if both, ok := p.Intersect(q); ok {
			pieces = append(pieces, both)
		}
		jobs := 0
		for _, one := range pieces {
			if back, err := ParseProcs(one.String()); back != one || err != nil {
				t.Errorf("ParseProcs(%v) = %v, %v", one, back, err)
			}
			for id := range one.Jobs() {
				if in := slices.Contains(p.Minus(q), one); !p.Has(id) || in == q.Has(id) {
					t.Errorf("%v of %v and %v: in the difference: %v", id, p, q, in)
				}
				jobs++
			}
		}
		if joined := JoinProcs(pieces); jobs != p.Count() || !slices.Equal(joined, []Procs{p}) {
			t.Errorf("%v and %v: %d jobs in %v", p, q, jobs, pieces)
		}
	})
}

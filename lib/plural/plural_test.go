package plural

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "job", "0 jobs"}, {1, "job", "1 job"}, {2, "job", "2 jobs"}, {-1, "job", "-1 jobs"},
		{1, "entry", "1 entry"}, {3, "entry", "3 entries"}, {2, "day", "2 days"}, {2, "key", "2 keys"},
		{1, "match", "1 match"}, {2, "match", "2 matches"}, {2, "class", "2 classes"}, {2, "byte", "2 bytes"},
		{1, "old generation", "1 old generation"}, {2, "old generation", "2 old generations"},
	} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("Count(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

func TestList(t *testing.T) {
	all := []string{"a", "b", "c", "d"}
	for n, want := range []string{"", "a", "a and b", "a, b and c", "a, b, c and d"} {
		if got := List(all[:n]); got != want {
			t.Errorf("List(%q) = %q, want %q", all[:n], got, want)
		}
	}
}

func TestPick(t *testing.T) {
	for _, c := range []struct {
		n    int
		want string
	}{{1, "1 slot is"}, {0, "0 slots are"}, {12, "12 slots are"}} {
		if got := Pick(c.n, "1 slot is", "%d slots are"); got != c.want {
			t.Errorf("Pick(%d) = %q, want %q", c.n, got, c.want)
		}
	}
	if got := Pick(2, "is", "are"); got != "are" {
		t.Errorf("Pick without %%d = %q, want are", got)
	}
}

func TestSome(t *testing.T) {
	for more, want := range map[int]string{0: "a, b", 1: "a, b, and another", 3: "a, b, and 3 others"} {
		if got := Some([]string{"a", "b"}, more); got != want {
			t.Errorf("Some(a b, %d) = %q, want %q", more, got, want)
		}
	}
}

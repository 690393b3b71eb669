package nearest

import "testing"

func TestName(t *testing.T) {
	known := []string{"setprio", "setfactor", "PRIORITY_HALFLIFE", "MACHINE_MAX_VACATE_TIME", "u", "json"}
	for _, c := range []struct{ word, want string }{
		{"setfacotr", "setfactor"},
		{"priority_half_life", "PRIORITY_HALFLIFE"},
		{"PRIORITY_HALFLIVE", "PRIORITY_HALFLIFE"},
		{"MachineMaxVacateTime", "MACHINE_MAX_VACATE_TIME"},
		{"jsno", "json"},
		{"zebra", ""},
		{"setprios", "setprio"},
		{"jsoooo", ""},
		{"jsoo", "json"},
		{"soo", ""},
		{"ju", "u"},
		{"", ""},
		{"x", ""},
	} {
		got, ok := Name(c.word, known)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("Name(%q) = %q, %v, want %q", c.word, got, ok, c.want)
		}
	}
}

func TestHint(t *testing.T) {
	if got, want := Hint("jsn", []string{"json"}), "; did you mean json?"; got != want {
		t.Errorf("Hint = %q, want %q", got, want)
	}
	if got := Hint("jsn", nil); got != "" {
		t.Errorf("Hint without names = %q, want nothing", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0},
		{"abc", "acb", 1}, {"abc", "ab", 1}, {"kitten", "sitting", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

package caseless

import (
	"cmp"
	"testing"
)

func TestContains(t *testing.T) {
	names := []string{"RequestCpus", "Owner"}
	for name, want := range map[string]bool{"Owner": true, "requestcpus": true, "OWNERS": false, "": false} {
		if got := Contains(names, name); got != want {
			t.Errorf("Contains(%q, %q) = %v, want %v", names, name, got, want)
		}
	}
	if Contains(nil, "") {
		t.Error("no names have a name")
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"Owner", "owner", 0}, {"", "", 0}, {"a", "B", -1}, {"Z", "y", 1}, {"ab", "ABC", -1}, {"_", "a", -1}, {"é", "É", 1},
	} {
		if got := cmp.Compare(Compare(c.a, c.b), 0); got != c.want {
			t.Errorf("Compare(%q, %q) has the sign %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

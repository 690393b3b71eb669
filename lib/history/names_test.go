package history

import (
	"slices"
	"strings"
	"testing"
)

// TestRenameNames checks that numbers keep their samples under other names, and that damage stays.
func TestRenameNames(t *testing.T) {
	n := NewNames(7)
	for _, name := range []string{"alice@vm", "<none>", "bob@vm"} {
		n.Number(name)
	}
	const damage = "4 \"carol@vm\" 00000007 00000000\n"
	back := func(from, to string) func(string) string {
		return func(name string) string { return strings.Replace(name, "@"+from, "@"+to, 1) }
	}
	text := string(n.New()) + damage
	renamed, changed := RenameNames([]byte(text), back("vm", "example.org"))
	got, _, bad := ParseNames(renamed)
	var names []string
	for id := 1; id <= 3; id++ {
		name, _ := got.Of(id)
		names = append(names, name)
	}
	if want := []string{"alice@example.org", "<none>", "bob@example.org"}; !changed || !slices.Equal(names, want) || len(bad) != 1 {
		t.Errorf("names = %q, %v, %v, want %q and 1 damaged", names, changed, bad, want)
	}
	if again, _ := RenameNames(renamed, back("example.org", "vm")); string(again) != text {
		t.Errorf("renamed back:\n%swant\n%s", again, text)
	}
	if _, changed := RenameNames([]byte(text), back("elsewhere", "x")); changed {
		t.Error("names of another domain changed")
	}
}

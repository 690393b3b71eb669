package caseless

import (
	"cmp"
	"strings"
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

// Names that are Equal have one Hash, whatever their length and whatever bytes stand beside the letters.
func TestHash(t *testing.T) {
	for b := range 256 {
		for n := range 70 {
			name := strings.Repeat("x", n) + string([]byte{byte(b)}) + "Yz"
			if folded := Fold(name); !Equal(name, folded) || Hash(name) != Hash(folded) {
				t.Errorf("%q and %q: Equal is %v, and the hashes are %x and %x", name, folded, Equal(name, folded), Hash(name), Hash(folded))
			}
		}
		if got, want := lower8(uint64(b)*0x0101010101010101), uint64(Lower(byte(b)))*0x0101010101010101; got != want {
			t.Errorf("lower8 makes %x of %x, want %x", got, b, want)
		}
	}
}

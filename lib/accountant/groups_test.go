package accountant

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

// tree returns the groups with these names, or fails.
func tree(t testing.TB, list ...Group) *Groups {
	t.Helper()
	g, err := NewGroups(list)
	testenv.OK(t, err)
	return g
}

// named returns groups that have nothing but these names.
func named(names ...string) []Group {
	list := make([]Group, len(names))
	for i, name := range names {
		list[i].Name = name
	}
	return list
}

func TestNewGroups(t *testing.T) {
	g := tree(t, named("zoo", "phys", "Phys.lep", "chem.x.deep", "phys.hep", "chem.x", "chem")...)
	var names []string
	for _, one := range g.List {
		names = append(names, one.Name)
	}
	if want := []string{RootGroup, "chem", "phys", "zoo", "chem.x", "phys.hep", "Phys.lep", "chem.x.deep"}; !slices.Equal(names, want) {
		t.Fatalf("NewGroups puts them in the order %v, want %v", names, want)
	}
	for i, one := range g.List {
		if i == 0 {
			continue
		}
		if !slices.Contains(g.List[one.Parent].Children, i) {
			t.Errorf("%s is no child of its parent %s", one.Name, g.List[one.Parent].Name)
		}
		for _, c := range one.Children {
			if g.List[c].Parent != i {
				t.Errorf("%s is a child of %s but has another parent", g.List[c].Name, one.Name)
			}
		}
	}
	if deep, _ := g.Find("CHEM.X.DEEP"); !slices.Equal(g.Up(deep), []int{7, 4, 1}) {
		t.Errorf("Up(chem.x.deep) = %v, want 7 4 1", g.Up(deep))
	}
	if g, err := NewGroups(nil); g != nil || err != nil || !g.None() {
		t.Errorf("NewGroups(nil) = %v, %v, want nil", g, err)
	}
}

func TestNewGroupsRefuses(t *testing.T) {
	for _, c := range []struct{ names, err string }{
		{"a,b,A", "A: defined twice"},
		{"a.b", "a.b: its parent a is not defined"},
		{"a,a.b.c", "a.b.c: its parent a.b is not defined"},
		{"", `"": want a name`},
		{".a", `".a": want a name`},
		{"a.", `"a.": want a name`},
		{"a..b", `"a..b": want a name`},
		{"<none>", "<none>: is there by itself"},
		{"<NONE>", "<NONE>: is there by itself"},
		{"a b", `"a b": blanks, control`},
		{"a@b", `"a@b": blanks, control`},
		{`a"b`, `"a\"b": blanks, control`},
		{"a\x7fb", `"a\x7fb": blanks, control`},
		{strings.Repeat("ä", 257), `"` + strings.Repeat("ä", 40) + `"...: 257 characters, at most 256`},
	} {
		if g, err := NewGroups(named(strings.Split(c.names, ",")...)); err == nil || !strings.HasPrefix(err.Error(), c.err) || g != nil {
			t.Errorf("NewGroups(%q) = %v, %v, want an error %q", c.names, g, err, c.err)
		}
	}
	if _, err := NewGroups(named(strings.Repeat("ä", 256))); err != nil {
		t.Errorf("NewGroups of a name of 256 characters: %v", err)
	}
}

// TestGroupOf holds names to the manual's rule: the part before the @, up to its
// last dot, as far as it is defined.
func TestGroupOf(t *testing.T) {
	g := tree(t, named("phys", "phys.hep", "chem")...)
	for _, c := range []struct{ name, want string }{
		{"alice@d", RootGroup},
		{"phys.alice@d", "phys"},
		{"PHYS.alice@d", "phys"},
		{"phys.hep.alice@d", "phys.hep"},
		{"Phys.Hep.alice@d", "phys.hep"},
		{"phys.unknown.bob@d", "phys"},
		{"phys.unknown.hep.bob@d", "phys"},
		{"phys.hep.unknown.bob@d", "phys.hep"},
		{"nosuch.bob@d", RootGroup},
		{"nosuch.phys.bob@d", RootGroup},
		{"first.last@d", RootGroup},
		{"phys@d", RootGroup}, // a group without a user: no member of the group
		{"phys.@d", "phys"},
		{".phys@d", RootGroup},
		{"phys..bob@d", "phys"},
		{"phys.alice@a@d", "phys"},
		{"alice@phys.d", RootGroup},
		{"phys", "phys"},
		{"phys.hep", "phys.hep"},
		{"phys.nosuch", RootGroup},
		{RootGroup, RootGroup},
		{"", RootGroup},
	} {
		if got := g.NameOf(c.name); got != c.want {
			t.Errorf("NameOf(%q) = %q, want %q", c.name, got, c.want)
		}
	}
	var none *Groups
	if got := none.NameOf("phys.alice@d"); got != RootGroup || none.Of("phys.alice@d") != 0 || !slices.Equal(none.Up(0), []int{0}) {
		t.Errorf("without groups NameOf = %q, want %q", got, RootGroup)
	}
	if _, ok := none.Find("phys"); ok {
		t.Errorf("without groups Find finds phys")
	}
}

// TestGroupFactor holds the order in which the sources of a factor are asked.
func TestGroupFactor(t *testing.T) {
	p := plain
	p.LocalDomain = "d"
	p.Groups = tree(t, Group{Name: "phys", Factor: 7}, Group{Name: "phys.hep"}, Group{Name: "nice-user", Factor: 3}, Group{Name: "chem", Factor: 1})
	for _, c := range []struct {
		name   string
		factor float64
		from   FactorFrom
	}{
		{"phys.alice@d", 7, FactorGroup},
		{"phys.alice@elsewhere", 7, FactorGroup},
		{"phys", 7, FactorGroup},
		{"chem.alice@elsewhere", 1, FactorGroup},
		{"phys.hep.alice@d", 1, FactorDefault},
		{"phys.hep.alice@elsewhere", 1e4, FactorRemote},
		{"nice-user.alice@d", 1e7, FactorNice},
		{"alice@d", 1, FactorDefault},
		{RootGroup, 1, FactorDefault},
	} {
		if factor, from := p.FactorOf(c.name); factor != c.factor || from != c.from {
			t.Errorf("FactorOf(%q) = %v, %v, want %v, %v", c.name, factor, from, c.factor, c.from)
		}
	}
}

// TestGroupOfAgrees holds Of to walking down the tree from the root, part by part.
func TestGroupOfAgrees(t *testing.T) {
	g := tree(t, named("a", "a.b", "a.b.c", "b", "b.a")...)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "B", "c", "", "A"}), 1, 6).Draw(t, "parts")
		at := 0
	down:
		for _, part := range parts[:len(parts)-1] {
			for _, c := range g.List[at].Children {
				if name := g.List[c].Name; strings.EqualFold(name[strings.LastIndexByte(name, '.')+1:], part) {
					at = c
					continue down
				}
			}
			break
		}
		if name := strings.Join(parts, ".") + "@d"; g.Of(name) != at {
			t.Fatalf("Of(%q) = %s, want %s", name, g.NameOf(name), g.List[at].Name)
		}
	})
}

// The Kelvin sign is a k in capitals, and takes two bytes more.
func TestCanonical(t *testing.T) {
	g, err := NewGroups([]Group{{Name: "Physics"}, {Name: "Physics.HEP"}, {Name: "\u212a"}})
	testenv.OK(t, err)
	for user, want := range map[string]string{
		"alice": "alice", "alice.x": "alice.x", "": "", ".": ".", "<none>": "<none>", "<NONE>.alice": "<NONE>.alice",
		"physics": "Physics", "PHYSICS.alice": "Physics.alice", "physics.hep": "Physics.HEP", "physics.hep.": "Physics.HEP.",
		"physics.chem.alice": "Physics.chem.alice", "k.alice": "\u212a.alice", "k.": "\u212a.", "\u212a.x": "\u212a.x",
	} {
		if got := g.Canonical(user); got != want {
			t.Errorf("Canonical(%q) = %q, want %q", user, got, want)
		}
		if got := (*Groups)(nil).Canonical(user); got != user {
			t.Errorf("Canonical(%q) without groups = %q", user, got)
		}
	}
}

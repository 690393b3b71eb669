package config

import (
	"fmt"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

func TestGroups(t *testing.T) {
	c, err := schema.Parse("f", []byte(`GROUP_NAMES = ["Physics", "physics.hep", "chem"]
GROUP_AUTOREGROUP = true
GROUP_QUOTA_physics = 20
GROUP_QUOTA_DYNAMIC_PHYSICS = 0.5
"GROUP_QUOTA_DYNAMIC_physics.HEP" = 0.25
GROUP_PRIO_FACTOR_chem = 10
GROUP_ACCEPT_SURPLUS_chem = true
GROUP_AUTOREGROUP_chem = false
`))
	testenv.OK(t, err)
	// The order is that of the tree: breadth first, by name.
	want := []string{
		"{<none> -1 [1 2] 0 0 false true false}",
		"{chem 0 [] 10 0 false true false}",
		"{Physics 0 [3] 0 20 false false true}",
		"{physics.hep 2 [] 0 0.25 true false true}",
	}
	for i, g := range c.Groups.List {
		if got := fmt.Sprint(g); i >= len(want) || got != want[i] {
			t.Errorf("group %d is %s, want %v", i, got, want)
		}
	}
	if c := schema.Default(); c.Groups != nil {
		t.Errorf("groups by default: %v, want none", c.Groups)
	}
}

// TestGroupKeyTwice holds that a key of a group is given once, however it is spelled, and
// that With replaces it.
func TestGroupKeyTwice(t *testing.T) {
	_, err := schema.Parse("f", []byte("GROUP_NAMES = [\"a.b\", \"a\"]\n\"GROUP_QUOTA_a.b\" = 5\n\"GROUP_QUOTA_A.B\" = 6\n"))
	if want := "f:3: GROUP_QUOTA_A.B: GROUP_QUOTA_a.b is the same (f:2): case does not count"; err == nil || err.Error() != want {
		t.Errorf("Parse(a key twice) = %v, want %s", err, want)
	}
	c, err := schema.Parse("f", []byte("GROUP_NAMES = [\"a\"]\nGROUP_QUOTA_a = 5\nGROUP_QUOTA_DYNAMIC_A = 0.5\n"))
	if err == nil {
		c, err = c.With([]string{"GROUP_QUOTA_A=6"})
	}
	testenv.OK(t, err)
	if got := c.Groups.List[c.Groups.Of("a.x@x")].Quota; got != 6 {
		t.Errorf("the quota is %v, want 6", got)
	}
}

func TestWhereGroup(t *testing.T) {
	c, err := schema.Parse("f", []byte(`GROUP_NAMES = ["Physics", "chem"]
GROUP_QUOTA_Physics = 20
GROUP_PRIO_FACTOR_PHYSICS = 3
`))
	testenv.OK(t, err)
	for _, x := range []struct{ prefix, group, want string }{
		{"GROUP_PRIO_FACTOR_", "Physics", "f:3"},
		{"GROUP_QUOTA_", "physics", "f:2"},
		{"GROUP_QUOTA_DYNAMIC_", "Physics", ""},
		{"GROUP_PRIO_FACTOR_", "chem", ""},
		{"GROUP_PRIO_FACTOR_", "none", ""},
	} {
		if got := c.WhereGroup(x.prefix, x.group); got != x.want {
			t.Errorf("WhereGroup(%s, %s) = %q, want %q", x.prefix, x.group, got, x.want)
		}
	}
	if i := c.Groups.Of("physics.alice@x"); c.Groups.List[i].Factor != 3 {
		t.Errorf("the factor is %v, want 3", c.Groups.List[i].Factor)
	}
}

// TestLongGroupNames holds that names beyond the manual's bound are taken, with a warning, as
// submit takes them.
func TestLongGroupNames(t *testing.T) {
	long := strings.Repeat("physics_", 6)
	for _, x := range []struct{ text, want string }{
		{"GROUP_NAMES = ['" + long[:40] + "']", ""},
		{"GROUP_NAMES = ['" + strings.Repeat("ä", 40) + "']", ""},
		{"GROUP_NAMES = ['" + long + "']", `f:1: GROUP_NAMES: "` + long + `": 48 characters, where the manual has at most 40`},
		{"GROUP_NAMES = ['a', '" + long + "', '" + long + ".hep', '" + long + ".lep']\n'GROUP_QUOTA_" + long + ".hep' = 3",
			`f:1: GROUP_NAMES: "` + long + `": 48 characters, where the manual has at most 40 (and 2 more)`},
		{"NICE_USER_ACCOUNTING_GROUP_NAME = '" + long + "'", `f:1: NICE_USER_ACCOUNTING_GROUP_NAME: "` + long + `": 48 characters, where the manual has at most 40`},
	} {
		c, err := schema.Parse("f", []byte(x.text))
		if got := strings.Join(c.Warnings, "|"); err != nil || got != x.want {
			t.Errorf("%s: warnings %s, %v, want %s", x.text, got, err, x.want)
		}
	}
}

// TestTwoQuotas holds that of the two kinds of quota of one group the dynamic one gives a warning, unless an option sets the other.
func TestTwoQuotas(t *testing.T) {
	const names = "GROUP_NAMES = ['a', 'b', 'c']\n"
	for _, x := range []struct{ text, asked, want string }{
		{"GROUP_QUOTA_a = 5\nGROUP_QUOTA_DYNAMIC_b = 0.5", "", ""},
		{"GROUP_QUOTA_a = 5\nGROUP_QUOTA_DYNAMIC_a = 0.5", "", "f:3: GROUP_QUOTA_DYNAMIC_a: has no effect beside GROUP_QUOTA_a"},
		{"GROUP_QUOTA_DYNAMIC_A = 0.5\nGROUP_QUOTA_a = 0", "", "f:2: GROUP_QUOTA_DYNAMIC_A: has no effect beside GROUP_QUOTA_a"},
		{"GROUP_QUOTA_a = 5\nGROUP_QUOTA_DYNAMIC_a = 0.5\nGROUP_QUOTA_c = 5\nGROUP_QUOTA_DYNAMIC_c = 0.5", "",
			"f:3: GROUP_QUOTA_DYNAMIC_a: has no effect beside GROUP_QUOTA_a (and 1 more)"},
		{"GROUP_QUOTA_DYNAMIC_a = 0.5", "GROUP_QUOTA_a=3", ""},
	} {
		c, err := schema.Parse("f", []byte(names+x.text))
		if err == nil && x.asked != "" {
			c, err = c.With([]string{x.asked})
		}
		if got := strings.Join(c.Warnings, "|"); err != nil || got != x.want {
			t.Errorf("%s %s: warnings %s, %v, want %s", x.text, x.asked, got, err, x.want)
		}
	}
}

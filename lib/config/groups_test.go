package config

import (
	"fmt"
	"testing"
)

func TestGroups(t *testing.T) {
	c, err := Parse("f", []byte(`GROUP_NAMES = ["Physics", "physics.hep", "chem"]
GROUP_AUTOREGROUP = true
GROUP_QUOTA_physics = 20
GROUP_QUOTA_DYNAMIC_PHYSICS = 0.5
"GROUP_QUOTA_DYNAMIC_physics.HEP" = 0.25
GROUP_PRIO_FACTOR_chem = 10
GROUP_ACCEPT_SURPLUS_chem = true
GROUP_AUTOREGROUP_chem = false
`))
	if err != nil {
		t.Fatal(err)
	}
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
	if c := Default(); c.Groups != nil {
		t.Errorf("groups by default: %v, want none", c.Groups)
	}
}

package jobad

import (
	"testing"

	"fairspool/lib/accountant"
)

// TestGroups holds submit descriptions to the pool's accounting groups.
func TestGroups(t *testing.T) {
	groups, err := accountant.NewGroups([]accountant.Group{{Name: "group_physics"}, {Name: "group_physics.hep"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, said string }{
		{"accounting_group = group_physics", ""},
		{"accounting_group = GROUP_PHYSICS.HEP", ""},
		{"+AccountingGroup = \"group_physics\"", ""},
		{"+AccountingGroup = \"group_physics.hep.newton\"", ""},
		{"accounting_group_user = newton", ""},
		{"nice_user = true", ""},
		{"accounting_group = group_physic", "a.sub:2: accounting_group: GROUP_NAMES has no group group_physic; did you mean group_physics?; the jobs count for <none>"},
		{"+AccountingGroup = \"group_physics.lep.newton\"", "a.sub:2: +AccountingGroup: GROUP_NAMES has no group group_physics.lep; did you mean group_physics.hep?; the jobs count for group_physics"},
		{"+AccountingGroup = group_physics.hep", "a.sub:2: +AccountingGroup: group_physics.hep: no name in double quotes, the jobs count for alice"},
		{"+AccountingGroup =", "a.sub:2: +AccountingGroup: undefined: no name in double quotes, the jobs count for alice"},
		{"accounting_group_user = Group_Physics", `a.sub:2: accounting_group_user: "Group_Physics": is the name of an accounting group, so nobody can be called that`},
	} {
		text := "executable = /bin/true\n" + c.line + "\nqueue\n"
		_, warnings, err := read(text, Options{Owner: "alice", Domain: "x", Dir: "/", Groups: groups})
		said := ""
		for _, w := range warnings {
			said += w.String()
		}
		if err != nil {
			said += err.Error()
		}
		if said != c.said {
			t.Errorf("read(%q) said %q, want %q", c.line, said, c.said)
		}
	}
}

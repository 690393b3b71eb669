package jobad

import (
	"bytes"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
)

// TestUnixGroup: jobs that name no group have the one that the surroundings say, if that
// is one, also those that are made later.
func TestUnixGroup(t *testing.T) {
	for _, c := range []struct{ group, line, want string }{
		{"", "", "-"}, {"staff", "", `"staff"`}, {"staff", "unix_group = physics", `"physics"`}, {"staff", "unix_group =", `"staff"`},
		{"staff", `+UnixGroup = "chem"`, `"chem"`}, {"domain users", "", "-"}, {"", "unix_group = physics", `"physics"`},
		{"staff", "unix_group = two words\narguments = $(unix_group)", "-"}, // a macro of its own
	} {
		o := testOptions()
		o.Group = c.group
		jobs, _, err := read(sleep+c.line+"\nmax_idle = 1\nqueue 2\n", o)
		if err != nil {
			t.Fatalf("read(%q) = %v", c.line, err)
		}
		digest, first, err := jobs.Digest(false)
		if err != nil {
			t.Fatal(err)
		}
		now, err := jobs.Expand(1)
		if err != nil {
			t.Fatal(err)
		}
		later, _, err := Materialize(bytes.NewReader(digest), "example.org", 1, 1, 1, first, time.Unix(1700000600, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, made := range []Cluster{now, later} {
			got := "-"
			if e, ok := adsOf(made)[0].Lookup(pool.AttrUnixGroup); ok {
				got = e.String()
			}
			if got != c.want {
				t.Errorf("UnixGroup of %q in group %q = %s, want %s", c.line, c.group, got, c.want)
			}
		}
	}
}

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

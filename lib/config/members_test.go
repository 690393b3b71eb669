package config

import (
	"fmt"
	"slices"
	"testing"

	"fairspool/internal/testenv"
)

// TestMembers holds what [groups.NAME] says to whom it lets in: the group's own list, or that of
// the nearest group above it.
func TestMembers(t *testing.T) {
	c, err := schema.Parse("f", []byte(`GROUP_NAMES = ["Physics", "physics.hep", "physics.hep.atlas", "chem", "closed"]
ADMINISTRATORS = ["root2", "@wheel"]
[groups.physics]
members = ["alice", "@physics"]
[groups."Physics.hep.atlas"]
members = ["carol"]
[groups.closed]
members = []
`))
	testenv.OK(t, err)
	for _, x := range []struct{ group, want string }{
		{"physics", "[alice @physics] physics true"},
		{"PHYSICS.HEP", "[alice @physics] physics true"},
		{"physics.hep.atlas", "[carol] Physics.hep.atlas true"},
		{"chem", "[]  false"},
		{"closed", "[] closed true"},
		{"unknown", "[]  false"},
	} {
		members, of, restricted := c.MembersOf(x.group)
		if got := fmt.Sprint(members, " ", of, " ", restricted); got != x.want {
			t.Errorf("MembersOf(%s) = %s, want %s", x.group, got, x.want)
		}
	}
	for _, x := range []struct {
		user   string
		groups []string
		want   bool
	}{
		{"root2", nil, true}, {"alice", []string{"wheel"}, true}, {"alice", []string{"users"}, false},
		{"wheel", nil, false}, {"@wheel", nil, false},
	} {
		if got := c.Administers(x.user, x.groups); got != x.want {
			t.Errorf("Administers(%s, %q) = %v, want %v", x.user, x.groups, got, x.want)
		}
	}
	if !NamesGroups(c.Administrators) || NamesGroups([]string{"alice"}) {
		t.Error("NamesGroups does not tell lists with groups from others")
	}
	with, err := c.With([]string{"groups.physics.members=['bob']", `groups."physics.hep".members=["dave"]`})
	testenv.OK(t, err)
	for group, want := range map[string]string{"physics": "bob", "physics.hep": "dave"} {
		if members, _, _ := with.MembersOf(group); !slices.Equal(members, []string{want}) {
			t.Errorf("MembersOf(%s) = %q, want %s", group, members, want)
		}
	}
}

func TestMembersRefused(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"[groups.chem]\nmembers = ['a']", "f:2: groups.chem.members: GROUP_NAMES has no group chem"},
		{"GROUP_NAMES = ['a', 'a.b']\n[groups.a.b]\nmembers = ['x']", `f:3: groups.a.b: a table: a group's name with a dot needs quotes, as in [groups."a.b"]`},
		{"GROUP_NAMES = ['a']\n[groups.a]\nmember = ['x']", "f:3: groups.a.member: unknown key; did you mean members?; a group's table has members"},
		{"GROUP_NAMES = ['a']\n[groups.a]\nmembers = 'x'", `f:3: groups.a.members: "x": want an array of names, as in ["alice", "@staff"]`},
		{"GROUP_NAMES = ['a']\n[groups.a]\nmembers = ['a b']", `f:3: groups.a.members: "a b": want a name without blanks and without any of "@\"", or a Unix group's with an @ before it`},
		{"GROUP_NAMES = ['a']\n[groups.a]\nmembers = ['@']", `f:3: groups.a.members: an empty name, or a Unix group's with an @ before it`},
		{"GROUP_NAMES = ['a']\n[groups]\na = ['x']", `f:3: groups.a: an array: want a table, as in [groups.a] with members = ["alice", "@staff"]`},
		{"GROUP_NAMES = ['a']\n[groups.a]\nmembers = ['x']\n[groups.A]\nmembers = ['y']", "f:5: groups.A.members: a.members is the same (f:3): case does not count"},
		{"GROUP_NAMES = ['a']\n[groups.a]\nSPOOL = '/x'", "f:3: groups.a.SPOOL: stands in table [groups.a]; move it above the first table"},
		{"groups = 5", "f:1: groups: 5: want a table of keys"},
	} {
		if _, err := schema.Parse("f", []byte(x.text)); err == nil || err.Error() != x.want {
			t.Errorf("%s: %v, want %s", x.text, err, x.want)
		}
	}
}

func TestRequirements(t *testing.T) {
	c, err := schema.Parse("f", []byte(`SUBMIT_REQUIREMENT_NAMES = ["Memory", "NotChris", "A_REASON"]
SUBMIT_REQUIREMENT_NotChris = 'Owner != "chris"'
SUBMIT_REQUIREMENT_NotChris_IS_WARNING = true
SUBMIT_REQUIREMENT_Memory = "RequestMemory > 512"
SUBMIT_REQUIREMENT_Memory_REASON = 'strcat("only ", RequestMemory)'
SUBMIT_REQUIREMENT_A_REASON = "true"
`))
	var got []string
	for _, r := range c.Requirements {
		got = append(got, fmt.Sprint(r, c.Text(r.Key()), "; ", c.Text(r.Key()+"_REASON")))
	}
	want := []string{`{Memory false}RequestMemory > 512; strcat("only ", RequestMemory)`, `{NotChris true}Owner != "chris"; `, "{A_REASON false}true; "}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Requirements = %q, %v, want %q", got, err, want)
	}
	if got := c.Where("SUBMIT_REQUIREMENT_Memory"); got != "f:4" {
		t.Errorf("Where(SUBMIT_REQUIREMENT_Memory) = %q, want f:4", got)
	}
	for _, x := range []struct{ text, want string }{
		{"SUBMIT_REQUIREMENT_NAMES = ['a']", "f:1: SUBMIT_REQUIREMENT_NAMES: without the key SUBMIT_REQUIREMENT_a"},
		{"SUBMIT_REQUIREMENT_NAMES = ['a', 'A']", "f:1: SUBMIT_REQUIREMENT_NAMES: A: named twice"},
		{"SUBMIT_REQUIREMENT_NAMES = ['a b']", `f:1: SUBMIT_REQUIREMENT_NAMES: "a b": want a name of letters, digits and underscores`},
		{"SUBMIT_REQUIREMENT_a = 'true'", "f:1: SUBMIT_REQUIREMENT_a: SUBMIT_REQUIREMENT_NAMES has no a"},
		{"SUBMIT_REQUIREMENT_NAMES = ['a']\nSUBMIT_REQUIREMENT_a = true", `f:2: SUBMIT_REQUIREMENT_a: true: want an expression in a string, "true"`},
		{"SUBMIT_REQUIREMENT_NAMES = ['a']\nSUBMIT_REQUIREMENT_a = 'true'\nSUBMIT_REQUIREMENT_a_IS_WARNING = 'x'", `f:3: SUBMIT_REQUIREMENT_a_IS_WARNING: "x": want true or false`},
		{"MAX_JOBS_PER_OWNER = 0", "f:1: MAX_JOBS_PER_OWNER: 0: want 1 to 2147483647"},
	} {
		if _, err := schema.Parse("f", []byte(x.text)); err == nil || err.Error() != x.want {
			t.Errorf("%s: %v, want %s", x.text, err, x.want)
		}
	}
}

package sge

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/config"
	"fairspool/lib/sge"
)

const site = `JOB_PRIORITY_POLICY = "sge"
[sge]
weight_tickets_functional = 1000
weight_tickets_share = 1000
[sge.complexes.lic]
shortcut = "l"
type = "int"
urgency = 500
[sge.complexes.mem_free]
type = "MEMORY"
urgency = "0.5"
relop = "<="
[sge.users.bob]
fshare = "50"
delete_time = 0
[sge.users."alice.x"]
fshare = 100
oticket = 4294967295
default_project = "pa"
[sge.projects.pa]
acl = ["staff", "hpc"]
xacl = "guests,others"
[sge.projects.pb]
[sge.departments.d1]
fshare = 10
entries = ["alice", "@hpc"]
[sge.usersets]
staff = { entries = "alice bob", type = "ACL" }
hpc = {}
guests.entries = ["carol"]
others.entries = "NONE"
[sge.pes.mpi]
slots = 20
urgency_slots = "avg"
[sge.pes.smp]
urgency_slots = 4
[sge.share_tree]
"/eng" = 60
"/eng/bob" = 3
"/sci/carol" = 1
"/sci" = 40
"/eng/alice.x" = "1"
"/eng/default" = 0
`

func parsed(t *testing.T, text string) config.Config {
	t.Helper()
	c, err := schema.Parse("f", []byte(text))
	testenv.OK(t, err)
	return c
}

func TestSGETables(t *testing.T) {
	c := parsed(t, site)
	initial := schema.Default()
	want := *Settings(&initial)
	want.TicketsFunctional, want.TicketsShare = 1000, 1000
	want.Complexes = append(want.Complexes, sge.Complex{Name: "lic", Shortcut: "l", Urgency: 500}, sge.Complex{Name: "mem_free", Type: sge.Memory, Urgency: 0.5})
	want.Users = map[string]sge.Object{"bob": {FShare: 50}, "alice.x": {FShare: 100, OTicket: 4294967295, DefaultProject: "pa"}}
	want.Projects = map[string]sge.Object{"pa": {ACL: []string{"staff", "hpc"}, XACL: []string{"guests", "others"}}, "pb": {}}
	want.Departments = map[string]sge.Object{"d1": {FShare: 10, Entries: []string{"alice", "@hpc"}}}
	want.Usersets = map[string]sge.Userset{"staff": {Entries: []string{"alice", "bob"}}, "hpc": {}, "guests": {Entries: []string{"carol"}}, "others": {}}
	want.PEs = []sge.PE{{Name: "mpi", Slots: 20, UrgencySlots: sge.UrgencySlots{Kind: sge.AvgSlots}},
		{Name: "smp", Slots: 999, UrgencySlots: sge.UrgencySlots{Kind: sge.FixedSlots, Fixed: 4}}}
	want.Tree = &sge.Node{Name: "Root", Shares: 1, Children: []*sge.Node{
		{Name: "eng", Shares: 60, Children: []*sge.Node{{Name: "bob", Shares: 3}, {Name: "alice.x", Shares: 1}, {Name: "default"}}},
		{Name: "sci", Shares: 40, Children: []*sge.Node{{Name: "carol", Shares: 1}}},
	}}
	if !reflect.DeepEqual(*Settings(&c), want) || c.Warnings != nil {
		t.Errorf("SGE =\n%+v\n%v, want\n%+v", *Settings(&c), c.Warnings, want)
	}
	lines := strings.Split(site, "\n")
	for key, line := range map[string]string{
		"sge.complexes.lic.urgency": "urgency = 500", "sge.users.alice.x.oticket": "oticket = 4294967295",
		"sge.projects.pa.xacl": `xacl = "guests,others"`, "sge.usersets.staff.entries": `staff = { entries = "alice bob", type = "ACL" }`,
		"sge.usersets.guests.entries": `guests.entries = ["carol"]`, "sge.share_tree./sci": `"/sci" = 40`,
		"sge.share_tree./eng/alice.x": `"/eng/alice.x" = "1"`,
	} {
		got := c.Where(key)
		var at int
		if _, err := fmt.Sscanf(got, "f:%d", &at); err != nil || lines[at-1] != line {
			t.Errorf("Where(%s) = %q, want the line %q", key, got, line)
		}
	}
}

// The complex of slots is as shipped where nothing is said of it, and stays where it is given.
func TestSlotsComplex(t *testing.T) {
	c := parsed(t, "[sge.complexes.lic]\nurgency = 1\n[sge.complexes.slots]\nurgency = 7\n")
	want := []sge.Complex{{Name: "lic", Urgency: 1}, {Name: "slots", Shortcut: "s", Urgency: 7}}
	if !reflect.DeepEqual(Settings(&c).Complexes, want) {
		t.Errorf("complexes = %+v, want %+v", Settings(&c).Complexes, want)
	}
}

func TestSGETablesRefuse(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"users.alice.fshares = 1", `f:2: sge.users.alice.fshares: unknown attribute; did you mean fshare?`},
		{"users.alice.urgency = 1", `f:2: sge.users.alice.urgency: unknown attribute; only complexes have it`},
		{"users.alice.fshare = -1", `f:2: sge.users.alice.fshare: "-1": want a whole number, 0 to 4294967295`},
		{"users.alice.fshare = 4294967296", `f:2: sge.users.alice.fshare: "4294967296": want`},
		{"users.alice.fshare = 0.5", `f:2: sge.users.alice.fshare: "0.5": want a whole number`},
		{"users.alice.fshare = true", `f:2: sge.users.alice.fshare: true: want a number, a string or an array of such`},
		{"users.alice.default_project = \"a b\"", `f:2: sge.users.alice.default_project: "a b": want the name of a project, or NONE`},
		{"users.alice = 5", `f:2: sge.users.alice: 5: want a table of attributes`},
		{"[[sge.users]]\nname = \"alice\"", `f:2: sge.users: an array of tables: want a table of names`},
		{"users.a.b.fshare = 5", `f:2: sge.users.a.b: a table: want a value; a name with a dot needs quotes, as in [sge.users."a.b"]`},
		{"users.\"\".fshare = 5", `f:2: sge.users..fshare: want a name without blanks`},
		{"users.\"a\\nb\".fshare = 5", `f:2: "sge.users.a\nb.fshare": want a name without blanks`},
		{"projects.p.acl = [[\"a\"]]", `f:2: sge.projects.p.acl: an array: want a number`},
		{"complexes.l.type = \"INTEGER\"", `f:2: sge.complexes.l.type: "INTEGER": want INT, DOUBLE, TIME, MEMORY, BOOL, STRING, CSTRING, RESTRING, HOST`},
		{"complexes.l.urgency = \"many\"", `f:2: sge.complexes.l.urgency: "many": want a number`},
		{"complexes.l.urgency = nan", `f:2: sge.complexes.l.urgency: "NaN": want a number`},
		{"complexes.l.urgency = 1e10", `f:2: sge.complexes.l.urgency: "10000000000": want a number, -1000000000 to`},
		{"complexes.l.shortcut = \"\"", `f:2: sge.complexes.l.shortcut: "": want a name`},
		{"pes.mpi.urgency_slots = \"median\"", `f:2: sge.pes.mpi.urgency_slots: "median": want min, max, avg or a whole number`},
		{"pes.mpi.slots = 10000000", `f:2: sge.pes.mpi.slots: "10000000": want a whole number, 0 to 9999999`},
		{"users.alice.fshare = 1\n\n\nprojects.p.fshare = \"x\"", `f:5: sge.projects.p.fshare: "x": want`},
		{"share_tree.\"/eng/alice\" = 1", `f:2: sge.share_tree./eng/alice: there is no node /eng; add "/eng" = SHARES`},
		{"share_tree.\"/a\" = 1\nshare_tree.\"/a/b/c/d\" = 1", `f:3: sge.share_tree./a/b/c/d: there is no node /a/b; add`},
		{"share_tree.eng = 1", `f:2: sge.share_tree.eng: "eng": want a path of names such as "/eng"`},
		{"share_tree.\"/\" = 1", `f:2: sge.share_tree./: "/": want a path`},
		{"share_tree.\"/a/\" = 1", `f:2: sge.share_tree./a/: "/a/": want a path`},
		{"share_tree.\"/a//b\" = 1", `f:2: sge.share_tree./a//b: "/a//b": want a path`},
		{"share_tree.\"/a\" = 1.5", `f:2: sge.share_tree./a: "1.5": want a whole number, 0 to 4294967295`},
		{"share_tree.\"/a\" = {b = 1}", `f:2: sge.share_tree./a: a table: want a whole number`},
		{"share_tree.\"/a\" = true", `f:2: sge.share_tree./a: true: want a whole number`},
	} {
		_, err := schema.Parse("f", []byte("[sge]\n"+x.text+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("[sge] %s: %v, want %q", x.text, err, x.want)
		}
	}
}

// With changes an attribute or a node, and leaves the rest and its order as they were.
func TestWithObjects(t *testing.T) {
	c := parsed(t, site)
	children := func(n *sge.Node) string {
		var all []string
		for _, k := range n.Children {
			all = append(all, fmt.Sprint(k.Name, " ", k.Shares))
		}
		return strings.Join(all, ", ")
	}
	for _, x := range []struct {
		settings string
		got      func(sge.Config) any
		want     any
	}{
		{"sge.users.bob.fshare=5", func(s sge.Config) any { return s.Users["bob"] }, sge.Object{FShare: 5}},
		{"sge.users.alice.x.fshare=5", func(s sge.Config) any { return s.Users["alice.x"].FShare }, 5.0},
		{`sge.users."alice.x".fshare=5`, func(s sge.Config) any { return s.Users["alice.x"].FShare }, 5.0},
		{"sge.users.carol.oticket=5", func(s sge.Config) any { return s.Users["carol"] }, sge.Object{OTicket: 5}},
		{"sge.complexes.lic.urgency=1.5", func(s sge.Config) any { return s.Complexes[1] }, sge.Complex{Name: "lic", Shortcut: "l", Urgency: 1.5}},
		{"sge.projects.pa.acl=staff", func(s sge.Config) any { return fmt.Sprint(s.Projects["pa"].ACL) }, "[staff]"},
		{`sge.projects.pa.acl=["staff", "d1"]`, func(s sge.Config) any { return fmt.Sprint(s.Projects["pa"].ACL) }, "[staff d1]"},
		{"sge.projects.pa.acl=NONE", func(s sge.Config) any { return len(s.Projects["pa"].ACL) }, 0},
		{"sge.pes.mpi.urgency_slots=max", func(s sge.Config) any { return s.PEs[0].UrgencySlots.Kind }, sge.MaxSlots},
		{"sge.share_tree./eng=5", func(s sge.Config) any { return children(s.Tree) }, "eng 5, sci 40"},
		{`sge.share_tree."/eng"=5|sge.share_tree./eng=6`, func(s sge.Config) any { return children(s.Tree) }, "eng 6, sci 40"},
		{"sge.share_tree./eng/bob=5", func(s sge.Config) any { return children(s.Tree.Children[0]) }, "bob 5, alice.x 1, default 0"},
		{"sge.share_tree./eng/carol=5", func(s sge.Config) any { return children(s.Tree.Children[0]) }, "bob 3, alice.x 1, default 0, carol 5"},
		{"sge.share_tree./bio=5", func(s sge.Config) any { return children(s.Tree) }, "eng 60, sci 40, bio 5"},
		{"sge.weight_ticket=1", func(s sge.Config) any { return s.WeightTicket }, 1.0},
		{"sge.weight_ticket=true", nil, `config sge.weight_ticket: true: want a number`},
		{"sge.users.bob.fshare=x", nil, `config sge.users.bob.fshare: "x": want a whole number`},
		{"sge.users.bob={fshare = 5}", nil, `config sge.users.bob: several attributes: want one at a time, as in sge.users.bob.ATTRIBUTE=VALUE`},
		{"sge.users.bob=5", nil, `config sge.users.bob: 5: want a table of attributes`},
		{"sge.user.bob.fshare=5", nil, `config sge.user.bob.fshare: unknown table; did you mean users?`},
		{"sge.users=5", nil, `config sge.users: 5: want a table of names`},
		{"sge.share_tree./bio/bob=5", nil, `config sge.share_tree./bio/bob: there is no node /bio`},
	} {
		with, err := c.With(strings.Split(x.settings, "|"))
		switch {
		case x.got == nil && (err == nil || !strings.HasPrefix(err.Error(), x.want.(string))):
			t.Errorf("With(%s): %v, want %v", x.settings, err, x.want)
		case x.got != nil && err != nil:
			t.Errorf("With(%s): %v", x.settings, err)
		case x.got != nil && !reflect.DeepEqual(x.got(*Settings(&with)), x.want):
			t.Errorf("With(%s) gives %+v, want %+v", x.settings, x.got(*Settings(&with)), x.want)
		}
	}
	with, err := c.With([]string{"sge.users.bob.fshare=5"})
	if err != nil || with.Where("sge.users.bob.fshare") != "config" || with.Where("sge.users.alice.x.fshare") != c.Where("sge.users.alice.x.fshare") {
		t.Errorf("With tells %q, %q, %v", with.Where("sge.users.bob.fshare"), with.Where("sge.users.alice.x.fshare"), err)
	}
	if again := parsed(t, site); !reflect.DeepEqual(*Settings(&c), *Settings(&again)) {
		t.Errorf("With changed what it was called on: %+v, want %+v", *Settings(&c), *Settings(&again))
	}
}

// A record of a file changes what it says something of; what it says wrongly is left out.
func TestTakeSGERecord(t *testing.T) {
	c := parsed(t, "[sge.users.alice]\nfshare = 1\noticket = 2\n")
	at := config.Origin{File: "suser.txt", Line: 3}
	got := takeRecord(&c, userKind, "alice", []attribute{{"fshare", "7", 4}, {"oticket", "many", 5}, {"delete_time", "0", 6}, {"fsahre", "1", 7}}, at)
	want := []string{`suser.txt:5: sge.users.alice.oticket: "many": want a whole number, 0 to 4294967295`,
		"suser.txt:7: sge.users.alice.fsahre: unknown attribute; did you mean fshare?"}
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(Settings(&c).Users["alice"], sge.Object{FShare: 7, OTicket: 2}) {
		t.Errorf("takeRecord = %q, %+v, want %q", got, Settings(&c).Users["alice"], want)
	}
	if c.Where("sge.users.alice.fshare") != "suser.txt:4" || c.Where("sge.users.alice") != "suser.txt:3" {
		t.Errorf("Where = %s, %s", c.Where("sge.users.alice.fshare"), c.Where("sge.users.alice"))
	}
	if got := takeRecord(&c, peKind, "a b", nil, at); len(got) != 1 || !strings.HasPrefix(got[0], "suser.txt:3: sge.pes.a b: want a name") || Settings(&c).PEs != nil {
		t.Errorf("a record without a name: %q, %+v", got, Settings(&c).PEs)
	}
}

// What tables say of a tree counts for more than a file's, whose nodes stay where they are.
func TestTreeOfFile(t *testing.T) {
	c := schema.Default()
	Settings(&c).Tree = &sge.Node{Name: "Root", Shares: 1, Children: []*sge.Node{{Name: "eng", Shares: 1, Children: []*sge.Node{{Name: "alice", Shares: 2}}}}}
	settingsOf(&c).treeSaid = []treeEntry{{names: []string{"eng", "bob"}, shares: 3}, {names: []string{"eng"}, shares: 9}, {names: []string{"sci"}, shares: 4}}
	testenv.OK(t, growTree(&c))
	want := &sge.Node{Name: "Root", Shares: 1, Children: []*sge.Node{
		{Name: "eng", Shares: 9, Children: []*sge.Node{{Name: "alice", Shares: 2}, {Name: "bob", Shares: 3}}}, {Name: "sci", Shares: 4}}}
	if !reflect.DeepEqual(Settings(&c).Tree, want) {
		t.Errorf("tree = %+v, want %+v", Settings(&c).Tree, want)
	}
}

// A tree may be as deep as a file is long: each name costs what it costs.
func TestDeepTree(t *testing.T) {
	const levels = 100000
	c := schema.Default()
	root := &sge.Node{Name: "Root"}
	names := make([]string, levels)
	for n, i := root, 0; i < levels; i++ {
		names[i] = "a"
		n.Children = []*sge.Node{{Name: "a", Shares: 1}}
		n = n.Children[0]
	}
	Settings(&c).Tree = root
	settingsOf(&c).treeSaid = []treeEntry{{names: names, shares: 7}}
	testenv.OK(t, growTree(&c))
	depth, last := 0, root
	for ; len(last.Children) > 0; depth++ {
		last = last.Children[0]
	}
	if depth != levels || last.Shares != 7 {
		t.Errorf("depth %d, shares %v, want %d, 7", depth, last.Shares, levels)
	}
	Settings(&c).Users = map[string]sge.Object{"a": {}}
	Settings(&c).Projects = map[string]sge.Object{"a": {}}
	told := 0
	inertNodes(Settings(&c), func(key, _ string, _ ...any) {
		if told++; len(key) > 200 {
			t.Fatalf("key %q", key)
		}
	})
	if want := 2*levels - 1; told != want { // all but the topmost are below a project's node, too
		t.Errorf("%d told, want %d", told, want)
	}
}

// Whatever stands in the tables, they give one line of error or a configuration whose tree
// has each name once below its parent.
func FuzzObjects(f *testing.F) {
	f.Add("alice", "fshare", "100", "/eng", "/eng/alice")
	f.Add("lic", "urgency", "-1e9", "/a/b", "/a")
	f.Add("a.b", "entries", "alice, @hpc", "//", "/default")
	f.Fuzz(func(t *testing.T, name, attribute, value, path, other string) {
		var settings []string
		for _, kind := range kinds {
			settings = append(settings, fmt.Sprintf("sge.%s.%s.%s=%s", kind, name, attribute, value))
		}
		settings = append(settings, "JOB_PRIORITY_POLICY=sge", "sge.share_tree."+path+"="+value, "sge.share_tree."+other+"=3")
		for i := range settings {
			c, err := schema.Default().With(settings[i:])
			if err != nil {
				if s := err.Error(); !strings.HasPrefix(s, "config ") || strings.Contains(s, "\n") {
					t.Errorf("With(%q) = %q, want one line that begins with config", settings[i:], s)
				}
				continue
			}
			if Settings(&c).Tree != nil {
				visitNodes(Settings(&c), func(_ func() string, _ string, n *sge.Node) {
					if len(n.Children) != len(childrenOf(n)) && len(n.Children) > len(childrenOf(n)) || !(n.Shares >= 0 && n.Shares <= maxShares) {
						t.Errorf("%q: node %+v", settings[i:], n)
					}
				})
			}
		}
	})
}

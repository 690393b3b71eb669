package sge

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/config"
	"fairspool/lib/sge"
)

// beside writes files into a folder, and returns the configuration that text, which names
// them, makes there. Warnings and errors have no folder in them.
func beside(t *testing.T, text string, files map[string]string) (config.Config, string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		testenv.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	c, err := schema.Parse(filepath.Join(dir, "f"), []byte(text))
	if err != nil {
		return c, strings.ReplaceAll(err.Error(), dir+"/", "")
	}
	return c, strings.ReplaceAll(strings.Join(c.Warnings, "\n"), dir+"/", "")
}

// What qconf prints of a site that was observed comes to the same as its tables.
func TestQconfAsTables(t *testing.T) {
	sites, err := filepath.Glob("testdata/qconf/*")
	if err != nil || len(sites) < 4 {
		t.Fatalf("sites %v, %v", sites, err)
	}
	for _, site := range sites {
		saved, err := schema.Load(filepath.Join(site, "saved.toml"))
		testenv.OK(t, err)
		tables, err := schema.Load(filepath.Join(site, "tables.toml"))
		testenv.OK(t, err)
		if !reflect.DeepEqual(*Settings(&saved), *Settings(&tables)) || saved.Decay != tables.Decay || saved.RunTime != tables.RunTime {
			t.Errorf("%s: saved output comes to\n%+v\nand tables to\n%+v", site, *Settings(&saved), *Settings(&tables))
		}
		if got := saved.Where("sge.halftime"); got != filepath.Join(site, "ssconf.txt")+":13" {
			t.Errorf("%s: halftime is set at %q", site, got)
		}
		for _, w := range saved.Warnings {
			if !strings.Contains(w, "has no effect") {
				t.Errorf("%s: warning %s", site, w)
			}
		}
	}
}

// What an installer sets is the default, and says nothing that needs a warning.
func TestQconfInstaller(t *testing.T) {
	text, err := os.ReadFile("qconf/testdata/ssconf.txt")
	testenv.OK(t, err)
	table, err := os.ReadFile("qconf/testdata/sc.txt")
	testenv.OK(t, err)
	c, warnings := beside(t, "JOB_PRIORITY_POLICY = \"sge\"\n[sge]\nqconf_ssconf = \"ssconf\"\nqconf_sc = \"sc\"", map[string]string{"ssconf": string(text), "sc": string(table)})
	d := schema.Default()
	if warnings != "" || len(Settings(&c).Complexes) != strings.Count(string(table), "\n")-3 {
		t.Errorf("%d complexes, warnings %s", len(Settings(&c).Complexes), warnings)
	}
	if Settings(&c).Complexes = Settings(&d).Complexes; !reflect.DeepEqual(*Settings(&c), *Settings(&d)) || c.Decay != d.Decay || c.RunTime != d.RunTime {
		t.Errorf("it comes to %+v, %+v", *Settings(&c), c.Decay)
	}
	if got := c.Where("sge.halftime"); !strings.HasSuffix(got, "ssconf:13") {
		t.Errorf("halftime is set at %s", got)
	}
}

// Grid Engine's own file, which lies in its spool, comes to the same as what qconf prints: it has
// a heading, blanks in lists, and a number that is the scheduler's own.
func TestSchedConfiguration(t *testing.T) {
	printed, err := os.ReadFile("qconf/testdata/ssconf.txt")
	testenv.OK(t, err)
	for _, x := range []struct{ weights, tickets, want string }{
		{"cpu=1.000000 mem=0.000000 io=0.000000", "0", "1 0 0 "},
		{"cpu=0.500000 mem=0.250000 io=0.250000", "0", "0.5 0.25 0.25 "},
		{"cpu=0.5  mem=0.25", "1000", "0.5 0.25 0 own:25: sge.weight_tickets_override: has no effect: the override policy gives what oticket says"},
		{"cpu = 0.5 , mem= 0.25,io =1", "0", "0.5 0.25 1 "},
		{"cpu 1", "0", `1 0 0 own:18: usage_weight_list: "cpu": want NAME=NUMBER, with "," between two`},
	} {
		text := "# Version: 8.1.9\n#\n# DO NOT MODIFY THIS FILE MANUALLY!\n#\n" + strings.NewReplacer("cpu=1.000000,mem=0.000000,io=0.000000", x.weights,
			"weight_tickets_share  ", "weight_tickets_override           "+x.tickets+"\nweight_tickets_share  ").Replace(string(printed))
		c, warnings := beside(t, "JOB_PRIORITY_POLICY = 'sge'\n[sge]\nqconf_ssconf = 'own'", map[string]string{"own": text})
		if got := fmt.Sprint(c.Decay.CPU.Weight, c.Decay.Memory.Weight, c.Decay.IO.Weight, " ", warnings); got != x.want {
			t.Errorf("%q: %s, want %s", x.weights, got, x.want)
		}
	}
}

const (
	alice = "name alice\noticket 0\nfshare 5\ndelete_time 0\ndefault_project NONE\n"
	bob   = "name bob\noticket 7\nfshare 0\ndelete_time 0\ndefault_project pa\n"
	pa    = "name pa\noticket 1\nfshare 2\nacl hpc,lab, \\\n    more\nxacl NONE\n"
	tree  = "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=1,2\nid=1\nname=pa\ntype=1\nshares=3\nchildnodes=NONE\nid=2\nname=default\ntype=0\nshares=4\nchildnodes=NONE\n"
)

// Tables count for more than files, whatever the order, and settings of With for more than
// either; nothing else of a file is lost.
func TestQconfCountsLess(t *testing.T) {
	c, warnings := beside(t, `JOB_PRIORITY_POLICY = "sge"
[sge.users.alice]
fshare = 9
[sge.share_tree]
"/pa" = 30
"/alice" = 10
[sge]
weight_tickets_share = 100
weight_tickets_functional = 100
qconf_suser = ["one", "two"]
qconf_sprj = "prj"
qconf_sstree = "tree"
qconf_ssconf = "conf"
[sge.usersets]
hpc = {}
lab = {}
more = {}
`, map[string]string{"one": alice, "two": bob, "prj": pa, "tree": tree, "conf": "weight_user 0.5\nweight_tickets_share 7\nreprioritize_interval ::30\nshare_override_tickets 0\npolicy_hierarchy none\ndefault_duration INFINITY\n"})
	if want := "conf:6: without algorithm and 28 more, which qconf prints: is the file cut off?"; warnings != want {
		t.Errorf("warnings\n%s\nwant\n%s", warnings, want)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	check("users", Settings(&c).Users, map[string]sge.Object{"alice": {FShare: 9}, "bob": {OTicket: 7, DefaultProject: "pa"}})
	check("projects", Settings(&c).Projects, map[string]sge.Object{"pa": {FShare: 2, OTicket: 1, ACL: []string{"hpc", "lab", "more"}}})
	check("tree", Settings(&c).Tree, &sge.Node{Name: "Root", Shares: 1, Children: []*sge.Node{{Name: "pa", Shares: 30}, {Name: "default", Shares: 4}, {Name: "alice", Shares: 10}}})
	check("parameters", []any{Settings(&c).WeightUser, Settings(&c).TicketsShare, c.RunTime.Interval.String(), Settings(&c).ShareOverride, len(Settings(&c).Hierarchy)}, []any{0.5, 100.0, "30s", false, 0})
	with, err := c.With([]string{"sge.users.bob.oticket=8", "sge.weight_user=0.75"})
	testenv.OK(t, err)
	check("users", Settings(&with).Users["bob"], sge.Object{OTicket: 8, DefaultProject: "pa"})
	check("weight_user", Settings(&with).WeightUser, 0.75)
	if without, err := c.With([]string{"sge.qconf_suser="}); err != nil || len(Settings(&without).Users) != 1 {
		t.Errorf("users %v, %v, want alice alone", Settings(&without).Users, err)
	}
	for key, want := range map[string]string{"sge.users.alice.fshare": "f:3", "sge.users.bob.oticket": "two:2", "sge.projects.pa": "prj:1", "sge.weight_user": "conf:1"} {
		if got := filepath.Base(c.Where(key)); got != want {
			t.Errorf("%s is set at %s, want %s", key, got, want)
		}
	}
}

// Usersets are what their type says.
func TestQconfUsersets(t *testing.T) {
	set := func(name, kind string) string {
		return fmt.Sprintf("name    %s\ntype    %s\nfshare  3\noticket 4\nentries alice,@hpc\n", name, kind)
	}
	c, warnings := beside(t, "[sge]\nqconf_su = 'su'", map[string]string{"su": set("deadlineusers", "ACL") + set("d1", "DEPT") + set("d2", "ACL DEPT") + set("d3", "dept,acl") + set("d4", "LIST") + set("d5", "NONE")})
	if want := "su:22: d4: type: \"LIST\": want ACL, DEPT, or both\nsu:27: d5: type: \"NONE\": want ACL, DEPT, or both"; warnings != want {
		t.Errorf("warnings\n%s\nwant\n%s", warnings, want)
	}
	department := sge.Object{FShare: 3, OTicket: 4, Entries: []string{"alice", "@hpc"}}
	list := sge.Userset{Entries: department.Entries}
	if want := map[string]sge.Object{"d1": department, "d2": department, "d3": department}; !reflect.DeepEqual(Settings(&c).Departments, want) {
		t.Errorf("departments %+v, want %+v", Settings(&c).Departments, want)
	}
	if want := map[string]sge.Userset{"deadlineusers": list, "d2": list, "d3": list}; !reflect.DeepEqual(Settings(&c).Usersets, want) {
		t.Errorf("usersets %+v, want %+v", Settings(&c).Usersets, want)
	}
}

// Whatever stands in a file, what can be read is read, and the rest is told.
func TestQconfWarnings(t *testing.T) {
	pe := "pe_name mpi\nslots %s\nuser_lists NONE\nallocation_rule $fill_up\nurgency_slots %s\nsomething new\n"
	for _, x := range []struct{ key, text, want string }{
		{"qconf_suser", alice + "fshare -1\nfshares 2\n", `saved:6: fshare: stands in line 3, too; this one counts|saved:7: alice: fshares: unknown attribute; did you mean fshare?|saved:6: sge.users.alice.fshare: "-1": want a whole number, 0 to 4294967295`},
		{"qconf_suser", alice + bob + alice, "saved:11: alice: stands in saved:1, too; this one counts|saved:10: sge.users.bob.default_project: there is no project pa"},
		{"qconf_suser", "", "saved:1: the file is empty: did qconf fail?"},
		{"qconf_suser", strings.TrimSuffix(alice, "\n"), "saved:5: the last line has no end: is the file cut off?"},
		{"qconf_suser", strings.ReplaceAll(alice, "\n", " \r\n"), ""},
		{"qconf_sprj", alice, "saved:5: alice: without acl and 1 more, which qconf prints: is the file cut off?|saved:4: alice: delete_time: unknown attribute|saved:5: alice: default_project: unknown attribute"},
		{"qconf_sp", fmt.Sprintf(pe, "999", "min") + strings.Replace(fmt.Sprintf(pe, "9", "half"), "mpi", "smp", 1), `saved:11: sge.pes.smp.urgency_slots: "half": want min, max, avg or a whole number`},
		{"qconf_sc", "lic l INT <= YES YES 0 12x\nram r MEM <= YES YES 0 0\n", `saved:1: sge.complexes.lic.urgency: "12x": want a number, -1000000000 to 1000000000|saved:2: sge.complexes.ram.type: "MEM": want INT, DOUBLE, TIME, MEMORY, BOOL, STRING, CSTRING, RESTRING, HOST`},
		{"qconf_sstree", tree, "saved:6: pa: a project's node (type=1), but there is no such project; add it with qconf_sprj or [sge.projects]"},
		{"qconf_ssconf", "halftime x\nexecd_params none\nweight_usr 1\n", `saved:3: without algorithm and 33 more, which qconf prints: is the file cut off?|saved:1: halftime: "x": want a whole number|saved:2: execd_params: unknown parameter|saved:3: weight_usr: unknown parameter; did you mean weight_user?`},
	} {
		_, warnings := beside(t, fmt.Sprintf("JOB_PRIORITY_POLICY = 'sge'\n[sge]\n%s = 'saved'\nweight_tickets_share = 1\nweight_tickets_functional = 1\n[sge.users.carol]\nfshare = 1\n[sge.share_tree]\n'/carol' = 1", x.key), map[string]string{"saved": x.text})
		if got := strings.ReplaceAll(warnings, "\n", "|"); got != x.want {
			t.Errorf("%s = %q: warnings\n%s\nwant\n%s", x.key, x.text, got, x.want)
		}
	}
	_, warnings := beside(t, "[sge]\nqconf_sstree = ['a', 'b']", map[string]string{"a": tree, "b": tree})
	if want := "b:1: there is but one; what this file says counts for more than a"; warnings != want {
		t.Errorf("two trees: warnings %s, want %s", warnings, want)
	}
}

// A file that cannot be read is the fault of the key.
func TestQconfFaults(t *testing.T) {
	for text, want := range map[string]string{
		"[sge]\nqconf_sc = 'nowhere'":         "f:2: sge.qconf_sc: nowhere: no such file or directory",
		"[sge]\nqconf_sc = ['sc', 'nowhere']": "f:2: sge.qconf_sc: nowhere: no such file or directory",
		"[sge]\nqconf_sc = '.'":               "f:2: sge.qconf_sc: ",
		"[sge]\nqconf_sc = 5":                 "f:2: sge.qconf_sc: 5: want an array of strings, or a string of words",
		"[sge]\nqconf_su = ['sc', 7]":         "f:2: sge.qconf_su: 7: want an array of strings, or a string of words",
		"qconf_sc = 'sc'":                     "f:1: qconf_sc: belongs into table [sge]",
		"[sge]\nqconf_sct = 'sc'":             "f:2: sge.qconf_sct: unknown key; did you mean qconf_sc?",
	} {
		_, got := beside(t, text, map[string]string{"sc": "lic l INT <= YES YES 0 1\n"})
		if got != want && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(got, want) && strings.HasSuffix(got, "want a file")) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Files that are something else, or as large as they may be, take neither long nor much.
func TestQconfHuge(t *testing.T) {
	var users strings.Builder
	const n = 2_000
	for i := range n {
		fmt.Fprintf(&users, "name u%d\noticket 0\nfshare %d\ndelete_time 0\ndefault_project NONE\n", i, i)
	}
	c, warnings := beside(t, "[sge]\nqconf_suser = 'users'", map[string]string{"users": users.String()})
	if len(Settings(&c).Users) != n || Settings(&c).Users["u77"].FShare != 77 || warnings != "" {
		t.Errorf("%d users, warnings %.200s", len(Settings(&c).Users), warnings)
	}
	var deep strings.Builder
	for i := range n {
		fmt.Fprintf(&deep, "id=%d\nname=n%d\ntype=1\nshares=1\nchildnodes=%d\n", i, i, i+1)
	}
	fmt.Fprintf(&deep, "id=%d\nname=leaf\ntype=0\nshares=1\nchildnodes=NONE\n", n)
	c, warnings = beside(t, "[sge]\nqconf_sstree = 'tree'", map[string]string{"tree": deep.String()})
	depth := 0
	for at := Settings(&c).Tree; len(at.Children) > 0; depth++ {
		at = at.Children[0]
	}
	if depth != n || warnings != "" {
		t.Errorf("depth %d, warnings %.200s", depth, warnings)
	}
	for _, k := range qconfKeys {
		c, _ := beside(t, "[sge]\n"+k.Name+" = ['a', 'b', 'c']", map[string]string{
			"a": strings.Repeat("name x\ntype 7\n", n), "b": users.String() + strings.Repeat("a=1\nid=7\n", n), "c": strings.Repeat(strings.Repeat("ab ", 500)+"\n", 2*config.MostWarnings)})
		if len(c.Warnings) > config.MostWarnings+1 || len(strings.Join(c.Warnings, "\n")) > (config.MostWarnings+1)*(2*config.MostShown+200) {
			t.Errorf("%s: %d warnings", k.Name, len(c.Warnings))
		}
	}
}

// Of a file that is something else the last line tells how much there is.
func TestQconfOtherFile(t *testing.T) {
	for _, k := range qconfKeys {
		if k.Name == "qconf_ssconf" { // any line may be a parameter
			continue
		}
		_, warnings := beside(t, "[sge]\n"+k.Name+" = 'a'", map[string]string{"a": strings.Repeat("another line\n", 3000)})
		if want := "\na:3000: 2500 more notes"; !strings.HasSuffix(warnings, want) {
			t.Errorf("%s: ...%s, want %s at the end", k.Name, warnings[max(0, len(warnings)-100):], want)
		}
	}
}

// The site of the documentation's example is whole.
func TestQconfExample(t *testing.T) {
	c, err := schema.Load("../../../docs/examples/sge/saved.toml")
	if err != nil || len(c.Warnings) > 0 {
		t.Fatalf("%v, warnings %q", err, c.Warnings)
	}
	s := *Settings(&c)
	got := strings.TrimSpace(fmt.Sprintln(len(s.Users), len(s.Projects), len(s.Departments), len(s.Usersets), len(s.Complexes), len(s.PEs), s.TicketsShare, s.Tree.Children[0].Name, s.Tree.Children[0].Children[0].Name))
	if want := "3 2 2 2 5 1 10000 pa default"; got != want {
		t.Errorf("it comes to %s, want %s", got, want)
	}
}

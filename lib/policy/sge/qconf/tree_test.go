package qconf

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// drawn returns a tree as NAME=SHARES(children), with + before projects.
func drawn(n *Node) string {
	if n == nil {
		return "none"
	}
	sign := ""
	if n.Project {
		sign = "+"
	}
	text := fmt.Sprintf("%s%s=%v", sign, n.Name, n.Shares)
	if len(n.Children) == 0 {
		return text
	}
	var children []string
	for _, c := range n.Children {
		children = append(children, drawn(c))
	}
	return text + "(" + strings.Join(children, " ") + ")"
}

// node writes a node as qconf does.
func node(id int, name string, shares int, children string) string {
	return fmt.Sprintf("id=%d\nname=%s\ntype=0\nshares=%d\nchildnodes=%s\n", id, name, shares, children)
}

func TestReadTree(t *testing.T) {
	root := node(0, "Root", 1, "1,2")
	for text, want := range map[string]string{
		node(0, "Root", 1, "NONE"):                                                               "Root=1",
		root + node(1, "a", 60, "NONE") + node(2, "b", 40, ""):                                   "Root=1(a=60 b=40)",
		node(2, "b", 40, "NONE") + root + node(1, "a", 60, "3") + node(3, "c", 5, "NONE"):        "Root=1(a=60(c=5) b=40)",
		node(9, "top", 1, "4, \\\n 7") + node(7, "a", 1, "none") + node(4, "b", 2, "none"):       "top=1(b=2 a=1)",
		"\uFEFF# a\r\n id = 0 \r\n\tname = Root\r\ntype = 1\r\nshares= 7\r\nchildnodes=NONE\r\n": "+Root=7",
		// Somebody's file, with less in it than there should be.
		"id=0\nname=Root\nshares=1\nchildnodes=1\nid=1\nname=a\nshares=2\nchildnodes=NONE\n": "Root=1(a=2)",
		root + node(1, "a", 1, "NONE"):                               "Root=1(a=1) note 5 childnodes: no node has the id 2: is the file cut off?;",
		root + node(1, "a", 1, "NONE") + "id=2\nname=b\ntype=0\nsha": "Root=1(a=1 b=0) note 11 id: 2: no shares behind it: is the file cut off?; note 11 id: 2: no childnodes behind it: is the file cut off?; note 14 sha: want ATTRIBUTE=VALUE; note 14 the last line has no end: is the file cut off?;",
		// What is below two nodes, below itself, or in two places.
		root + node(1, "a", 1, "2") + node(2, "b", 1, "NONE"):                             "Root=1(a=1 b=1) note 10 childnodes: 2 is below 0 already;",
		root + node(1, "a", 1, "1") + node(2, "b", 1, "0"):                                "none note 1 id: every node is below another: none is the root; note 1 id: 0: not below the root; left out; note 10 childnodes: 1 is below 0 already;",
		node(0, "R", 1, "NONE") + node(1, "a", 1, "2") + node(2, "b", 1, "1"):             "R=1 note 6 id: 1: not below the root; left out;",
		node(3, "R", 1, "NONE") + node(4, "a", 1, "5") + node(5, "b", 1, ""):              "R=1 note 6 id: 4: not below the root; left out;",
		node(3, "x", 1, "NONE") + node(0, "R", 1, "NONE"):                                 "R=1 note 1 id: 3: not below the root; left out;",
		root + node(1, "a", 1, "NONE") + node(2, "a", 2, "NONE"):                          "Root=1(a=2) note 6 name: another node below Root has the name a, too; that in line 11 counts;",
		root + node(2, "a", 1, "NONE") + node(2, "b", 2, "NONE") + node(1, "c", 3, "1,1"): "Root=1(c=3 b=2) note 11 id: 2 stands in line 6, too; this one counts; note 20 childnodes: 1 is below 0 already; note 20 childnodes: 1 is below 0 already;",
		// What is no number, no name, no attribute.
		node(0, "R", -1, "x,1") + node(1, "", 1, "NONE"):                           `R=0 note 4 shares: "-1": want a whole number, 0 to 4294967295; note 5 childnodes: "x": want a whole number, 0 to 4294967295; note 6 id: 1: want a name;`,
		"id=x\nname=a\nshares=1\nchildnodes=NONE\n":                                `none note 1 id: "x": want a whole number, 0 to 4294967295;`,
		"name=a\nid=0\nname=R\nname=S\ntype=2\nshares=1\nchildnodes=\nversion=3\n": `S=1 note 1 name: stands before the first id; note 4 name: stands twice in the node of line 2; this one counts; note 5 type: "2": want 0, a user, or 1, a project; note 8 version: no attribute of a node; want id, name, type, shares or childnodes;`,
		"no sharetree element\n":                                                   "none note 1 no sharetree element: want ATTRIBUTE=VALUE;",
		"":                                                                         "none note 1 the file is empty: did qconf fail?;",
	} {
		root, notes := ReadTree(text)
		if got := strings.TrimSpace(drawn(root) + " " + noted(notes)); got != want {
			t.Errorf("ReadTree(%q):\n%s, want\n%s", text, got, want)
		}
	}
}

// A chain of nodes, a root with as many children, and as many with one child that all want.
func TestHugeTree(t *testing.T) { readHugeTree(t, 20_000) }

func TestSoakHugeTree(t *testing.T) {
	testenv.Soak(t)
	readHugeTree(t, 100_000)
}

func readHugeTree(t *testing.T, n int) {
	var chain, star, shared strings.Builder
	ids := make([]string, n)
	for i := range n {
		ids[i] = fmt.Sprint(i + 1)
		chain.WriteString(node(i, "n"+ids[i], 1, ids[i]))
		star.WriteString(node(i+1, "n"+ids[i], 1, "NONE"))
		shared.WriteString(node(i+1, "n"+ids[i], 1, fmt.Sprint(n+1)))
	}
	root, notes := ReadTree(chain.String() + node(n, "leaf", 3, "NONE"))
	depth := 0
	for ; len(root.Children) == 1; depth++ {
		root = root.Children[0]
	}
	if depth != n || root.Name != "leaf" || len(notes) > 0 {
		t.Errorf("chain: depth %d to %s, notes %v", depth, root.Name, notes)
	}
	top := node(0, "Root", 1, strings.Join(ids, ","))
	if root, notes = ReadTree(top + star.String()); len(root.Children) != n || len(notes) > 0 {
		t.Errorf("star: %d children, notes %v", len(root.Children), notes)
	}
	if root, notes = ReadTree(top + shared.String() + node(n+1, "x", 1, "NONE")); len(root.Children) != n || len(notes) != mostNotes+1 {
		t.Errorf("shared: %d children, %d notes", len(root.Children), len(notes))
	}
	if root, notes = ReadTree(chain.String() + node(n, "leaf", 3, "0")); root != nil || len(notes) != 2 {
		t.Errorf("circle: %v, notes %v", root, notes)
	}
}

// Whatever the text, notes and records stand on lines of it, in order, and no node is in two
// places.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"name a\nfshare 1\\\n2\nname b\n", "pe_name \x00\n#\n\\\n\\", "a a INT <= YES YES 1 1\r\n# >#<",
		node(0, "Root", 1, "1,2,0") + node(1, "x", 1, "2") + node(2, "x", 1, "1,3"), "id=1\nid=1\nchildnodes=1,,\nshares=\nid", "\uFEFF\\\nid=0",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		most := strings.Count(text, "\n") + 1
		check := func(what string, records []Record, notes []Note) {
			last := 0
			for _, r := range records {
				if r.Name == "" || strings.ContainsAny(r.Name, " \n\t") || r.Line <= last || r.Line > most {
					t.Errorf("%s(%q): %+v", what, text, r)
				}
				last = r.Line
				checkAttributes(t, what, r.Attributes, most)
			}
			checkNotes(t, what+" of "+text, notes, most)
		}
		for _, k := range []Kind{Users, Projects, Usersets, PEs} {
			records, notes := ReadRecords(text, k)
			check("ReadRecords", records, notes)
		}
		complexes, notes := ReadComplexes(text)
		check("ReadComplexes", complexes, notes)
		list, notes := ReadParameters(text)
		checkAttributes(t, "ReadParameters", list, most)
		checkNotes(t, "ReadParameters of "+text, notes, most)
		root, notes := ReadTree(text)
		checkTree(t, root, most)
		checkNotes(t, "ReadTree of "+text, notes, most)
	})
}

func checkAttributes(t *testing.T, what string, list []Attribute, most int) {
	names := map[string]bool{}
	for _, a := range list {
		if a.Name == "" || names[a.Name] || a.Line < 1 || a.Line > most || a.Value != strings.TrimSpace(a.Value) || strings.ContainsAny(a.Name+a.Value, "\n\t\x00") {
			t.Errorf("%s: %+v", what, a)
		}
		names[a.Name] = true
		if slices.Contains(List(a.Value), "") {
			t.Errorf("List(%q): %q", a.Value, List(a.Value))
		}
	}
}

func checkNotes(t *testing.T, what string, notes []Note, most int) {
	last := 1
	for _, n := range notes {
		if n.Line < last || n.Line > most || n.Text == "" || strings.ContainsAny(n.Text, "\n\t\x00") {
			t.Errorf("%s: note %+v after line %d", what, n, last)
		}
		last = n.Line
	}
}

func checkTree(t *testing.T, root *Node, most int) {
	seen := map[*Node]bool{}
	next := []*Node{}
	if root != nil {
		next = append(next, root)
	}
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[n] || n.Name == "" || n.Line < 1 || n.Line > most || n.Shares < 0 || n.Shares > math.MaxUint32 {
			t.Fatalf("node %+v, seen %v", n, seen[n])
		}
		seen[n] = true
		names := map[string]bool{}
		for _, c := range n.Children {
			if names[c.Name] {
				t.Errorf("two children %s below %s", c.Name, n.Name)
			}
			names[c.Name] = true
			next = append(next, c)
		}
	}
}

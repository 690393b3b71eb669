package sge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/config"
	"fairspool/lib/nearest"
	"fairspool/lib/sge"
)

// settings are the settings of the table [sge] and of the saved output of qconf that it
// names.
type settings struct {
	sge.Config
	files map[string][]string // qconf_ssconf and the like by name, as they stand there

	ignored         map[string]bool // parameters that say something and have no effect
	unmeasured      []string        // kinds of usage in halflife_decay_list that are not measured
	complexAt, peAt map[string]int  // where the objects are in Complexes and PEs
	treeSaid        []treeEntry     // share_tree
	projectNodes    []projectNode   // of a saved share tree, said to be projects
}

func settingsOf(c *config.Config) *settings { return c.Settings(policyName).(*settings) }

// Settings returns a configuration's settings of the policy. They are shared; do not change them.
func Settings(c *config.Config) *sge.Config { return &settingsOf(c).Config }

// Table is the table [sge].
func (Policy) Table() *config.Table {
	return &config.Table{
		Name: policyName, Keys: Keys, First: config.KeyNames(qconfKeys), Later: later,
		Begin: func() any { return &settings{} },
		Plain: pasted, Depth: depth, Split: split, Named: takeObject, Taken: readQconf,
		Finish: func(c *config.Config) error {
			shipComplexes(c)
			c.DefaultProjects = defaultProjects(Settings(c))
			return growTree(c)
		},
		Warn: func(c *config.Config) {
			warn(c)
			warnOfProjectNodes(c)
		},
	}
}

// later are parameters of sge_conf(5) that have to do with users' records.
var later = config.LaterNames(`enforce_user=none enforce_project=false auto_user_fshare=0 auto_user_oticket=0
	auto_user_default_project=none auto_user_delete_time=0`)

// tableNames are the tables in [sge].
var tableNames = append(tables(kinds...), shareTree)

// depth is the depth of [sge.users.NAME] with ATTRIBUTE = VALUE, or of the paths in [sge.share_tree].
func depth(table string) int {
	switch {
	case table == shareTree:
		return 1
	case slices.Contains(tableNames, table):
		return 2
	}
	return 0
}

// split takes a key of [sge] apart that has an object's name in it: the table, the name
// and the attribute, or share_tree and the path; nil for others. Names may have dots.
func split(key string) []string {
	unquoted := func(s string) string { return strings.Trim(s, `"`) }
	table, rest, dotted := strings.Cut(key, ".")
	if !dotted || !slices.Contains(tableNames, table) {
		return nil
	}
	if i := strings.LastIndexByte(rest, '.'); i >= 0 && table != shareTree {
		return []string{table, unquoted(rest[:i]), unquoted(rest[i+1:])}
	}
	return []string{table, unquoted(rest)}
}

// takeObject applies a setting of [sge] with an object's name in its key; ok is false for
// other keys.
func takeObject(c *config.Config, s config.Setting) (ok bool, err error) {
	if len(s.Parts) == 0 {
		return notARecord(s)
	}
	c.NoteNamed(s.Key(), "", s.Value, s.From)
	switch {
	case s.Parts[0] == shareTree:
		return true, takeNode(c, s)
	}
	kind, name := kind(s.Parts[0]), s.Parts[1]
	if len(s.Parts) == 2 {
		switch empty, ok := s.Value.(map[string]any); {
		case !ok:
			return true, fmt.Errorf("%s: want a table of attributes", config.Shown(s.Value))
		case len(empty) > 0: // in the file each attribute is a setting of its own
			return true, fmt.Errorf("several attributes: want one at a time, as in %s.ATTRIBUTE=VALUE", s.Key())
		}
		return true, openRecord(c, kind, name)
	}
	if err := openRecord(c, kind, name); err != nil {
		return true, err
	}
	if object := policyName + "." + s.Parts[0] + "." + name; !c.Noted(object) {
		c.Note(object, s.From)
	}
	text, ok := config.PlainText(s.Value)
	if _, isTable := s.Value.(map[string]any); isTable {
		return true, fmt.Errorf("a table: want a value; a name with a dot needs quotes, as in [sge.%s.\"%s.%s\"]", kind, name, s.Parts[2])
	}
	if !ok {
		return true, fmt.Errorf("%s: want a number, a string or an array of such", config.Shown(s.Value))
	}
	return true, takeAttribute(c, kind, name, s.Parts[2], text)
}

// notARecord refuses keys that are meant to be a table of [sge], or in one.
func notARecord(s config.Setting) (ok bool, err error) {
	table, _, dotted := strings.Cut(s.Name, ".")
	switch {
	case s.Name == shareTree:
		return true, fmt.Errorf("%s: want a table of paths", config.Shown(s.Value))
	case slices.Contains(tableNames, s.Name):
		return true, fmt.Errorf("%s: want a table of names", config.Shown(s.Value))
	}
	_, isTable := s.Value.(map[string]any)
	if isTable || dotted {
		return true, errors.New("unknown table" + nearest.Hint(table, tableNames))
	}
	return false, nil
}

// shareTree is the name of the table [sge.share_tree].
const shareTree = "share_tree"

// treeRoot is the name of a share tree's root without a name of its own.
const treeRoot = "Root"

// treeEntry is a line of [sge.share_tree] about a node.
type treeEntry struct {
	names  []string // from below the root to the node
	shares float64
	said   config.Setting
}

// takeNode applies a line of [sge.share_tree].
func takeNode(c *config.Config, s config.Setting) error {
	path := s.Parts[1]
	names, err := treePath(path)
	if err != nil {
		return err
	}
	text, ok := config.PlainText(s.Value)
	if !ok {
		return fmt.Errorf("%s: want %s", config.Shown(s.Value), wantShares)
	}
	shares, ok := shareCount(text)
	if !ok {
		return fmt.Errorf("%q: want %s", text, wantShares)
	}
	settingsOf(c).treeSaid = append(settingsOf(c).treeSaid, treeEntry{names, shares, s})
	return nil
}

// treePath returns the names on a path such as /eng/alice.
func treePath(path string) ([]string, error) {
	below, ok := strings.CutPrefix(path, "/")
	names := strings.Split(below, "/")
	if !ok || slices.ContainsFunc(names, func(n string) bool { return !namesObject(n) }) {
		return nil, fmt.Errorf(`%q: want a path of names such as "/eng" or "/eng/alice"`, config.Shortened(path))
	}
	return names, nil
}

// growTree makes the nodes of [sge.share_tree]: the nodes of each level in the order of their
// lines, below those that a file has.
func growTree(c *config.Config) error {
	if len(settingsOf(c).treeSaid) == 0 {
		return nil
	}
	if Settings(c).Tree == nil {
		Settings(c).Tree = &sge.Node{Name: treeRoot, Shares: 1}
	}
	of := childrenOf(Settings(c).Tree)
	slices.SortStableFunc(settingsOf(c).treeSaid, func(a, b treeEntry) int { return len(a.names) - len(b.names) })
	for _, e := range settingsOf(c).treeSaid {
		parent := Settings(c).Tree
		last := len(e.names) - 1
		for i, name := range e.names[:last] {
			if parent = of[child{parent, name}]; parent == nil {
				missing := "/" + strings.Join(e.names[:i+1], "/")
				return e.said.Fault(fmt.Errorf("there is no node %s; add %q = SHARES", config.Shortened(missing), config.Shortened(missing)))
			}
		}
		key := child{parent, e.names[last]}
		if of[key] == nil {
			of[key] = &sge.Node{Name: key.name}
			parent.Children = append(parent.Children, of[key])
		}
		of[key].Shares = e.shares
	}
	return nil
}

// child is the name of a node below another.
type child struct {
	parent *sge.Node
	name   string
}

// childrenOf returns all nodes below a root. Trees of files may be as deep as they like.
func childrenOf(root *sge.Node) map[child]*sge.Node {
	of := map[child]*sge.Node{}
	for rest := []*sge.Node{root}; len(rest) > 0; {
		n := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		for _, k := range n.Children {
			if of[child{n, k.Name}] == nil {
				of[child{n, k.Name}] = k
			}
			rest = append(rest, k)
		}
	}
	return of
}

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"fairspool/lib/nearest"
	"fairspool/lib/sge"
)

// sgeTable is the table [sge].
func sgeTable() *policyTable {
	return &policyTable{
		name: "sge", keys: SGEKeys, first: namesOf(qconfKeys), later: laterSGE, plain: Key.plain, parts: sgeParts,
		inside: (*reader).records, taken: (*Config).readQconf, named: (*Config).takeSGE,
		finish: func(c *Config) error {
			c.shipComplexes()
			c.DefaultProjects = defaultProjects(&c.SGE)
			return c.growTree()
		},
		warn: func(c *Config) {
			c.warnOfSGE()
			c.warnOfProjectNodes()
		},
	}
}

// sgeTables are the tables in [sge].
var sgeTables = append(tables(sgeKinds...), shareTree)

// records returns what a table in [sge] says: a setting for each attribute of an object or
// each node of the share tree, and one for an object of which nothing is said. A large site
// has thousands: the table is read at once, and places are looked up when somebody asks.
func (r *reader) records(table string, p toml.Primitive, all map[string]any) (said []setting, ok bool) {
	if !slices.Contains(sgeTables, table) {
		return nil, false
	}
	places := &opened{table: p}
	add := func(value any, path ...string) {
		parts := append([]string{table}, path...)
		said = append(said, setting{table: "sge", name: strings.Join(parts, "."), parts: parts, value: value,
			from: origin{file: r.file, in: r, table: places, path: path}})
	}
	for _, name := range r.order("sge", table) {
		value := all[name]
		inside, isTable := value.(map[string]any)
		if !isTable || table == shareTree || len(inside) == 0 {
			add(value, name)
			continue
		}
		for _, attribute := range r.order("sge", table, name) {
			add(inside[attribute], name, attribute)
		}
	}
	return said, true
}

// sgeParts takes a key of [sge] apart that has an object's name in it: the table, the name
// and the attribute, or share_tree and the path; nil for others. Names may have dots.
func sgeParts(key string) []string {
	unquoted := func(s string) string { return strings.Trim(s, `"`) }
	table, rest, dotted := strings.Cut(key, ".")
	if !dotted || !slices.Contains(sgeTables, table) {
		return nil
	}
	if i := strings.LastIndexByte(rest, '.'); i >= 0 && table != shareTree {
		return []string{table, unquoted(rest[:i]), unquoted(rest[i+1:])}
	}
	return []string{table, unquoted(rest)}
}

// takeSGE sets what a key of [sge] with an object's name in it says; ok is false for other
// keys.
func (c *Config) takeSGE(s setting) (ok bool, err error) {
	if len(s.parts) == 0 {
		return c.notARecord(s)
	}
	c.named = append(c.named, namedValue{s.key(), "", s.value, s.from})
	switch {
	case s.parts[0] == shareTree:
		return true, c.takeNode(s)
	}
	kind, name := sgeKind(s.parts[0]), s.parts[1]
	if len(s.parts) == 2 {
		switch empty, ok := s.value.(map[string]any); {
		case !ok:
			return true, fmt.Errorf("%s: want a table of attributes", shown(s.value))
		case len(empty) > 0: // in the file each attribute is a setting of its own
			return true, fmt.Errorf("several attributes: want one at a time, as in %s.ATTRIBUTE=VALUE", s.key())
		}
		return true, c.openRecord(kind, name)
	}
	if err := c.openRecord(kind, name); err != nil {
		return true, err
	}
	if object := "sge." + s.parts[0] + "." + name; c.where[object].file == "" {
		c.where[object] = s.from
	}
	text, ok := plainText(s.value)
	if _, isTable := s.value.(map[string]any); isTable {
		return true, fmt.Errorf("a table: want a value; a name with a dot needs quotes, as in [sge.%s.\"%s.%s\"]", kind, name, s.parts[2])
	}
	if !ok {
		return true, fmt.Errorf("%s: want a number, a string or an array of such", shown(s.value))
	}
	return true, c.takeSGEAttribute(kind, name, s.parts[2], text)
}

// notARecord refuses keys that are meant to be a table of [sge], or in one.
func (c *Config) notARecord(s setting) (ok bool, err error) {
	table, _, dotted := strings.Cut(s.name, ".")
	switch {
	case s.name == shareTree:
		return true, fmt.Errorf("%s: want a table of paths", shown(s.value))
	case slices.Contains(sgeTables, s.name):
		return true, fmt.Errorf("%s: want a table of names", shown(s.value))
	}
	_, isTable := s.value.(map[string]any)
	if isTable || dotted {
		return true, errors.New("unknown table" + nearest.Hint(table, sgeTables))
	}
	return false, nil
}

// shareTree is the name of the table [sge.share_tree].
const shareTree = "share_tree"

// treeRoot is what the root of a share tree is called that has no name of its own.
const treeRoot = "Root"

// treeEntry is what a line of [sge.share_tree] says of a node.
type treeEntry struct {
	names  []string // from below the root to the node
	shares float64
	said   setting
}

// takeSGETree sets the share tree to one of a file. Lines of [sge.share_tree], whichever come
// first, change its nodes and add others.
func (c *Config) takeSGETree(root *sge.Node) { c.SGE.Tree = root }

// takeNode notes what a line of [sge.share_tree] says.
func (c *Config) takeNode(s setting) error {
	path := s.parts[1]
	names, err := treePath(path)
	if err != nil {
		return err
	}
	text, ok := plainText(s.value)
	if !ok {
		return fmt.Errorf("%s: want %s", shown(s.value), wantShares)
	}
	shares, ok := shareCount(text)
	if !ok {
		return fmt.Errorf("%q: want %s", text, wantShares)
	}
	c.treeSaid = append(c.treeSaid, treeEntry{names, shares, s})
	return nil
}

// treePath returns the names on a path such as /eng/alice.
func treePath(path string) ([]string, error) {
	below, ok := strings.CutPrefix(path, "/")
	names := strings.Split(below, "/")
	if !ok || slices.ContainsFunc(names, func(n string) bool { return !namesObject(n) }) {
		return nil, fmt.Errorf(`%q: want a path of names such as "/eng" or "/eng/alice"`, shortened(path))
	}
	return names, nil
}

// growTree makes the nodes of [sge.share_tree]: the nodes of each level in the order of their
// lines, below those that a file has.
func (c *Config) growTree() error {
	if len(c.treeSaid) == 0 {
		return nil
	}
	if c.SGE.Tree == nil {
		c.SGE.Tree = &sge.Node{Name: treeRoot, Shares: 1}
	}
	of := childrenOf(c.SGE.Tree)
	slices.SortStableFunc(c.treeSaid, func(a, b treeEntry) int { return len(a.names) - len(b.names) })
	for _, e := range c.treeSaid {
		parent := c.SGE.Tree
		last := len(e.names) - 1
		for i, name := range e.names[:last] {
			if parent = of[child{parent, name}]; parent == nil {
				missing := "/" + strings.Join(e.names[:i+1], "/")
				return e.said.fault(fmt.Errorf("there is no node %s; add %q = SHARES", shortened(missing), shortened(missing)))
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

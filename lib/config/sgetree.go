package config

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/sge"
)

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

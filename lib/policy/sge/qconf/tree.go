package qconf

import (
	"strconv"
	"strings"
)

// Node is a node of the share tree.
type Node struct {
	ID      uint32
	Name    string
	Project bool    // type 1: said to be a project's; else a user's or only a node
	Shares  float64 // whole, 0 to 4294967295
	Line    int     // on which it begins, from 1
	// Children are in their order, with different names.
	Children []*Node
}

// ReadTree reads the output of qconf -sstree: blocks of ATTRIBUTE=VALUE, one for a node,
// that begin with an id. The root is the node that is below no other; of several such nodes
// it is 0, or else the first. It is nil if there is none. The result is a tree whatever the
// text: each node is in one place, and none below itself.
func ReadTree(text string) (root *Node, notes []Note) {
	r := treeReader{lines: newLines(text), byID: map[uint32]int{}, parent: map[*block]*block{}}
	r.read()
	r.connect()
	root = r.root()
	r.unreached(root)
	r.siblings()
	return root, r.done()
}

// block is a node with its description.
type block struct {
	Node
	children     []uint32
	childrenLine int
	said         map[string]bool
}

// treeReader reads a share tree.
type treeReader struct {
	*lines
	blocks []*block
	byID   map[uint32]int // index of blocks
	parent map[*block]*block
}

// read reads the blocks.
func (r *treeReader) read() {
	var b *block
	for l, ok := r.next(); ok; l, ok = r.next() {
		name, value, ok := strings.Cut(l.text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok:
			r.note(l.number, "%s: want ATTRIBUTE=VALUE", shown(l.text))
		case name == "id":
			r.finish(b)
			b = r.begin(l, value)
		case b == nil:
			r.note(l.number, "%s: stands before the first id", shown(name))
		default:
			r.take(b, name, value, l.number)
		}
	}
	r.finish(b)
}

// begin begins a node. A node without a number is dropped with its description.
func (r *treeReader) begin(l line, value string) *block {
	b := &block{said: map[string]bool{}}
	b.Line = l.number
	id, ok := r.number32(l.number, "id", value)
	if !ok {
		return b
	}
	b.ID = id
	if i, twice := r.byID[id]; twice {
		r.note(l.number, "id: %d stands in line %d, too; this one counts", id, r.blocks[i].Line)
		r.blocks[i] = nil
	}
	r.byID[id] = len(r.blocks)
	r.blocks = append(r.blocks, b)
	return b
}

// take sets an attribute of a node.
func (r *treeReader) take(b *block, name, value string, line int) {
	if b.said[name] {
		r.note(line, "%s: stands twice in the node of line %d; this one counts", shown(name), b.Line)
	}
	b.said[name] = true
	switch name {
	case "name":
		b.Name = value
	case "type":
		b.Project = value == "1"
		if value != "0" && value != "1" {
			r.note(line, "type: %q: want 0, a user, or 1, a project", shown(value))
		}
	case "shares":
		shares, _ := r.number32(line, name, value)
		b.Shares = float64(shares)
	case "childnodes":
		b.children, b.childrenLine = r.ids(line, value), line
	default:
		r.note(line, "%s: no attribute of a node; want id, name, type, shares or childnodes", shown(name))
	}
}

// ids reads childnodes.
func (r *treeReader) ids(line int, value string) []uint32 {
	var list []uint32
	for _, word := range List(value) {
		if id, ok := r.number32(line, "childnodes", word); ok {
			list = append(list, id)
		}
	}
	return list
}

// number32 reads a number as Grid Engine has them.
func (r *treeReader) number32(line int, name, value string) (uint32, bool) {
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		r.note(line, "%s: %q: want a whole number, 0 to 4294967295", name, shown(value))
	}
	return uint32(n), err == nil
}

// finish reports what is missing in a node that begin returned.
func (r *treeReader) finish(b *block) {
	if b == nil {
		return
	}
	for _, name := range []string{"name", "shares", "childnodes"} {
		if !b.said[name] {
			r.note(b.Line, "id: %d: no %s behind it: is the file cut off?", b.ID, name)
		}
	}
	if b.said["name"] && b.Name == "" {
		r.note(b.Line, "id: %d: want a name", b.ID)
	}
	b.said = nil
}

// connect puts each node below the first that names it. Nodes without a name stay out.
func (r *treeReader) connect() {
	for _, b := range r.blocks {
		if b == nil || b.Name == "" {
			continue
		}
		for _, id := range b.children {
			i, known := r.byID[id]
			switch {
			case !known:
				r.note(b.childrenLine, "childnodes: no node has the id %d: is the file cut off?", id)
			case r.blocks[i].Name == "": // told before
			case r.parent[r.blocks[i]] != nil:
				r.note(b.childrenLine, "childnodes: %d is below %d already", id, r.parent[r.blocks[i]].ID)
			default:
				r.parent[r.blocks[i]] = b
				b.Children = append(b.Children, &r.blocks[i].Node)
			}
		}
	}
}

// root returns the root.
func (r *treeReader) root() *Node {
	var first, zero, any *block
	for _, b := range r.blocks {
		if b == nil || b.Name == "" {
			continue
		}
		if any == nil {
			any = b
		}
		if r.parent[b] == nil {
			if first == nil {
				first = b
			}
			if b.ID == 0 {
				zero = b
			}
		}
	}
	switch {
	case any == nil:
		return nil
	case zero != nil:
		return &zero.Node
	case first == nil:
		r.note(any.Line, "id: every node is below another: none is the root")
		return nil
	}
	return &first.Node
}

// unreached reports nodes that are not below the root: the topmost node of each tree, and
// one of each circle.
func (r *treeReader) unreached(root *Node) {
	reached := map[*Node]bool{}
	reach(root, reached)
	tell := func(b *block) {
		r.note(b.Line, "id: %d: not below the root; left out", b.ID)
		reach(&b.Node, reached)
	}
	for _, b := range r.blocks {
		if b != nil && b.Name != "" && r.parent[b] == nil && !reached[&b.Node] {
			tell(b)
		}
	}
	for _, b := range r.blocks {
		if b != nil && b.Name != "" && !reached[&b.Node] {
			tell(b)
		}
	}
}

// reach adds a node and all below it, without recursion: they may be very deep.
func reach(from *Node, reached map[*Node]bool) {
	if from == nil {
		return
	}
	reached[from] = true
	for next := []*Node{from}; len(next) > 0; {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		for _, c := range n.Children {
			if !reached[c] {
				reached[c] = true
				next = append(next, c)
			}
		}
	}
}

// siblings leaves one child of each name to a node: the last that has it.
func (r *treeReader) siblings() {
	for _, b := range r.blocks {
		if b == nil || len(b.Children) < 2 {
			continue
		}
		last := make(map[string]*Node, len(b.Children))
		for _, c := range b.Children {
			last[c.Name] = c
		}
		if len(last) == len(b.Children) {
			continue
		}
		kept := b.Children[:0]
		for _, c := range b.Children {
			if last[c.Name] == c {
				kept = append(kept, c)
				continue
			}
			r.note(c.Line, "name: another node below %s has the name %s, too; that in line %d counts", shown(b.Name), shown(c.Name), last[c.Name].Line)
		}
		b.Children = kept
	}
}

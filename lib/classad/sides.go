package classad

import "slices"

// Sides returns the names that an expression looks up itself, in lower case and
// sorted: in the ad that it belongs to, and in the other one of a match. MY.x is of
// the one, TARGET.x of the other, and a bare x, which is looked up in both, of both;
// so are MY and TARGET, since an ad may have attributes of these names. What the attributes refer to in turn is not followed. ok is false for expressions
// of which that cannot be told, such as those that select from anything else, nest
// ads, or read an expression from a text: see References for these.
func Sides(e *Expr) (own, other []string, ok bool) {
	s := sideWalk{own: map[string]bool{}, other: map[string]bool{}}
	if e = e.orUndefined(); e.constant() {
		_, plain := e.Constant()
		return nil, nil, plain && e.lit.kind < KindList
	}
	if !s.node(e.tree(), 0) {
		return nil, nil, false
	}
	return sortedSet(s.own), sortedSet(s.other), true
}

type sideWalk struct{ own, other map[string]bool }

func (s *sideWalk) node(n node, depth int) bool {
	if depth > maxHeight {
		return false
	}
	switch n := n.(type) {
	case *literal:
		return n.v.kind < KindList
	case *zoneless:
		return true
	case *reference:
		if n.special.isScope() {
			return false
		}
		s.both(n.name)
		return true
	case *selection:
		return s.selection(n)
	case *call:
		if n.fn == nil || n.fn.parses || n.fn.sees&seesScope != 0 {
			return false
		}
	case *absolute, *subscript, *record:
		return false
	}
	for _, child := range children(n) {
		if !s.node(child, depth+1) {
			return false
		}
	}
	return true
}

func (s *sideWalk) selection(n *selection) bool {
	r, ok := n.base.(*reference)
	if !ok || n.special.isScope() {
		return false
	}
	switch r.special {
	case specialSelf:
		s.own[fold(n.name)] = true
	case specialTarget:
		s.other[fold(n.name)] = true
	default:
		return false
	}
	s.both(r.name) // an ad may have an attribute of that name, which then is meant
	return true
}

func (s *sideWalk) both(name string) { s.own[fold(name)], s.other[fold(name)] = true, true }

func sortedSet(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

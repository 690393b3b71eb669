package classad

import "slices"

// Looks is what an expression looks up itself, in lower case and sorted: own, MY.x,
// in the ad that it belongs to; other, TARGET.x, in the other one of a match; either,
// a bare x, in the first and, where that has no x, in the second.
type Looks struct{ Own, Other, Either []string }

// Sides returns what an expression looks up, for ads without attributes that are
// called like a scope (ShadowsScopes). What the attributes refer to in turn is not
// followed. ok is false for expressions of which that cannot be told, such as those
// that select from anything else, nest ads, or read an expression from a text: see
// References for these.
func Sides(e *Expr) (looks Looks, ok bool) {
	if e = e.orUndefined(); e.constant() {
		return Looks{}, e.lit.kind < KindList
	}
	s := sideWalk{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	if !s.node(e.tree(), 0) {
		return Looks{}, false
	}
	return Looks{sortedSet(s.own), sortedSet(s.other), sortedSet(s.either)}, true
}

// ShadowsScopes tells whether the ad has an attribute that is called like a scope,
// such as MY or TARGET, which then is what the name means.
func (a *Ad) ShadowsScopes() bool { return a.shadowsScopes() }

type sideWalk struct{ own, other, either map[string]bool }

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
		s.either[fold(n.name)] = true
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
	return true
}

func sortedSet(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

package classad

import (
	"slices"
	"strings"
)

// References returns the attribute names that an expression needs if it
// belongs to ad: those of ad itself, with what their expressions need in turn,
// and those that only another ad can have. Both are sorted without regard to
// case, one spelling each, and cut down to the attribute's name
// ("TARGET.GPUs.Name" is GPUs). Functions are not evaluated; both branches of
// a condition count.
//
// Both are nil, rather than empty, when there is no answer: attributes that
// refer to each other in a circle, or a selection from something that is not
// an ad.
func References(e *Expr, ad *Ad) (own, external []string) {
	st := newState(nil, ad, nil)
	st.steps, st.from.steps = 0, 0 // each attribute is followed once
	own, external, ok := st.references(e.orUndefined(), &st.my)
	if ok {
		st.release()
	}
	return own, external
}

// references is References for the ad of a scope, which may have an opposite
// one: what TARGET has is not external then.
func (st *state) references(e *Expr, sc *scope) (own, external []string, ok bool) {
	w := &walk{st: st, root: sc, own: map[string]string{}, external: map[string]string{}, walked: map[string]bool{}}
	w.node(e.tree(), sc)
	if w.failed || st.failed {
		return nil, nil, false
	}
	names := map[string]string{}
	for _, text := range sortedValues(w.external) {
		note(names, attributeOf(text))
	}
	return sortedValues(w.own), sortedValues(names), true
}

func sortedValues(names map[string]string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		out = append(out, name)
	}
	slices.SortFunc(out, compareFold)
	return out
}

// walk collects references. The maps hold spellings by folded name.
type walk struct {
	st            *state
	root          *scope
	own, external map[string]string
	failed        bool
	seen          []activity
	walked        map[string]bool // attributes of root that were followed to their ends, by folded name
	depth         int
}

// visitCost is what it takes to look at a node, in steps.
const visitCost = 8

func note(names map[string]string, name string) {
	key := fold(name)
	if _, known := names[key]; !known {
		names[key] = name
	}
}

// attributeOf cuts the text of an external reference down to the attribute of
// the other ad.
func attributeOf(text string) string {
	for _, prefix := range []string{"target.", "other.", ".left.", ".right.", "."} {
		if len(text) > len(prefix) && equalFold(text[:len(prefix)], prefix) {
			text = text[len(prefix):]
			break
		}
	}
	if i := strings.IndexAny(text, ".["); i > 0 {
		text = text[:i]
	}
	return text
}

func (w *walk) node(n node, sc *scope) {
	w.depth++
	defer func() { w.depth-- }()
	if w.st.steps += visitCost + len(w.seen)/4; w.st.steps > maxSteps {
		w.st.failed = true
	}
	if w.st.failed || w.depth > 2*maxHeight {
		w.failed = true
	}
	if w.failed {
		return
	}
	switch n := n.(type) {
	case *reference:
		w.name(&n.attribute, n, sc)
	case *absolute:
		w.found(&n.attribute, n, w.root, w.root.ad.get(&n.attribute))
	case *selection:
		w.selection(n, sc)
	case *record:
		inner := &scope{ad: n.ad, up: sc}
		for i := range n.ad.len() {
			w.node(n.ad.at(i).expr().tree(), inner)
		}
	default:
		for _, child := range children(n) {
			w.node(child, sc)
		}
	}
}

// children are the nodes directly under an operator, call or list.
func children(n node) []node {
	switch n := n.(type) {
	case *subscript:
		return []node{n.base, n.index}
	case *unary:
		return []node{n.x}
	case *paren:
		return []node{n.x}
	case *binary:
		return []node{n.l, n.r}
	case *conditional:
		return []node{n.c, n.t, n.f}
	case *elvis:
		return []node{n.a, n.b}
	case *call:
		return n.args
	case *listing:
		trees := make([]node, len(n.items))
		for i, e := range n.items {
			trees[i] = e.tree()
		}
		return trees
	}
	return nil
}

// name follows a bare name.
func (w *walk) name(a *attribute, n node, sc *scope) {
	e, in := find(a, sc)
	if e == nil && a.special != ordinary && a.special != specialTarget && (a.special != specialParent || sc.up != nil) {
		return
	}
	w.found(a, n, in, e)
}

// find looks a name up in a scope and the ads around it.
func find(a *attribute, sc *scope) (*Expr, *scope) {
	for s := sc; s != nil; s = s.up {
		if e := s.ad.get(a); e != nil {
			return e, s
		}
	}
	return nil, sc
}

// found goes on into the expression e of a name, or notes it as external.
func (w *walk) found(a *attribute, n node, in *scope, e *Expr) {
	if e == nil {
		note(w.external, string(appendNode(nil, n, StyleOld)))
		return
	}
	if in == w.root {
		note(w.own, a.name)
		if w.walked[fold(a.name)] {
			return // a circle through it would have been met
		}
	}
	for i := range w.seen {
		if s := &w.seen[i]; s.in.same(in) && a.means(s.name.name) {
			w.failed = true
			return
		}
	}
	if len(w.seen) > maxDepth {
		w.failed = true
		return
	}
	w.seen = append(w.seen, activity{e, in, a})
	w.node(e.tree(), in)
	w.seen = w.seen[:len(w.seen)-1]
	if in == w.root {
		w.walked[fold(a.name)] = true
	}
}

// selection follows base.name, by what the base evaluates to.
func (w *walk) selection(n *selection, sc *scope) {
	base := w.st.evalNode(n.base, sc)
	switch base.kind {
	case KindUndefined:
		note(w.external, string(appendNode(nil, n, StyleOld)))
	case KindClassAd:
		w.base(n.base, sc)
		e, in := find(&n.attribute, base.scope())
		if e == nil {
			note(w.external, n.name)
			return
		}
		w.found(&n.attribute, n, in, e)
	default:
		w.failed = true
	}
}

// base notes the own attributes that a selection goes through, without going
// into the whole of them.
func (w *walk) base(n node, sc *scope) {
	switch n := n.(type) {
	case *reference:
		if e, in := find(&n.attribute, sc); e != nil && in == w.root {
			note(w.own, n.name)
		}
	case *selection:
		w.base(n.base, sc)
		if b := w.st.evalNode(n.base, sc); b.kind == KindClassAd {
			if e, in := find(&n.attribute, b.scope()); e != nil && in == w.root {
				note(w.own, n.name)
			}
		}
	case *record:
	default:
		for _, child := range children(n) {
			w.node(child, sc)
		}
	}
}

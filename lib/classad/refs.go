package classad

import (
	"fairspool/lib/caseless"
	"slices"
	"strings"
)

// References returns the attribute names that an expression needs if it belongs to ad: those of ad itself, with the needs of their
// expressions in turn, and those that only another ad can have. Both are sorted without regard to case, one spelling each, and cut down
// to the attribute's name ("TARGET.GPUs.Name" is GPUs). Functions are not evaluated; both branches of a condition count.
//
// Both are nil, rather than empty, when there is no answer: attributes that refer to each other in a circle, or a selection from
// something that is not an ad.
func References(e *Expr, ad *Ad) (own, external []string) {
	st := newState(nil, ad, nil)
	st.steps, st.from.steps = 0, 0 // each attribute is followed once
	own, external, ok := st.references(e.orUndefined(), &st.my)
	if ok {
		st.release()
	}
	return own, external
}

// references is References for the ad of a scope, which may have an opposite one: what TARGET has is not external then.
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
	slices.SortFunc(out, caseless.Compare)
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

// visitCost is the number of steps for looking at a node.
const visitCost = 8

func note(names map[string]string, name string) {
	key := caseless.Fold(name)
	if _, known := names[key]; !known {
		names[key] = name
	}
}

// attributeOf cuts the text of an external reference down to the attribute of the other ad.
func attributeOf(text string) string {
	for _, prefix := range []string{"target.", "other.", ".left.", ".right.", "."} {
		if len(text) > len(prefix) && caseless.Equal(text[:len(prefix)], prefix) {
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
		if w.walked[caseless.Fold(a.name)] {
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
		w.walked[caseless.Fold(a.name)] = true
	}
}

// selection follows base.name, by the value of the base.
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

// base notes the own attributes that a selection goes through, without going into the whole of them.
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

// Varies reports whether the value of an expression, with my and target as the two ads of a match, may change with the time, the local
// zone or look-ups by the Context, and whether it may change by chance. Both ads may be nil. Nothing is evaluated: attributes are
// followed, all branches and arguments count, and if an attribute's meaning is uncertain, all possible attributes do. An eval() with a
// text that is not a constant counts as both.
func Varies(e *Expr, my, target *Ad) (clock, chance bool) {
	e = e.orUndefined()
	v := &variation{ads: [2]*Ad{my, target}, seen: map[sighting]bool{}}
	v.expr(e, within{0, my.ShadowsScopes() || target.ShadowsScopes()})
	return v.sees&seesClock != 0, v.sees&seesChance != 0
}

const seesBoth = seesClock | seesChance

// variation collects what an expression sees. Sides are 0 for MY of the expression, 1 for its TARGET.
type variation struct {
	ads   [2]*Ad
	seen  map[sighting]bool
	sees  sight
	all   bool // every attribute was looked at
	depth int
}

// within is where an expression is evaluated: in the ad of one side, or, if
// loose, perhaps in one nested there, where a name may mean several things.
type within struct {
	side  int
	loose bool
}

type sighting struct {
	expr *Expr
	within
}

func (v *variation) expr(e *Expr, at within) {
	if e == nil || e.constant() && e.lit.kind < KindList || v.seen[sighting{e, at}] {
		return
	}
	v.seen[sighting{e, at}] = true
	v.node(e.tree(), at)
}

func (v *variation) node(n node, at within) {
	v.depth++
	defer func() { v.depth-- }()
	if v.depth > 2*maxHeight {
		v.sees |= seesBoth
	}
	if v.sees&seesBoth == seesBoth {
		return
	}
	switch n := n.(type) {
	case *literal:
		v.value(n.v, at)
	case *zoneless:
		v.sees |= seesClock
	case *reference:
		if n.special.isScope() {
			v.everything() // the receiver may use any part of the ad
		}
		v.name(&n.attribute, at)
	case *absolute:
		v.name(&n.attribute, within{at.side, true})
	case *selection:
		v.selection(n, at)
	case *subscript:
		v.subscript(n, at)
	case *call:
		v.call(n, at)
	case *record:
		v.ad(n.ad, at)
	default:
		for _, child := range children(n) {
			v.node(child, at)
		}
	}
}

// value looks at the expressions in a list or an ad that is a value.
func (v *variation) value(x Value, at within) {
	switch x.kind {
	case KindList:
		for _, e := range x.scope().items {
			v.expr(e, within{at.side, true})
		}
	case KindClassAd:
		v.ad(x.scope().ad, at)
	}
}

// ad looks at all of an ad nested in an expression.
func (v *variation) ad(a *Ad, at within) {
	for _, entry := range a.all() {
		v.expr(entry.expr, within{at.side, true})
	}
}

// everything looks at all attributes of both ads.
func (v *variation) everything() {
	if v.all {
		return
	}
	v.all = true
	for side, ad := range v.ads {
		v.ad(ad, within{side, true})
	}
}

// name follows a bare name.
func (v *variation) name(a *attribute, at within) {
	own, theirs := v.ads[at.side].get(a), v.ads[1-at.side].get(a)
	if a.special == specialNow && (own == nil || at.loose) {
		v.sees |= seesClock
	}
	v.expr(own, at)
	if own == nil || at.loose {
		v.expr(theirs, within{1 - at.side, at.loose})
	}
}

func (v *variation) selection(n *selection, at within) {
	r, ok := n.base.(*reference)
	if ok && !at.loose && n.special == ordinary {
		switch r.special {
		case specialSelf:
			v.expr(v.ads[at.side].get(&n.attribute), at)
			return
		case specialTarget:
			v.expr(v.ads[1-at.side].get(&n.attribute), within{1 - at.side, false})
			return
		}
	}
	if n.special.isScope() {
		v.everything()
	}
	if ok && r.special.isScope() {
		v.name(&r.attribute, within{at.side, true}) // only one of its names is looked up
	} else {
		v.node(n.base, at)
	}
	v.name(&n.attribute, within{at.side, true})
}

func (v *variation) subscript(n *subscript, at within) {
	v.node(n.base, at)
	v.node(n.index, at)
	if x, ok := valueOf(n.index); ok && x.kind == KindString {
		a := newAttribute(x.text())
		v.name(&a, within{at.side, true})
	}
}

func (v *variation) call(n *call, at within) {
	f := n.fn
	if f == nil || len(n.args) < f.min || f.max >= 0 && len(n.args) > f.max {
		return // ERROR, and nothing is evaluated
	}
	v.sees |= f.sees
	for i, arg := range n.args {
		// In a call that evaluates in each ad of a list, the names are looked up in that ad.
		v.node(arg, within{at.side, at.loose || f.sees&seesScope != 0 && i == 0})
	}
	if f.parses {
		v.parsed(n.args[0], at)
	}
}

// parsed looks at the expression in the text given to eval().
func (v *variation) parsed(arg node, at within) {
	x, ok := valueOf(arg)
	if !ok {
		v.sees |= seesBoth
	}
	if x.kind != KindString {
		return
	}
	if e, err := ParseExpr(x.text()); err == nil {
		v.node(e.tree(), at)
	}
}

// Looks is what an expression looks up itself, in lower case and sorted: own, MY.x, in the ad that it belongs to; other, TARGET.x, in the
// other one of a match; either, a bare x, in the first and, where that has no x, in the second.
type Looks struct{ Own, Other, Either []string }

// Sides returns the names that an expression looks up, for ads without attributes that are called like a scope (ShadowsScopes). It does
// not follow the attributes' own references. ok is false for expressions with uncertain references, such as those that select from
// anything else, nest ads, or read an expression from a text: see References for these.
func Sides(e *Expr) (looks Looks, ok bool) {
	if e = e.orUndefined(); e.constant() {
		return Looks{}, e.lit.kind < KindList
	}
	s := sideWalk{}
	if !s.node(e.tree(), 0) {
		return Looks{}, false
	}
	for _, names := range []*[]string{&s.Own, &s.Other, &s.Either} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return s.Looks, true
}

// ShadowsScopes reports whether the ad has an attribute that is called like a scope, such
// as MY or TARGET: the name then means the attribute.
func (a *Ad) ShadowsScopes() bool {
	for ; a != nil; a = a.parent {
		if a.shape != nil && a.shape.scopes {
			return true
		}
	}
	return false
}

// sideWalk collects names in any order, and again where they come again.
type sideWalk struct{ Looks }

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
		s.Either = append(s.Either, caseless.Fold(n.name))
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
	return !slices.ContainsFunc(children(n), func(child node) bool { return !s.node(child, depth+1) })
}

func (s *sideWalk) selection(n *selection) bool {
	r, ok := n.base.(*reference)
	if !ok || n.special.isScope() {
		return false
	}
	switch r.special {
	case specialSelf:
		s.Own = append(s.Own, caseless.Fold(n.name))
	case specialTarget:
		s.Other = append(s.Other, caseless.Fold(n.name))
	default:
		return false
	}
	return true
}

package classad

// Varies reports whether the value of an expression, with my and target as the
// two ads of a match, may change with the time, the local zone or what the
// Context looks up, and whether it may change by chance. Both ads may be nil,
// which is none. Nothing is evaluated: attributes are followed, all branches
// and arguments count, and where it is not certain which attribute is meant,
// all those that may be. An eval() whose text is not a constant counts as both.
func Varies(e *Expr, my, target *Ad) (clock, chance bool) {
	e = e.orUndefined()
	v := &variation{ads: [2]*Ad{my, target}, seen: map[sighting]bool{}}
	v.expr(e, within{0, my.shadowsScopes() || target.shadowsScopes()})
	return v.sees&seesClock != 0, v.sees&seesChance != 0
}

const seesBoth = seesClock | seesChance

// variation collects what an expression sees. Sides are 0 for MY of the
// expression, 1 for its TARGET.
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
			v.everything() // whoever gets the ad may look anywhere in it
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
		// What is evaluated in each ad of a list sees the names in that.
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

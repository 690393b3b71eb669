package classad

// Specialize returns the expression with everything worked out that depends
// only on the side of a match that is known: my, target or both. A nil ad is
// one that is not known yet, which is not the same as an empty ad. For every
// ad x in place of an unknown one, the result has the value that e has:
//
//	e.Specialize(c, my, nil).Eval(c, my, x) // is e.Eval(c, my, x)
//	e.Specialize(c, nil, target).Eval(c, x, target) // is e.Eval(c, x, target)
//
// This holds for an x none of whose attributes has the name of a scope (MY,
// SELF, TARGET, OTHER, PARENT, ROOT, TOPLEVEL), and within the limits of one
// evaluation: where e as a whole is ERROR because it goes too deep or takes
// too many steps, the result may still have a value. With a known ad that has
// such a name the result is e. An expression in which nothing can be worked
// out is returned itself.
//
// The result may take the place of an attribute's expression, as long as that
// is only evaluated: not if the attribute is handed by name to countMatches or
// evalInEachContext, which evaluate it inside other ads, nor if its text is
// looked at, as by unparse.
//
// The result is an ordinary expression, fit to be shown: names of the known
// side give way to their values, and operators whose result is certain to
// that result. What stays as it is: attributes whose value needs the other
// side or random numbers, those that refer to themselves in a circle, values
// that are ads, or texts and lists of more than 4 KB, and whatever stands in a
// nested ad or list.
//
// With a nil Context the result holds at any time and in any zone, in the
// language that is not strict. Otherwise time(), CurrentTime and their like are
// taken from c, and it holds for c; with a strict c it is e.
func (e *Expr) Specialize(c *Context, my, target *Ad) *Expr {
	if e = e.orUndefined(); e.constant() || c != nil && c.Strict || my.shadowsScopes() || target.shadowsScopes() {
		return e
	}
	s := newSpecializer(c, my, target)
	tree := e.tree()
	special := s.node(tree, position{})
	s.st.release()
	if special == tree {
		return e
	}
	return newExpr(special)
}

const (
	foldingBytes = 4 << 20 // text made or searched while one expression is specialised
	parsingBytes = 1 << 10 // what parsing the text of one eval() costs of it
	largestFold  = 4 << 10 // the largest constant that is put into an expression
)

// specializer is the memory of one specialisation. Sides are 0 for MY of the
// expression, 1 for its TARGET.
type specializer struct {
	st     *state // to call functions with
	clock  bool   // the time is known
	ads    [2]*Ad // nil: not known
	found  map[meaning]*finding
	texts  map[string]*Expr // of eval(), parsed
	height int              // the deepest level met so far
}

func newSpecializer(c *Context, my, target *Ad) *specializer {
	s := &specializer{
		st: newState(c, nil, nil), clock: c != nil, ads: [2]*Ad{my, target},
		found: map[meaning]*finding{}, texts: map[string]*Expr{},
	}
	s.st.bytes = max(s.st.bytes, maxBytes-foldingBytes)
	s.st.from.bytes = s.st.bytes
	return s
}

// meaning is an expression that belongs to the ad of one side.
type meaning struct {
	expr *Expr
	side int
}

// finding is what is known about a meaning.
type finding struct {
	value  node // a constant; nil: not known, or not known yet
	height int  // how many levels its evaluation takes
}

// position is where a node stands.
type position struct {
	side  int // whose expression it is in
	level int // how many operators and attributes stand around it
	// logical: whoever gets the value looks at it only as true, false,
	// UNDEFINED or ERROR.
	logical bool
}

// under is the position of an operand.
func (p position) under(logical bool) position { return position{p.side, p.level + 1, logical} }

// node returns what a node becomes: itself if nothing can be worked out.
func (s *specializer) node(n node, at position) node {
	switch n := n.(type) {
	case *literal, *span:
		return n
	case *paren:
		x := s.node(n.x, at)
		switch {
		case x == n.x:
			return n
		case grip(x) == tightest:
			return x
		}
		return &paren{x}
	}
	if at.level >= maxDepth {
		return n
	}
	s.height = max(s.height, at.level+1)
	switch n := n.(type) {
	case *reference:
		return s.name(n, &n.attribute, at, at.side, true)
	case *selection:
		return s.selection(n, at)
	case *absolute:
		if s.ads[0] != nil && s.ads[1] != nil {
			return undefinedNode // the outermost ad of a match is the match itself
		}
	case *zoneless:
		if s.clock {
			return &literal{fromWall(n.seconds, s.st.now.Location())}
		}
	case *call:
		return s.call(n, at)
	default:
		return s.operator(n, at)
	}
	return n
}

// undefinedNode and errorNode are the constants of that name.
var (
	undefinedNode = &literal{Undefined()}
	errorNode     = &literal{Error()}
)

// name looks a name up in the ad of one side and, with fall, then in that of
// the other.
func (s *specializer) name(n node, a *attribute, at position, side int, fall bool) node {
	ad := s.ads[side]
	if a.special.isScope() || ad == nil {
		return n
	}
	e := ad.get(a)
	if e == nil && a.special == specialNow {
		if s.clock {
			return &literal{Int(s.st.now.Unix())}
		}
		return n
	}
	if e == nil && fall {
		side = 1 - side
		if ad = s.ads[side]; ad == nil {
			return n
		}
		e = ad.get(a)
	}
	if e == nil {
		return undefinedNode
	}
	return s.meaning(n, e, side, at)
}

// selection works out MY.x and TARGET.x, and what is selected from no ad.
func (s *specializer) selection(n *selection, at position) node {
	if r, ok := n.base.(*reference); ok {
		switch r.special {
		case specialSelf:
			return s.name(n, &n.attribute, at, at.side, false)
		case specialTarget:
			return s.name(n, &n.attribute, at, 1-at.side, false)
		}
	}
	base := s.node(n.base, at.under(false))
	if v, ok := valueOf(base); ok && v.kind != KindList {
		if v.kind == KindUndefined {
			return undefinedNode
		}
		return errorNode
	}
	if base == n.base {
		return n
	}
	return &selection{fit(base, n.base, tightest), n.attribute}
}

// meaning returns the constant that an expression of one side amounts to, or n,
// which stands for it. Each is worked out once; one that is met while it is
// being worked out is part of a circle, and is no constant for those in it.
func (s *specializer) meaning(n node, e *Expr, side int, at position) node {
	if e.constant() {
		if x := s.constant(e.lit); x != nil {
			return x
		}
		return n
	}
	f := s.found[meaning{e, side}]
	if f == nil {
		f = new(finding)
		s.found[meaning{e, side}] = f
		above := s.height
		s.height = at.level + 1
		tree := e.tree()
		x := s.node(tree, position{side: side, level: at.level + 1})
		f.height = s.height - at.level - 1
		s.height = above
		if v, ok := valueOf(x); ok {
			f.value = s.constant(v)
		}
	}
	if f.value == nil || at.level+1+f.height > maxDepth {
		return n
	}
	s.height = max(s.height, at.level+1+f.height)
	return f.value
}

// constant returns the node that is a value, or nil if that must not stand in
// the result: an ad, or something large.
func (s *specializer) constant(v Value) node {
	n := node(&literal{v})
	switch v.kind {
	case KindClassAd:
		return nil
	case KindList:
		for _, e := range v.scope().items {
			if !e.constant() || e.lit.kind >= KindList {
				return nil
			}
		}
		n = newListing(v.scope().items)
	case KindString:
	default:
		return n
	}
	left := largestFold
	if weigh(n, &left); left < 0 {
		return nil
	}
	return n
}

// call works out a function's arguments and, if it sees nothing else, its
// value.
func (s *specializer) call(n *call, at position) node {
	f := n.fn
	switch {
	case f == nil || len(n.args) < f.min || f.max >= 0 && len(n.args) > f.max:
		return errorNode
	case f.choice:
		return s.choice(n, n.args[0], n.args[1], n.args[2], at)
	case f.sees&seesScope != 0 && !f.parses:
		return n
	}
	args, changed, known := s.operands(n.args, at.under(false))
	if f.parses && known {
		if x := s.parsed(n, args[0], at); x != nil {
			return x
		}
	}
	blind := f.sees == 0 || f.sees == seesClock && s.clock
	if known && blind {
		if x := s.apply(n, args); x != nil {
			return x
		}
	}
	if !changed {
		return n
	}
	if _, _, isTime := timeLiteral(n.name, args); isTime {
		args[0] = &paren{args[0]} // a text that was computed is no literal
	}
	return &call{n.name, f, args}
}

// operands works out arguments; known says whether all of them are constants.
func (s *specializer) operands(nodes []node, at position) (out []node, changed, known bool) {
	out, known = make([]node, len(nodes)), true
	for i, n := range nodes {
		out[i] = s.node(n, at)
		changed = changed || out[i] != n
		_, ok := valueOf(out[i])
		known = known && ok
	}
	return out, changed, known
}

// apply returns what a function with constant arguments amounts to, or nil.
func (s *specializer) apply(n *call, args []node) node {
	if n.fn.strict == nil {
		return s.evaluated(&call{n.name, n.fn, args})
	}
	values := make([]Value, len(args))
	for i, x := range args {
		values[i], _ = valueOf(x)
	}
	return s.afforded(n.fn.strict(s.st, values))
}

// evaluated returns what a node without names amounts to, or nil.
func (s *specializer) evaluated(n node) node { return s.afforded(s.st.evalNode(n, &s.st.my)) }

// afforded is constant for a value that was made, if there was memory for it.
// Once there was not, nothing more is made.
func (s *specializer) afforded(v Value) node {
	if s.st.failed {
		return nil
	}
	return s.constant(v)
}

// parsed returns what eval() of a constant amounts to, or nil.
func (s *specializer) parsed(n *call, arg node, at position) node {
	v, _ := valueOf(arg)
	text := s.st.toText(v)
	if text.exceptional() {
		return s.afforded(Error())
	}
	e, known := s.texts[text.text()]
	if !known {
		if !s.st.spend(parsingBytes + len(text.text())) {
			return nil
		}
		e, _ = ParseExpr(text.text())
		s.texts[text.text()] = e
	}
	if e == nil {
		return errorNode
	}
	if x := s.meaning(n, e, at.side, at); x != node(n) {
		return x
	}
	return nil
}

package classad

// Specialize returns the expression with all parts computed that depend only on the known sides of a match: my, target or both. A nil ad
// is an unknown one, which is not the same as an empty ad. For every ad x in place of an unknown one, the result has the value of e:
//
//	e.Specialize(c, my, nil).Eval(c, my, x) // is e.Eval(c, my, x)
//	e.Specialize(c, nil, target).Eval(c, x, target) // is e.Eval(c, x, target)
//
// This holds for an x without an attribute that has the name of a scope (MY, SELF, TARGET, OTHER, PARENT, ROOT, TOPLEVEL), and within the
// limits of one evaluation: if e as a whole is ERROR because it goes too deep or takes too many steps, the result may still have a value.
// With a known ad that has such a name the result is e. An expression without a computable part is returned itself.
//
// The result may take the place of an attribute's expression, as long as that is only evaluated: not if the attribute is handed by name
// to countMatches or evalInEachContext, which evaluate it inside other ads, nor if its text is looked at, as by unparse.
//
// The result is an ordinary expression, fit to be shown: values replace names of the known side, and certain results replace operators.
// The following stays as it is: attributes with values that need the other side or random numbers, attributes that refer to themselves in
// a circle, values that are ads, or texts and lists of more than 4 KB, and whatever stands in a nested ad or list.
//
// With a nil Context the result holds at any time and in any zone, in the language that is not strict. Otherwise time(), CurrentTime and
// their like are taken from c, and it holds for c; with a strict c it is e.
func (e *Expr) Specialize(c *Context, my, target *Ad) *Expr {
	if e = e.orUndefined(); e.constant() || c != nil && c.Strict || my.ShadowsScopes() || target.ShadowsScopes() {
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

// specializer is the memory of one specialisation. Sides are 0 for MY of the expression, 1 for its TARGET.
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

// finding is the analysis of a meaning.
type finding struct {
	value  node // a constant; nil: not known, or not known yet
	height int  // how many levels its evaluation takes
}

// position is where a node stands.
type position struct {
	side  int // the side of its expression
	level int // how many operators and attributes stand around it
	// logical: the value is used only as true, false, UNDEFINED or ERROR.
	logical bool
}

// under is the position of an operand.
func (p position) under(logical bool) position { return position{p.side, p.level + 1, logical} }

// node returns the replacement of a node: itself if nothing can be computed.
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

// name looks a name up in the ad of one side and, with fall, then in the other side's.
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

// selection computes MY.x and TARGET.x, and selections from no ad.
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

// meaning returns the constant value of an expression of one side, or n, which stands for it. Each is computed once; if it is met during
// its own computation it is part of a circle, and no constant for those in it.
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

// constant returns the node that is a value, or nil if that must not stand in the result: an ad, or something large.
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

// call works out a function's arguments and, if it sees nothing else, its value.
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

// operands works out arguments; known reports whether all of them are constants.
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

// apply returns the value of a function with constant arguments, or nil.
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

// evaluated returns the value of a node without names, or nil.
func (s *specializer) evaluated(n node) node { return s.afforded(s.st.evalNode(n, &s.st.my)) }

// afforded is constant for a made value, if there was memory for it. Once there was not, no more values are made.
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

// How operators are simplified when some of their operands are constants. No operand that would be evaluated is dropped: it may be ERROR,
// and the sequence of random numbers goes on in it.

// valueOf returns the value of a node that is a constant.
func valueOf(n node) (v Value, ok bool) {
	switch n := n.(type) {
	case *paren:
		return valueOf(n.x)
	case *literal:
		return n.v, true
	case *span:
		return Real(n.seconds), true
	case *listing:
		if n.fixed != nil {
			return scoped(KindList, n.fixed), true
		}
	}
	return Value{}, false
}

// operator simplifies a node that is neither name nor call.
func (s *specializer) operator(n node, at position) node {
	switch n := n.(type) {
	case *unary:
		return s.unary(n, at)
	case *binary:
		if n.op == opAnd || n.op == opOr {
			return s.junction(n, at)
		}
		return s.binary(n, at)
	case *conditional:
		return s.choice(n, n.c, n.t, n.f, at)
	case *elvis:
		return s.elvis(n, at)
	case *subscript:
		return s.subscript(n, at)
	}
	return n // a nested ad or list: its names mean something else
}

func (s *specializer) unary(n *unary, at position) node {
	x := s.node(n.x, at.under(n.op == opNot))
	if v, ok := valueOf(x); ok {
		return &literal{applyUnary(n.op, v)}
	}
	if x == n.x {
		return n
	}
	return &unary{n.op, fit(x, n.x, grip(n))}
}

func (s *specializer) binary(n *binary, at position) node {
	l, r := s.node(n.l, at.under(false)), s.node(n.r, at.under(false))
	if x, ok := valueOf(l); ok {
		if y, ok := valueOf(r); ok {
			return &literal{applyBinary(n.op, x, y)}
		}
	}
	return n.with(l, r)
}

// with returns the operator with other operands.
func (n *binary) with(l, r node) node {
	if l == n.l && r == n.r {
		return n
	}
	p := grip(n)
	return &binary{n.op, fit(l, n.l, p), fit(r, n.r, p+1)}
}

// junction simplifies && and ||. A left side that decides ends it; a side that leaves the decision to the other one disappears, unless it
// is needed to make a boolean of that.
func (s *specializer) junction(n *binary, at position) node {
	l := s.node(n.l, at.under(true))
	x, leftKnown := valueOf(l)
	if leftKnown {
		if v, decided := shortCut(n.op, x); decided {
			return &literal{v}
		}
	}
	if ends(n.op, l) {
		return l
	}
	r := s.node(n.r, at.under(true))
	y, rightKnown := valueOf(r)
	switch {
	case leftKnown && rightKnown:
		return &literal{combine(n.op, x, y)}
	case leftKnown && neutral(n.op, x):
		if at.logical || truthful(r) {
			return r
		}
		l = s.plain(l, n.op)
	case rightKnown && neutral(n.op, y):
		if at.logical || truthful(l) {
			return l
		}
		r = s.plain(r, n.op)
	}
	return n.with(l, r)
}

// plain returns a neutral operand as the boolean that it counts as.
func (s *specializer) plain(n node, o op) node {
	if v, _ := valueOf(n); v.kind == KindBoolean {
		return n
	}
	return &literal{Bool(o == opAnd)}
}

// neutral reports whether a value leaves && or || to the other side.
func neutral(o op, v Value) bool {
	b, ok := v.Bool()
	return ok && b == (o == opAnd)
}

// ends reports whether a node, on the left of an operator, surely decides it: it is a chain of the same operator whose last term decides.
func ends(o op, n node) bool {
	for {
		switch x := n.(type) {
		case *paren:
			n = x.x
			continue
		case *binary:
			if x.op == o {
				n = x.r
				continue
			}
		}
		v, ok := valueOf(n)
		if !ok {
			return false
		}
		_, decided := shortCut(o, v)
		return decided
	}
}

// truthful reports whether a node's value surely is a boolean, UNDEFINED or ERROR.
func truthful(n node) bool {
	switch n := n.(type) {
	case *literal:
		return n.v.kind <= KindBoolean
	case *paren:
		return truthful(n.x)
	case *unary:
		return n.op == opNot
	case *binary:
		return n.op <= opAnd || opEq <= n.op && n.op <= opGe
	case *conditional:
		return truthful(n.t) && truthful(n.f)
	case *elvis:
		return truthful(n.a) && truthful(n.b)
	case *call:
		if n.fn != nil && n.fn.choice && len(n.args) == 3 {
			return truthful(n.args[1]) && truthful(n.args[2])
		}
		return n.fn == nil || n.fn.truth
	}
	return false
}

// choice simplifies c ? t : f and ifThenElse(c,t,f), whichever n is.
func (s *specializer) choice(n node, c, t, f node, at position) node {
	branch := at.under(at.logical)
	cond := s.node(c, at.under(true))
	if v, ok := valueOf(cond); ok {
		switch b, ok := v.Bool(); {
		case ok && b:
			return s.node(t, branch)
		case ok:
			return s.node(f, branch)
		case v.kind == KindUndefined:
			return undefinedNode
		}
		return errorNode
	}
	yes, no := s.node(t, branch), s.node(f, branch)
	if cond == c && yes == t && no == f {
		return n
	}
	if n, ok := n.(*call); ok {
		return &call{n.name, n.fn, []node{cond, yes, no}}
	}
	return &conditional{fit(cond, c, grip(n)+1), yes, no}
}

func (s *specializer) elvis(n *elvis, at position) node {
	a := s.node(n.a, at.under(at.logical))
	if v, ok := valueOf(a); ok {
		if v.kind == KindUndefined {
			return s.node(n.b, at.under(at.logical))
		}
		return a
	}
	b := s.node(n.b, at.under(at.logical))
	if a == n.a && b == n.b {
		return n
	}
	return &elvis{fit(a, n.a, tightest), fit(b, n.b, grip(n))}
}

func (s *specializer) subscript(n *subscript, at position) node {
	base, index := s.node(n.base, at.under(false)), s.node(n.index, at.under(false))
	_, baseKnown := valueOf(base)
	_, indexKnown := valueOf(index)
	out := node(n)
	if base != n.base || index != n.index {
		out = &subscript{fit(base, n.base, tightest), index}
	}
	if baseKnown && indexKnown {
		if x := s.evaluated(out); x != nil {
			return x
		}
	}
	return out
}

// tightest is the grip of a node that never needs parentheses.
const tightest = 13

// grip says how tightly a node holds together when it is printed.
func grip(n node) int {
	switch n := n.(type) {
	case *conditional:
		return 0
	case *binary:
		return precedence[n.op]
	case *unary:
		return 11
	case *elvis:
		return 12
	}
	return tightest
}

// fit returns a node that takes the place of an old one, in parentheses if it
// needs them where something that holds at least so tightly is asked for.
func fit(n, old node, least int) node {
	if n != old && grip(n) < least {
		return &paren{n}
	}
	return n
}

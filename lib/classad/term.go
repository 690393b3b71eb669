package classad

// term is what has to be true: a clause of a conjunction, or one of several
// terms of a clause that became a conjunction when it was specialised. A clause
// that is true in any match has none.
//
// Most are an attribute or the comparison of one with a constant. Those of a
// Matcher are quick: they remember for themselves where the attribute is, and
// hand no values on.
type term struct {
	table  *place // of the shape met last, which is frozen
	at     int    // where the attribute is in that, or -1
	v      Value  // the constant
	op     op     // with the attribute on the left
	quick  quick
	theirs bool // the attribute is the opposite ad's
	clause int
	level  int // how many operators stand around the attribute
	name   *attribute
	operand
}

// quick says how a term is evaluated.
type quick uint8

const (
	slow         quick = iota
	quickName          // it is an attribute
	quickCompare       // it is an attribute against a constant
)

// quicken makes a term quick if it can be. my is the ad that the expression
// belongs to, nil if that is not known.
func (t *term) quicken(my *Ad) {
	name := t.code
	if c, ok := name.(*againstCode); ok {
		t.quick, t.v, t.op, name = quickCompare, c.v, c.op, c.name.code
	} else {
		t.quick = quickName
	}
	t.at = -1
	switch c := name.(type) {
	case *sideCode:
		t.name, t.level, t.theirs = &c.finder.attribute, c.level, c.theirs
	case *bareCode:
		t.name, t.level, t.theirs = &c.mine.attribute, c.level, my != nil && my.cell(&c.mine.attribute) == nil
	default:
		t.quick = slow
	}
}

// holds reports whether a term is true. Quick ones are only for matches of
// ads in which names mean what they always mean.
func (t *term) holds(st *state, sc *scope) bool {
	if t.quick == slow {
		return t.value(st, sc).True()
	}
	in := sc
	if t.theirs {
		in = sc.other
	}
	at := t.at
	if t.table != in.table {
		at = t.locate(in)
	}
	if at < 0 {
		return t.value(st, sc).True()
	}
	found := in.ad.at(at)
	if t.quick == quickName {
		return st.fallen(found, in, t.name, t.level) < 0
	}
	switch {
	case found.kind == KindInteger && t.v.kind == KindInteger:
		return orders(t.op, int64(found.bits), int64(t.v.bits))
	case found.kind == KindString && t.v.kind == KindString:
		return st.spend(int(min(found.bits, t.v.bits))) && orderedTexts(t.op, found.text(), t.v.text()).True()
	}
	return t.value(st, sc).True()
}

// locate looks the attribute up in the own names of an ad.
func (t *term) locate(in *scope) int {
	s := in.ad.shape
	if s == nil {
		return -1
	}
	at := s.find(t.name)
	if at >= len(s.names) {
		at = -1
	}
	if !s.frozen.Load() {
		s.frozen.Store(true)
	}
	t.table, t.at = in.table, at
	return at
}

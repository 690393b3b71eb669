package classad

// againstCode is the comparison of an attribute with a constant, which most of
// Requirements is made of: compareCode without handing values on.
type againstCode struct {
	op    op // with the attribute on the left
	v     Value
	name  operand   // the attribute
	side  *sideCode // the attribute, or nil
	bare  *bareCode // the attribute, or nil
	right bool      // the attribute stands on the right
}

// against compiles a comparison that is one of an attribute with a constant.
func against(o op, l, r operand) (code, bool) {
	c, name := &againstCode{op: o, v: r.v}, l
	if l.constant() {
		c.op, c.v, c.right, name = mirrored[o], l.v, true, r
	}
	if c.v.kind < KindBoolean {
		return nil, false
	}
	c.name = name
	switch name := name.code.(type) {
	case *sideCode:
		c.side = name
	case *bareCode:
		c.bare = name
	default:
		return nil, false
	}
	return c, true
}

// mirrored are the comparisons with their sides changed.
var mirrored = [...]op{opEq: opEq, opNe: opNe, opLt: opGt, opLe: opGe, opGt: opLt, opGe: opLe}

func (c *againstCode) eval(st *state, sc *scope) Value {
	var x Value
	if c.side != nil {
		x = c.side.eval(st, sc)
	} else {
		x = c.bare.eval(st, sc)
	}
	switch {
	case x.kind == KindInteger && c.v.kind == KindInteger:
		return Bool(orders(c.op, int64(x.bits), int64(c.v.bits)))
	case x.kind == KindString && c.v.kind == KindString:
		if !st.spend(int(min(x.bits, c.v.bits))) {
			return Error()
		}
		return orderedTexts(c.op, x.text(), c.v.text())
	case x.kind <= KindError:
		return x
	case c.right:
		return compare(mirrored[c.op], c.v, x)
	}
	return compare(c.op, x, c.v)
}

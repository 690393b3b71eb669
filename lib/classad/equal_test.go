package classad

import "slices"

// equalAds reports whether two ads have the same own attributes, whatever
// their order.
func equalAds(a, b *Ad) bool {
	if a.Len() != b.Len() {
		return false
	}
	for _, e := range a.entries() {
		other, ok := b.Lookup(e.name)
		if !ok || !equalNodes(e.expr.tree(), other.tree()) {
			return false
		}
	}
	return slices.Equal(a.OwnNames(), b.OwnNames())
}

// equalNodes reports whether two expressions are the same program.
func equalNodes(a, b node) bool {
	switch a := a.(type) {
	case *literal:
		b, ok := b.(*literal)
		return ok && sameLiteral(a.v, b.v)
	case *zoneless:
		b, ok := b.(*zoneless)
		return ok && *a == *b
	case *span:
		b, ok := b.(*span)
		return ok && *a == *b
	case *reference:
		b, ok := b.(*reference)
		return ok && *a == *b
	case *absolute:
		b, ok := b.(*absolute)
		return ok && *a == *b
	case *selection:
		b, ok := b.(*selection)
		return ok && a.attribute == b.attribute && equalNodes(a.base, b.base)
	case *call:
		b, ok := b.(*call)
		return ok && a.name == b.name && a.fn == b.fn && slices.EqualFunc(a.args, b.args, equalNodes)
	case *unary:
		b, ok := b.(*unary)
		return ok && a.op == b.op && equalNodes(a.x, b.x)
	case *binary:
		b, ok := b.(*binary)
		return ok && a.op == b.op && equalNodes(a.l, b.l) && equalNodes(a.r, b.r)
	case *record:
		b, ok := b.(*record)
		return ok && equalAds(a.ad, b.ad)
	}
	return sameType(a, b) && slices.EqualFunc(children(a), children(b), equalNodes)
}

func sameLiteral(a, b Value) bool {
	if a.kind == KindString && b.kind == KindString {
		return a.text() == b.text()
	}
	return a == b
}

func sameType(a, b node) bool {
	switch a.(type) {
	case *subscript:
		_, ok := b.(*subscript)
		return ok
	case *conditional:
		_, ok := b.(*conditional)
		return ok
	case *elvis:
		_, ok := b.(*elvis)
		return ok
	case *paren:
		_, ok := b.(*paren)
		return ok
	case *listing:
		_, ok := b.(*listing)
		return ok
	}
	return false
}

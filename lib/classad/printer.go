package classad

import (
	"bytes"
	"slices"
	"strings"
)

// Printer writes one ad after another, own and inherited attributes sorted by name
// without regard to case. For ads that read alike the order is found out once, and an
// attribute whose expression is the one of the ad before is copied. It is for one
// goroutine. NewLongPrinter and NewJSONPrinter return one.
//
// What it writes of an ad is a function of that ad alone: nothing shows of what came
// before.
type Printer struct {
	json  bool
	lead  string // of a line of JSON
	plans []*plan
	turn  int   // which plan is given up next
	chain []*Ad // the ad, and what it is chained to

	compact []byte // JSON that is not indented yet
}

// plan is how ads are written that have the same names.
type plan struct {
	levels []level
	lines  []printed
}

// level tells whether an ad of a chain still has the names that it had: shapes only
// ever grow.
type level struct {
	shape *shape
	names int
}

// printed is an attribute as it was written last.
type printed struct {
	level, place int
	lead         []byte // what stands before the value
	known        bool
	was          cell
	text         []byte // with the lead
}

// maxPlans is how many plans are kept, for streams of a few kinds of ads.
const maxPlans = 8

// NewLongPrinter returns a Printer of lines as AppendLong writes them.
func NewLongPrinter() *Printer { return &Printer{} }

// NewJSONPrinter returns a Printer of the members of indented JSON objects, values as
// MarshalJSON has them: each on a line of its own that begins with the blanks of before
// and step, parted by commas, without the braces and the line breaks at either end. What
// values hold is indented by step more each time.
func NewJSONPrinter(before string) *Printer { return &Printer{json: true, lead: before + step} }

// step is what a level of JSON is indented by.
const step = "  "

// Append appends an ad's attributes, nothing for an ad without any.
func (p *Printer) Append(b []byte, ad *Ad) []byte {
	p.chain = p.chain[:0]
	for ; ad != nil; ad = ad.parent {
		p.chain = append(p.chain, ad)
	}
	l := p.plan()
	for i := range l.lines {
		line := &l.lines[i]
		c := p.chain[line.level].at(line.place)
		if line.known && line.was == *c {
			b = append(b, line.text...)
			continue
		}
		at := len(b)
		b = p.value(append(b, line.lead...), c)
		// Lists and ads may change and still be the same.
		if line.known = c.kind < KindList || c.kind == kindProgram; line.known {
			line.was, line.text = *c, append(line.text[:0], b[at:]...)
		}
	}
	return b
}

// plan returns the plan for the chain.
func (p *Printer) plan() *plan {
	for i, l := range p.plans {
		if l.fits(p.chain) {
			p.plans[0], p.plans[i] = l, p.plans[0]
			return l
		}
	}
	l := p.planned()
	if len(p.plans) < maxPlans {
		p.plans = append(p.plans, l)
	} else {
		p.turn = p.turn%(maxPlans-1) + 1
		p.plans[p.turn] = l
	}
	return l
}

func (l *plan) fits(chain []*Ad) bool {
	if len(l.levels) != len(chain) {
		return false
	}
	for i, a := range chain {
		if !l.levels[i].like(a) {
			return false
		}
	}
	return true
}

func (v *level) like(a *Ad) bool {
	switch {
	case v.names != a.len():
		return false
	case v.shape == a.shape:
		return true
	}
	return v.names == 0 || v.shape.len() == v.names && v.shape.sameNames(a.shape)
}

// planned makes the plan for the chain.
func (p *Printer) planned() *plan {
	l := new(plan)
	type named struct {
		printed
		name string
	}
	var list []named
	for i, a := range p.chain {
		l.levels = append(l.levels, level{a.shape, a.len()})
		for place := range a.len() {
			name := a.shape.at(place)
			if !slices.ContainsFunc(p.chain[:i], func(q *Ad) bool { return q.own(&name) != nil }) {
				list = append(list, named{printed{level: i, place: place}, name.name})
			}
		}
	}
	slices.SortFunc(list, func(a, b named) int { return compareFold(a.name, b.name) })
	for i, n := range list {
		n.printed.lead = p.leading(n.name, i == 0)
		l.lines = append(l.lines, n.printed)
	}
	return l
}

// leading returns what stands before the value of an attribute.
func (p *Printer) leading(name string, first bool) []byte {
	if !p.json {
		lead := []byte(name)
		blanks(lead)
		return append(lead, " = "...)
	}
	lead := p.lead
	if !first {
		lead = ",\n" + lead
	}
	return append(appendJSONString([]byte(lead), name), ": "...)
}

// value appends the value, and the end of the line.
func (p *Printer) value(b []byte, c *cell) []byte {
	if !p.json {
		at := len(b)
		if c.kind == kindProgram {
			b = appendNode(b, c.program().root, StyleOld)
		} else {
			b = appendValue(b, c.Value, StyleOld)
		}
		blanks(b[at:])
		return append(b, '\n')
	}
	switch c.kind {
	case KindUndefined:
		return append(b, "null"...)
	case KindBoolean, KindInteger:
		return appendValue(b, c.Value, StyleSpool)
	case KindString:
		return appendJSONString(b, c.text())
	}
	p.compact = appendJSONExpr(p.compact[:0], c.expr())
	return indent(b, p.compact, p.lead)
}

// indent appends a compact JSON value. The lines behind its first one begin with lead,
// and one step more for each level.
func indent(b, text []byte, lead string) []byte {
	depth := 0
	line := func() {
		b = append(append(b, '\n'), lead...)
		b = append(b, strings.Repeat(step, depth)...)
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			end := i + 1
			for text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			b = append(b, text[i:end+1]...)
			i = end
		case ':':
			b = append(b, ": "...)
		case ',':
			b = append(b, c)
			line()
		case '{', '[':
			b = append(b, c)
			if next := text[i+1]; next == '}' || next == ']' {
				b = append(b, next)
				i++
				break
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			b = append(b, c)
		default:
			// What stands between is copied in one go.
			n := bytes.IndexAny(text[i:], `":,{}[]`)
			if n < 0 {
				n = len(text) - i
			}
			b = append(b, text[i:i+n]...)
			i += n - 1
		}
	}
	return b
}

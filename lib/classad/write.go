package classad

import (
	"bufio"
	"bytes"
	"errors"
	"fairspool/lib/caseless"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Form is a way to write streams of ads.
type Form uint8

// The forms. FormAuto is for reading only: the first byte tells. FormXML is for reading only as well.
const (
	FormAuto Form = iota
	FormLong      // "Name = expression" lines, ads between blank lines
	FormNew       // [ Name = expression; ... ]
	FormJSON      // objects, one by one or in an array
	FormXML       // <c> elements
)

var formNames = [...]string{"auto", "long", "new", "json", "xml"}

// String returns the name that ParseForm knows.
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return "unknown"
}

// ParseForm returns the form of a name: auto, long, new, json or xml.
func ParseForm(name string) (Form, error) {
	for f, n := range formNames {
		if n == name {
			return Form(f), nil
		}
	}
	return FormAuto, fmt.Errorf("form %q: want one of %s", name, strings.Join(formNames[:], ", "))
}

// ErrUnwritable is wrapped by the errors of (*Writer).Write that are about the ad and not about the stream.
var ErrUnwritable = errors.New("ad cannot be written")

// errClosed is the state of a Writer behind Close.
var errClosed = errors.New("write after the end of the stream")

// Writer writes a stream of ads in one form, inherited attributes included, sorted by name without regard to case. A Reader that was told
// the form reads back the same ads, with these exceptions: in the long form a line break in a string becomes a blank, and in JSON bytes
// that are not UTF-8 become U+FFFD, for these forms have no way to write them.
type Writer struct {
	w     *bufio.Writer
	form  Form
	count int
	ad    []byte
	err   error
}

// NewWriter returns a Writer to w. Its output is complete when Close has returned. With a form that is for readers only every call fails.
func NewWriter(w io.Writer, f Form) *Writer {
	out := &Writer{w: bufio.NewWriterSize(w, 64<<10), form: f}
	if f != FormLong && f != FormNew && f != FormJSON {
		out.err = fmt.Errorf("form %v: can be read and not written: want long, new or json", f)
	}
	return out
}

// Write writes one ad.
//
// An ad that the long form cannot hold is refused with an error that wraps ErrUnwritable: an ad without attributes, a name that would be
// read as something else, an expression that no long-form text stands for (a string that ends in a backslash before the end of the line).
// Nothing of it is written then, and the next ad may be. Every other error stays.
func (w *Writer) Write(ad *Ad) error {
	if w.err != nil {
		return w.err
	}
	var refused error
	switch w.form {
	case FormLong:
		w.ad, refused = appendLongAd(w.ad[:0], ad, w.count > 0)
	case FormNew:
		w.ad = append(appendAd(w.ad[:0], ad, StyleSpool), '\n')
	case FormJSON:
		lead := ",\n"
		if w.count == 0 {
			lead = "[\n"
		}
		w.ad = appendJSONAd(append(w.ad[:0], lead...), ad)
	}
	if refused != nil {
		return refused
	}
	w.count++
	_, w.err = w.w.Write(w.ad)
	return w.err
}

// Close writes the rest and the end of the stream; it does not close the writer below. An empty stream is an empty array in JSON, and
// nothing in the other forms.
func (w *Writer) Close() error {
	if w.err != nil {
		if errors.Is(w.err, errClosed) {
			return nil
		}
		return w.err
	}
	if w.form == FormJSON {
		end := "\n]\n"
		if w.count == 0 {
			end = "[]\n"
		}
		w.w.WriteString(end) // Flush has its error
	}
	if w.err = w.w.Flush(); w.err != nil {
		return w.err
	}
	w.err = errClosed
	return nil
}

// appendLongAd appends the lines of an ad, behind a blank line if one has to part it from the ad before.
func appendLongAd(b []byte, ad *Ad, apart bool) ([]byte, error) {
	if apart {
		b = append(b, '\n')
	}
	entries := orderedEntries(ad, StyleSpool)
	if len(entries) == 0 {
		return b, fmt.Errorf("%w: the long form has no ad without attributes", ErrUnwritable)
	}
	for _, e := range entries {
		if why := unlike(e.name); why != "" {
			return b, fmt.Errorf("%w: in the long form no name %s: %q", ErrUnwritable, why, e.name)
		}
		var ok bool
		if b, ok = appendLongExpr(append(append(b, e.name...), " = "...), e.expr); !ok {
			return b, fmt.Errorf("%w: %s: the long form has no way to write %s", ErrUnwritable, e.name, e.expr.Format(StyleSpool))
		}
		b = append(b, '\n')
	}
	return b, nil
}

// unlike says why a long-form line cannot begin with a name; "" when it can.
func unlike(name string) string {
	switch {
	case name == "":
		return "is empty"
	case strings.ContainsAny(name, "=\n\r"):
		return "has an equals sign or a line break"
	case space(name[0]) || name[len(name)-1] == ' ':
		return "begins or ends with a blank"
	case strings.IndexByte("#[{<", name[0]) >= 0, strings.HasPrefix(name, "***"), strings.HasPrefix(name, "-- "):
		return "begins like a comment, a separator or another form"
	}
	return ""
}

// appendLongExpr appends an expression in the Old style or, where that would be read as something else (a real number that needs 17 digits,
// a quoted name behind a point), in the Spool style; ok is false if that would be too.
func appendLongExpr(b []byte, e *Expr) (text []byte, ok bool) {
	at := len(b)
	b = e.AppendTo(b, StyleOld)
	if e.constant() && e.lit.kind >= KindBoolean && e.lit.kind <= KindString && e.lit.kind != KindReal {
		blanks(b[at:])
		return b, true
	}
	want := e.Format(StyleSpool)
	if blanks(b[at:]) {
		_, err := ParseLongExpr(string(b[at:]))
		return b, err == nil
	}
	if readsAs(string(b[at:]), want) {
		return b, true
	}
	return append(b[:at], want...), readsAs(want, want)
}

// blanks makes line breaks blanks, and reports whether there were any.
func blanks(b []byte) (any bool) {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			b[i], any = ' ', true
		}
	}
	return any
}

// readsAs reports whether the whole of a long-form text is the expression that the Spool style writes so.
func readsAs(text, spool string) bool {
	e, err := ParseLongExpr(text)
	return err == nil && e.Format(StyleSpool) == spool
}

// Printer writes one ad after another, own and inherited attributes sorted by name without regard to case. It computes the order once for
// ads that read alike, and copies an attribute with the same expression as in the ad before. It is for one goroutine. NewLongPrinter and
// NewJSONPrinter return one.
//
// Its output for an ad depends on that ad alone: earlier ads never show.
type Printer struct {
	json  bool
	lead  string // of a line of JSON
	plans []*plan
	turn  int   // which plan is given up next
	chain []*Ad // the ad, and those it is chained to

	compact []byte // JSON that is not indented yet
}

// plan is how ads are written that have the same names.
type plan struct {
	levels []level
	lines  []printed
}

// level reports whether an ad of a chain still has the names that it had: shapes only ever grow.
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

// NewJSONPrinter returns a Printer of the members of indented JSON objects, values as MarshalJSON has them: each on a line of its own that
// begins with the blanks of before and step, parted by commas, without the braces and the line breaks at either end. What values hold is
// indented by step more each time.
func NewJSONPrinter(before string) *Printer { return &Printer{json: true, lead: before + step} }

// step is the indentation of a level of JSON.
const step = "  "

// Append appends an ad's attributes, nothing for an ad without any.
func (p *Printer) Append(b []byte, ad *Ad) []byte {
	p.chain = p.chain[:0]
	for ; ad != nil; ad = ad.parent {
		lookThrough(ad)
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
	slices.SortFunc(list, func(a, b named) int { return caseless.Compare(a.name, b.name) })
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

// indent appends a compact JSON value. The lines behind its first one begin with lead, and one step more for each level.
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

package classad

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// longForm is what a Reader keeps of a long-form stream. Ads of a stream mostly
// have the names of the one before, in the same order, and many of the same
// values: as long as that is so, a line is compared rather than read.
type longForm struct {
	expected *layout
	before   []lastSeen // by the lines of expected
	ended    bool       // a bad expression ran into the blank line behind its ad
	room     []roomyAd

	// Of the ad being read:
	ad       *Ad
	lines    int    // how many there were, bad ones too
	follows  bool   // its names so far are those expected, or none of them
	line     int    // how many of those expected were there
	building *shape // its other names
	others   []cell // their cells
}

// lastSeen is the text of an attribute and what it meant.
type lastSeen struct {
	text []byte
	cell cell
}

func (r *Reader) nextLong() (*Ad, error) {
	r.start = 0
	r.long.begin()
	var bad error
	for {
		line, err := r.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		blank := err == nil && isSeparator(line)
		if r.start > 0 && (err != nil || blank) {
			if bad != nil {
				return nil, bad
			}
			return r.long.finish(r.intern), nil
		}
		if err != nil {
			return nil, err
		}
		if blank || isComment(line) {
			continue
		}
		if r.start == 0 {
			r.start = r.line
		}
		r.long.lines++
		if bad == nil && !r.followLine(line) {
			bad = r.setLine(line)
		}
		if r.long.ended {
			r.long.ended = false
			return nil, bad
		}
	}
}

// readLine returns a line without its end, until the next call. At the end of
// the text it returns io.EOF with an empty line.
func (r *Reader) readLine() ([]byte, error) {
	b, err := r.r.ReadSlice('\n')
	switch {
	case err == nil:
		b = b[:len(b)-1]
	case errors.Is(err, bufio.ErrBufferFull):
		head := bytes.Clone(b)
		tail, err := r.r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		b = append(head, bytes.TrimSuffix(tail, newline)...)
	case errors.Is(err, io.EOF):
		if len(b) == 0 {
			return nil, io.EOF
		}
	default:
		return nil, err
	}
	r.line++
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	if r.indent != nil {
		b = append(r.indent, b...)
		r.indent = nil
	}
	return b, nil
}

var newline = []byte("\n")

func isSeparator(line []byte) bool {
	return len(line) == 0 || line[0] == '*' && bytes.HasPrefix(line, []byte("***")) || space(line[0]) && isBlank(line)
}

func isComment(line []byte) bool {
	i := 0
	for space(line[i]) {
		i++
	}
	return line[i] == '#' || line[i] == '-' && bytes.HasPrefix(line[i:], []byte("-- "))
}

func isBlank(line []byte) bool {
	for _, c := range line {
		if !space(c) {
			return false
		}
	}
	return true
}

// begin gets ready for the next ad. If the last one was much smaller than
// expected, the next one probably is too, and must not cost the room of a large
// one.
func (l *longForm) begin() {
	if 4*l.lines < len(l.before) {
		l.expected, l.before = nil, nil
	}
	l.lines, l.line, l.building, l.others = 0, 0, nil, nil
	if l.follows = l.expected != nil; l.follows {
		l.ad = l.expected.open(&l.room)
	} else {
		l.ad = New()
	}
}

// followLine sets the attribute of a line that reads "Name = value" with the
// name that is expected and a value met before or a constant. It reports
// whether it did.
func (r *Reader) followLine(line []byte) bool {
	l := &r.long
	if !l.follows || l.line == len(l.before) {
		return false
	}
	name := l.expected.names[l.line]
	n := len(name)
	if len(line) < n+4 || string(line[:n]) != name || line[n] != ' ' || line[n+1] != '=' || line[n+2] != ' ' {
		return false
	}
	text := line[n+3:]
	seen := &l.before[l.line]
	if !bytes.Equal(text, seen.text) {
		c, ok := r.knownValue(text)
		if !ok {
			return false
		}
		seen.see(text, c)
	}
	l.follow(seen.cell)
	return true
}

// follow sets the attribute that is expected.
func (l *longForm) follow(c cell) {
	*l.ad.at(l.expected.places[l.line]) = c
	l.line++
}

func (s *lastSeen) see(text []byte, c cell) {
	s.text = append(s.text[:0], text...)
	s.cell = c
}

// knownValue returns what a text means that needs no parsing.
func (r *Reader) knownValue(text []byte) (c cell, ok bool) {
	if v, ok := scanConstant(text); ok {
		return cell{r.texts.keep(v)}, true
	}
	if e := r.intern.known(text, true); e != nil {
		return e.cell(), true
	}
	return cell{}, false
}

// setLine reads a line in full and sets its attribute.
func (r *Reader) setLine(line []byte) error {
	at := r.line
	if i := bytes.IndexByte(line, 0); i >= 0 {
		return r.nul(at, i)
	}
	name, text, col, err := splitLine(line)
	if err == nil {
		a := r.intern.name(name)
		var c cell
		if c, text, err = r.value(text); err == nil {
			r.long.set(a, text, c)
		}
	}
	var se *SyntaxError
	if errors.As(err, &se) && se.Line == 0 {
		return &SyntaxError{File: r.file, Line: at, Col: se.Col + col, Msg: se.Msg}
	}
	return err
}

// value reads the right side of a line. It returns the text again, or nil if
// there were more lines to it.
func (r *Reader) value(b []byte) (c cell, same []byte, err error) {
	if c, ok := r.knownValue(b); ok {
		return c, b, nil
	}
	text := string(b)
	e, err := ParseLongExpr(text)
	if err == nil {
		return r.intern.remember(text, true, e).cell(), b, nil
	}
	if e, err = r.continued(text, err); err != nil {
		return cell{}, nil, err
	}
	return e.cell(), nil, nil
}

// nul is the error for a NUL byte at index i of a line.
func (r *Reader) nul(line, i int) error {
	return &SyntaxError{File: r.file, Line: line, Col: i + 1, Msg: "a NUL byte"}
}

// set sets an attribute of the ad being read.
func (l *longForm) set(a attribute, text []byte, c cell) {
	if l.follows {
		if l.line < len(l.before) && l.expected.names[l.line] == a.name {
			l.before[l.line].see(text, c)
			l.follow(c)
			return
		}
		if l.expected.shape.find(&a) >= 0 {
			l.leave()
		}
	}
	if l.building == nil {
		l.building = newShape()
	}
	if i := l.building.find(&a); i >= 0 {
		l.others[i] = c
		return
	}
	l.building.add(&a)
	l.others = append(l.others, c)
}

// leave stops following: the names so far become those of the ad.
func (l *longForm) leave() {
	more, cells := l.building, l.others
	l.building, l.others, l.follows = newShape(), nil, false
	for line := range l.line {
		place := l.expected.places[line]
		a := l.expected.shape.at(place)
		a.special = specialOf(a.name)
		l.building.add(&a)
		l.others = append(l.others, *l.ad.at(place))
	}
	for i := range cells {
		a := more.at(i)
		a.special = specialOf(a.name)
		l.building.add(&a)
	}
	l.others = append(l.others, cells...)
	l.ad = New()
}

// finish returns the ad. The next one is expected to be like it, unless no two
// were like it so far.
func (l *longForm) finish(in *Interner) *Ad {
	if l.follows && l.line < len(l.before) {
		l.leave()
	}
	if !l.follows {
		s, known := in.shape(l.building)
		if known || l.expected == nil {
			l.expected = newLayout(s)
			l.before = make([]lastSeen, s.len())
		}
		l.ad.shape, l.ad.cells = s, l.others
		return l.ad
	}
	l.ad.shape = l.expected.shape
	if l.building != nil {
		l.ad.shape, _ = in.shape(l.expected.shape.with(l.building))
		l.ad.cells = append(l.ad.cells, l.others...)
	}
	return l.ad
}

// maxContinued is how many lines one expression may take.
const maxContinued = 100

// continued reads on when an expression is not complete at the end of its
// line and the next line is indented. Together they must be a whole
// expression; if not, the error stays that of the first line.
func (r *Reader) continued(text string, first error) (*Expr, error) {
	for range maxContinued {
		p := newParser(text, true)
		t := p.expression()
		if p.err == nil {
			if p.tok.kind != tokEnd {
				break
			}
			return newExpr(t.n), nil
		}
		next, err := r.r.Peek(1)
		if err != nil || !p.open || next[0] != ' ' && next[0] != '\t' {
			break
		}
		line, err := r.readLine()
		if err != nil || isBlank(line) {
			r.long.ended = true
			break
		}
		if i := bytes.IndexByte(line, 0); i >= 0 {
			return nil, r.nul(r.line, i)
		}
		text += "\n" + string(line)
	}
	return nil, first
}

// splitLine cuts "Name = expression" at the first equals sign; col is how many
// bytes stand before the expression. Only blanks, not tabs, are trimmed
// before the sign, as HTCondor does, and behind it.
func splitLine(line []byte) (name, text []byte, col int, err error) {
	name, text, ok := bytes.Cut(line, []byte("="))
	if !ok {
		return nil, nil, 0, &SyntaxError{Col: 1, Msg: "expected Name = expression, found no ="}
	}
	col = len(name) + 1
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
		col++
	}
	name = bytes.TrimRight(bytes.TrimLeft(name, " \t\v\f\r"), " ")
	if len(name) == 0 {
		return nil, nil, 0, &SyntaxError{Col: 1, Msg: "expected an attribute name before ="}
	}
	return name, text, col, nil
}

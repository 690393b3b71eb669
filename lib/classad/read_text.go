package classad

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
)

// longForm is the state of a Reader in a long-form stream.
type longForm struct {
	size    int  // bytes of the ad so far
	tooLong bool // the last line is cut, as it exceeds the limit of an ad
	ended   bool // a bad expression ran into the blank line behind its ad
}

func (r *Reader) nextLong() (*Ad, error) {
	r.start, r.long.size = 0, 0
	r.ads.begin()
	var bad error
	for {
		line, err := r.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		blank := err == nil && !r.long.tooLong && isSeparator(line)
		if r.start > 0 && (err != nil || blank) {
			if bad != nil {
				return nil, bad
			}
			return r.ads.finish(r.intern), nil
		}
		if err != nil {
			return nil, err
		}
		if blank || !r.long.tooLong && isComment(line) {
			continue
		}
		if r.start == 0 {
			r.start = r.line
		}
		r.long.size += len(line)
		switch {
		case bad != nil:
		case r.long.tooLong || r.long.size > maxAdText:
			bad = r.tooLong(r.line, 1)
		case !r.followLine(line):
			bad = r.setLine(line)
		}
		if r.long.ended {
			r.long.ended = false
			return nil, bad
		}
	}
}

// tooLong is the error for an ad that is larger than an ad may be.
func (r *Reader) tooLong(line, col int) error {
	return &SyntaxError{File: r.file, Line: line, Col: col, Msg: errTooLong.Error()}
}

// readLine returns a line without its end, until the next call. At the end of
// the text it returns io.EOF with an empty line.
func (r *Reader) readLine() ([]byte, error) {
	b, err := r.r.ReadSlice('\n')
	r.long.tooLong = false
	if err != nil && errors.Is(err, bufio.ErrBufferFull) {
		b, err = r.longLine(b)
	}
	switch {
	case err == nil:
		b = b[:len(b)-1]
	case !errors.Is(err, io.EOF):
		return nil, err
	case len(b) == 0:
		return nil, io.EOF
	}
	r.line++
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	if r.blanks > 0 {
		b = append(bytes.Repeat([]byte{' '}, r.blanks), b...)
		r.blanks = 0
	}
	return b, nil
}

// longLine reads on in a line whose head fills the buffer. It skips the part beyond the
// limit of an ad.
func (r *Reader) longLine(head []byte) ([]byte, error) {
	line := bytes.Clone(head)
	for {
		more, err := r.r.ReadSlice('\n')
		if len(line)+len(more) <= maxAdText-r.long.size {
			line = append(line, more...)
		} else {
			r.long.tooLong = true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if r.long.tooLong && err == nil {
			line = append(line[:len(head)-1], '\n')
		}
		return line, err
	}
}

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
	return !slices.ContainsFunc(line, func(c byte) bool { return !space(c) })
}

// followLine sets the attribute of a line that reads "Name = value" with the
// name that is expected and a value met before or a constant. It reports
// whether it did.
func (r *Reader) followLine(line []byte) bool {
	k := r.ads.next()
	if k == nil {
		return false
	}
	text, ok := afterName(line, k.names[r.ads.line])
	if !ok || len(text) == 0 {
		return false
	}
	if bytes.Equal(text, k.before[r.ads.line].text) {
		r.ads.line++
		return true
	}
	c, ok := r.knownValue(text)
	if ok {
		r.ads.follow(text, c)
	}
	return ok
}

// afterName returns what stands behind "Name = " in a line that begins so.
func afterName(line []byte, name string) (text []byte, ok bool) {
	n := len(name)
	if len(line) < n+3 || string(line[:n]) != name || line[n] != ' ' || line[n+1] != '=' || line[n+2] != ' ' {
		return nil, false
	}
	return line[n+3:], true
}

// knownValue returns the value of a text that needs no parsing.
func (r *Reader) knownValue(text []byte) (c cell, ok bool) {
	if v, ok := scanConstant(text); ok {
		return cell{v.kept(&r.texts)}, true
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
			r.ads.set(a, text, c)
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

// maxContinued is how many lines one expression may take.
const maxContinued = 100

// continued reads on when an expression is not complete at the end of its line and the
// next line is indented. Together they must be a whole expression; if not, the error
// stays the first line's, unless the stream itself fails.
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
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil || !p.open || next[0] != ' ' && next[0] != '\t' {
			break
		}
		line, err := r.readLine()
		if err != nil {
			return nil, err
		}
		if r.long.size += len(line); r.long.tooLong || r.long.size > maxAdText {
			return nil, r.tooLong(r.line, 1)
		}
		if isBlank(line) {
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

// newForm is the state of a Reader in a new-form stream: a piece of the text, as long as
// it must be to hold an ad.
type newForm struct {
	rest  string
	col   int    // how many bytes of its line stand before rest
	piece []byte // read at a time
	end   error  // why nothing comes behind rest
	lost  bool   // rest begins in a bad ad
	debt  int    // bytes parsed in vain, less those that passing others made up for
}

const (
	pieceSize = 64 << 10
	// maxDebt is how many bytes may be parsed in vain before the Reader takes
	// larger steps. It must be large against real ads.
	maxDebt = 4 << 20
	// debtShare is how often a byte may be parsed in vain in the long run.
	debtShare = 4
)

func (r *Reader) nextNew() (*Ad, error) {
	if r.new.lost {
		r.resume()
	}
	if err := r.skipBlank(); err != nil {
		return nil, err
	}
	r.start = r.line
	for {
		n := &r.new
		p := newParser(n.rest, false)
		p.single = true
		ad := r.outermost(p)
		if p.err == nil {
			r.pass(p.lex.at)
			return ad, nil
		}
		switch cut := isCut(p); {
		case !cut || errors.Is(n.end, io.EOF):
			return nil, r.badNew(p, cut)
		case n.end != nil:
			return nil, n.end
		case len(n.rest) > maxAdText:
			line, col := r.position(0)
			r.lose(len(n.rest))
			return nil, r.tooLong(line, col)
		}
		n.debt += len(n.rest)
		r.readOn()
	}
}

// isCut reports whether the error of a parser may come from that its text ends
// there.
func isCut(p *parser) bool {
	t := &p.tok
	if t.end < len(p.lex.text) {
		return false
	}
	if t.kind == tokBad { // a NUL byte in a string ends it too
		if c := p.lex.text[t.pos]; c == '"' || c == '\'' {
			return t.text == unended(c)
		}
	}
	return true
}

// outermost parses an ad that is in no other one.
func (r *Reader) outermost(p *parser) *Ad {
	if p.tok.kind != tokOpenAd {
		p.expected("[")
		return nil
	}
	p.deeper()
	p.advance()
	r.ads.begin()
	for {
		for p.accept(tokSemicolon) {
		}
		if p.tok.kind == tokCloseAd {
			p.closeAd()
			return r.ads.finish(r.intern)
		}
		name, ok := p.name("an attribute name or ]")
		if ok && !p.accept(tokAssign) {
			p.expected("= behind the attribute name")
		}
		if p.err != nil {
			return nil
		}
		from := p.tok.pos
		t := p.expression()
		if p.err == nil && p.tok.kind != tokSemicolon && p.tok.kind != tokCloseAd {
			p.expected("an operator, ; or ]")
		}
		if p.err != nil {
			return nil
		}
		r.ads.set(r.intern.name([]byte(name)), nil, r.shared(t.n, p.lex.text[from:p.tok.pos]))
	}
}

// shared returns an expression that was just parsed from a text, or an equal
// one. None of the text is kept: it is a piece of something large.
func (r *Reader) shared(n node, text string) cell {
	if l, ok := n.(*literal); ok {
		return cell{l.v.kept(&r.texts)}
	}
	e, err := r.intern.Expr(trimmed(text))
	if err != nil {
		e = newExpr(n)
	}
	return e.cell()
}

// badNew returns the error of an ad and skips the ad as far as it must. The next ad may
// begin at the next line that begins with [. So a stretch of text may be parsed often;
// when that gets too much, or when it is a comment to the end of the text, the next ad
// begins behind the error.
func (r *Reader) badNew(p *parser, cut bool) error {
	line, col := r.position(p.err.Col - 1)
	n := &r.new
	stop := p.tok.pos
	if cut {
		stop = p.tok.end
	}
	n.debt += stop
	comment := cut && p.tok.kind == tokBad && n.rest[p.tok.pos] == '/'
	if comment || n.debt > maxDebt+2*debtShare*len(n.rest) {
		r.lose(stop)
	} else {
		r.lose(1)
	}
	return &SyntaxError{File: r.file, Line: line, Col: col, Msg: p.err.Msg}
}

// lose passes n bytes of a bad ad, except for a line break at their end.
func (r *Reader) lose(n int) {
	if n > 1 && r.new.rest[n-1] == '\n' {
		n--
	}
	r.pass(max(n, 1))
	r.new.lost = true
}

// resume goes to the next line that begins with [, or to the end.
func (r *Reader) resume() {
	n := &r.new
	n.lost = false
	for {
		if next := strings.Index(n.rest, "\n["); next >= 0 {
			r.pass(next + 1)
			return
		}
		if n.end != nil {
			r.pass(len(n.rest))
			return
		}
		r.pass(max(len(n.rest)-1, 0)) // it may be the line break
		r.readOn()
	}
}

// readOn appends to the rest what comes next: as much as is there at once, if
// an ad may end in it. Otherwise the rest grows by half, so that a long ad is
// not parsed too often.
func (r *Reader) readOn() {
	n := &r.new
	if n.piece == nil {
		n.piece = make([]byte, pieceSize)
	}
	more := n.piece[:0]
	for n.end == nil && len(n.rest)+len(more) <= maxAdText {
		more = slices.Grow(more, 1)
		fresh := more[len(more):min(cap(more), len(more)+pieceSize)]
		var got int
		got, n.end = r.r.Read(fresh)
		fresh, more = fresh[:got], more[:len(more)+got]
		if 2*len(more) >= len(n.rest) || n.debt <= maxDebt && bytes.IndexByte(fresh, ']') >= 0 {
			break
		}
	}
	n.rest += string(more)
}

// skipBlank passes white space between ads; an error when nothing follows.
func (r *Reader) skipBlank() error {
	for {
		rest := r.new.rest
		n := 0
		for n < len(rest) && space(rest[n]) {
			n++
		}
		r.pass(n)
		if n < len(rest) {
			return nil
		}
		if r.new.end != nil {
			return r.new.end
		}
		r.readOn()
	}
}

// pass moves n bytes on.
func (r *Reader) pass(n int) {
	line, col := r.position(n)
	r.line, r.new.col = line, col-1
	r.new.rest = r.new.rest[n:]
	r.new.debt = max(0, r.new.debt-debtShare*n)
}

// position returns the line and column of byte at of the rest.
func (r *Reader) position(at int) (line, col int) {
	before := r.new.rest[:min(max(at, 0), len(r.new.rest))]
	lines := strings.Count(before, "\n")
	if lines == 0 {
		return r.line, r.new.col + len(before) + 1
	}
	return r.line + lines, len(before) - strings.LastIndexByte(before, '\n')
}

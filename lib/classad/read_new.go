package classad

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
)

// newForm is what a Reader keeps of a new-form stream: a piece of the text, as
// long as it must be to hold an ad.
type newForm struct {
	rest  string
	col   int    // how many bytes of its line stand before rest
	piece []byte // what is read at a time
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
		return cell{r.texts.keep(l.v)}
	}
	e, err := r.intern.Expr(trimmed(text))
	if err != nil {
		e = newExpr(n)
	}
	return e.cell()
}

// badNew returns the error of an ad and passes what it must of it. The next ad
// may begin at the next line that begins with [. So a stretch of text may be
// parsed often; when that gets too much, or when it is a comment to the end of
// the text, the next ad begins behind the error.
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

package classad

import (
	"errors"
	"io"
	"strings"
)

// newForm is what a Reader keeps of a new-form stream: a piece of the text, as
// long as it must be to hold an ad.
type newForm struct {
	rest  string
	col   int  // how many bytes of its line stand before rest
	piece int  // how many bytes are read at a time
	ended bool // rest goes to the end of the stream
}

const firstPiece = 64 << 10

func (r *Reader) nextNew() (*Ad, error) {
	if err := r.skipBlank(); err != nil {
		return nil, err
	}
	r.start = r.line
	for {
		p := newParser(r.new.rest, false)
		p.single = true
		ad := p.wholeAd()
		if p.err == nil {
			r.pass(p.lex.at)
			r.new.piece = firstPiece
			return ad, nil
		}
		if p.tok.end < len(r.new.rest) || r.new.ended {
			return nil, r.badNew(p.err)
		}
		// The text may just not go far enough.
		if err := r.readPiece(); err != nil {
			return nil, err
		}
	}
}

// badNew returns the error of an ad, and passes it: the next one may begin at
// the next line that begins with [.
func (r *Reader) badNew(bad *SyntaxError) error {
	line, col := r.position(bad.Col - 1)
	r.new.piece = firstPiece
	from := 1
	for {
		if next := strings.Index(r.new.rest[from:], "\n["); next >= 0 {
			r.pass(from + next + 1)
			break
		}
		if r.new.ended {
			r.pass(len(r.new.rest))
			break
		}
		r.pass(len(r.new.rest) - 1) // it may be the line break
		from = 0
		if err := r.readPiece(); err != nil {
			return err
		}
	}
	return &SyntaxError{File: r.file, Line: line, Col: col, Msg: bad.Msg}
}

// readPiece appends the next piece of the stream to the rest. Pieces grow, so
// that a long ad is not parsed too often.
func (r *Reader) readPiece() error {
	n := &r.new
	if n.piece == 0 {
		n.piece = firstPiece
	}
	b := make([]byte, n.piece)
	n.piece *= 2
	got, err := io.ReadFull(r.r, b)
	if err != nil {
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		n.ended = true
	}
	n.rest += string(b[:got])
	return nil
}

// skipBlank passes white space between ads; io.EOF when nothing follows.
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
		if r.new.ended {
			return io.EOF
		}
		if err := r.readPiece(); err != nil {
			return err
		}
	}
}

// pass moves n bytes on.
func (r *Reader) pass(n int) {
	line, col := r.position(n)
	r.line, r.new.col = line, col-1
	r.new.rest = r.new.rest[n:]
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

package classad

import (
	"io"
	"strings"
)

func (r *Reader) nextNew() (*Ad, error) {
	r.skipBlank()
	if r.rest == "" {
		return nil, io.EOF
	}
	r.start = r.line
	p := newParser(r.rest, false)
	p.single = true
	ad := p.wholeAd()
	if p.err == nil {
		r.pass(p.lex.at)
		return ad, nil
	}
	at := p.err.Col - 1
	line, col := r.position(at)
	err := &SyntaxError{File: r.file, Line: line, Col: col, Msg: p.err.Msg}
	next := strings.Index(r.rest[1:], "\n[")
	if next < 0 {
		r.pass(len(r.rest))
	} else {
		r.pass(next + 2)
	}
	return nil, err
}

// skipBlank passes white space between new-form ads.
func (r *Reader) skipBlank() {
	n := 0
	for n < len(r.rest) && space(r.rest[n]) {
		n++
	}
	r.pass(n)
}

// pass moves n bytes on in a new-form stream.
func (r *Reader) pass(n int) {
	r.line += strings.Count(r.rest[:n], "\n")
	r.rest = r.rest[n:]
}

// position returns the line and column of byte at of the rest.
func (r *Reader) position(at int) (line, col int) {
	before := r.rest[:min(max(at, 0), len(r.rest))]
	return r.line + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n')
}

package classad

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Reader reads a stream of ads: long-form ads with blank lines between them,
// or new-form ads if the first byte that is not blank is "[".
//
// In the long form lines that begin with # are comments, and so are the
// headings "-- Schedd: ..." of condor_q; a line of three stars and more, as in
// history files, separates ads like a blank line. An expression that is not
// complete at the end of its line goes on in the next line if that is
// indented. A bad line makes its whole ad an error, a *SyntaxError; the next
// call goes on behind the next blank line. In the new form the next call goes
// on at the next line that begins with "[". A NUL byte makes an ad an error
// wherever it stands, save in a comment between long-form lines.
type Reader struct {
	r      *bufio.Reader
	file   string
	line   int // of the line read last
	start  int // of the ad returned last
	intern *Interner

	begun   bool
	ended   bool   // a bad expression ran into the blank line behind its ad
	rest    string // of a new-form stream
	newForm bool
	indent  string // blanks of the first line, read already
}

// NewReader returns a Reader of r. The file's name is for messages only.
func NewReader(r io.Reader, file string) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), file: file}
}

// Intern makes equal expressions and names of the ads to come share memory.
func (r *Reader) Intern(i *Interner) { r.intern = i }

// Line returns the line, from 1, on which the ad last returned began. With an
// error it is where the bad ad began.
func (r *Reader) Line() int { return r.start }

// Next returns the next ad. It returns io.EOF at the end, a *SyntaxError for an
// ad that is not one, and errors of the underlying reader as they are.
func (r *Reader) Next() (*Ad, error) {
	if !r.begun {
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	if r.newForm {
		return r.nextNew()
	}
	return r.nextLong()
}

// begin looks at the first byte that is not blank.
func (r *Reader) begin() error {
	for blanks := []byte(nil); ; {
		c, err := r.r.ReadByte()
		if err != nil {
			return err
		}
		switch {
		case c == '\n':
			r.line++
			blanks = nil
			continue
		case space(c):
			blanks = append(blanks, c)
			continue
		case c == '[':
			r.newForm = true
			b, err := io.ReadAll(r.r)
			if err != nil {
				return err
			}
			r.rest = string(blanks) + "[" + string(b)
			r.line++
		default:
			if err := r.r.UnreadByte(); err != nil {
				return err
			}
			r.indent = string(blanks)
		}
		r.begun = true
		return nil
	}
}

// readLine returns a line without its end. At the end of the text it returns
// io.EOF with an empty line.
func (r *Reader) readLine() (string, error) {
	b, err := r.r.ReadSlice('\n')
	var line string
	switch {
	case err == nil:
		line = string(b[:len(b)-1])
	case errors.Is(err, bufio.ErrBufferFull):
		head := string(b)
		tail, err2 := r.r.ReadString('\n')
		if err2 != nil && !errors.Is(err2, io.EOF) {
			return "", err2
		}
		line = head + strings.TrimSuffix(tail, "\n")
	case errors.Is(err, io.EOF):
		if len(b) == 0 {
			return "", io.EOF
		}
		line = string(b)
	default:
		return "", err
	}
	r.line++
	line = r.indent + strings.TrimSuffix(line, "\r")
	r.indent = ""
	return line, nil
}

func (r *Reader) nextLong() (*Ad, error) {
	ad := New()
	r.start = 0
	var bad error
	for {
		line, err := r.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		blank := isSeparator(line)
		if r.start > 0 && (err != nil || blank) {
			if bad != nil {
				return nil, bad
			}
			return ad, nil
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
		if bad == nil {
			bad = r.setLine(ad, line)
		}
		if r.ended {
			r.ended = false
			return nil, bad
		}
	}
}

func isSeparator(line string) bool { return isBlank(line) || strings.HasPrefix(line, "***") }

func isComment(line string) bool {
	line = strings.TrimLeft(line, " \t\v\f\r")
	return line[0] == '#' || strings.HasPrefix(line, "-- ")
}

func isBlank(line string) bool {
	for i := range len(line) {
		if !space(line[i]) {
			return false
		}
	}
	return true
}

// setLine puts one long-form line into the ad.
func (r *Reader) setLine(ad *Ad, line string) error {
	at := r.line
	if i := strings.IndexByte(line, 0); i >= 0 {
		return r.nul(at, i)
	}
	name, expr, col, err := splitLine(line)
	var e *Expr
	if err == nil {
		if r.intern != nil {
			name = r.intern.name(name)
			e, err = r.intern.long(expr)
		} else {
			e, err = ParseLongExpr(expr)
		}
		if err != nil {
			e, err = r.continued(expr, err)
		}
	}
	if err != nil {
		var se *SyntaxError
		if errors.As(err, &se) && se.Line == 0 {
			return &SyntaxError{File: r.file, Line: at, Col: se.Col + col, Msg: se.Msg}
		}
		return err
	}
	ad.Set(name, e)
	return nil
}

// nul is the error for a NUL byte at index i of a line.
func (r *Reader) nul(line, i int) error {
	return &SyntaxError{File: r.file, Line: line, Col: i + 1, Msg: "a NUL byte"}
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
			r.ended = true
			break
		}
		if i := strings.IndexByte(line, 0); i >= 0 {
			return nil, r.nul(r.line, i)
		}
		text += "\n" + line
	}
	return nil, first
}

// splitLine cuts "Name = expression" at the first equals sign; col is how many
// bytes stand before the expression. Only blanks, not tabs, are trimmed
// before the sign, as HTCondor does.
func splitLine(line string) (name, expr string, col int, err error) {
	name, expr, ok := strings.Cut(line, "=")
	if !ok {
		return "", "", 0, &SyntaxError{Col: 1, Msg: "expected Name = expression, found no ="}
	}
	col = len(name) + 1
	name = strings.TrimRight(strings.TrimLeft(name, " \t\v\f\r"), " ")
	if name == "" {
		return "", "", 0, &SyntaxError{Col: 1, Msg: "expected an attribute name before ="}
	}
	return name, expr, col, nil
}

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

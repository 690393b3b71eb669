package macro

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"fairspool/lib/classad"
	"fairspool/lib/clean"
)

// byteOrderMark is what some editors put before a text in UTF-8.
const byteOrderMark = "\uFEFF"

// Piece says where a piece of a logical text begins in the file. It ends where the next
// begins.
type Piece struct {
	Offset int // in bytes of the logical text, from 0
	Line   int // from 1
	Column int // in characters, from 1
}

// Lines takes a text apart into its logical lines.
type Lines struct {
	text   string
	marked bool
	starts []int // of the physical lines
	next   int   // physical line to be read, from 0
	blank  int   // blank lines that Next has passed over
}

// NewLines returns the lines of a text. A byte order mark before it does not count.
func NewLines(text string) *Lines {
	l := &Lines{}
	l.text, l.marked = strings.CutPrefix(text, byteOrderMark)
	for at := 0; at < len(l.text); {
		l.starts = append(l.starts, at)
		end := strings.IndexByte(l.text[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return l
}

// Marked reports whether the text began with a byte order mark.
func (l *Lines) Marked() bool { return l.marked }

// Blank returns how many blank lines Next has passed over so far, without those that end
// a continued line.
func (l *Lines) Blank() int { return l.blank }

// Source returns the physical line with the number, from 1, without its end; empty if
// there is no such line.
func (l *Lines) Source(line int) string {
	if line < 1 || line > len(l.starts) {
		return ""
	}
	end := len(l.text)
	if line < len(l.starts) {
		end = l.starts[line]
	}
	return strings.TrimRight(l.text[l.starts[line-1]:end], "\r\n")
}

// Next returns the next logical line: one that says something, with those that continue
// it. Blanks at both ends of physical lines and carriage returns do not count, nor do
// lines that begin with "#" between continued ones; a backslash at the end of those
// continues nothing. A blank line ends a continued one. There is at least one piece.
func (l *Lines) Next() (text string, pieces []Piece, ok bool) {
	var joined []byte
	for l.next < len(l.starts) {
		line := l.Source(l.next + 1)
		l.next++
		part := strings.TrimSpace(line)
		if part == "" && pieces == nil {
			l.blank++
			continue
		}
		if strings.HasPrefix(part, "#") {
			continue
		}
		indent := line[:strings.Index(line, part)]
		pieces = append(pieces, Piece{len(joined), l.next, utf8.RuneCountInString(indent) + 1})
		part, continued := strings.CutSuffix(part, `\`)
		if !continued && joined == nil {
			text = part
			break
		}
		joined = append(joined, part...)
		if !continued {
			break
		}
	}
	if joined != nil {
		text = strings.TrimSpace(string(joined))
	}
	return text, pieces, pieces != nil
}

// Until returns the lines up to the one that is "@" and the tag, parted by newlines, for
// values of several lines. closed is false when the text ends before.
func (l *Lines) Until(tag string) (text string, pieces []Piece, closed bool) {
	var b strings.Builder
	for l.next < len(l.starts) {
		line := l.Source(l.next + 1)
		l.next++
		if strings.TrimSpace(line) == "@"+tag {
			closed = true
			break
		}
		if pieces != nil {
			b.WriteByte('\n')
		}
		pieces = append(pieces, Piece{b.Len(), l.next, 1})
		b.WriteString(line)
	}
	return b.String(), pieces, closed
}

// Place returns where the byte at the offset of a logical text stands in the file, as
// pieces have it. One behind its end is taken to follow its last. Without pieces it is line 0.
func Place(text string, pieces []Piece, offset int) (line, column int) {
	offset = min(max(offset, 0), len(text))
	i, found := slices.BinarySearchFunc(pieces, offset, func(p Piece, offset int) int { return p.Offset - offset })
	for found && i+1 < len(pieces) && pieces[i+1].Offset == offset {
		i++
	}
	if !found {
		i--
	}
	if i < 0 {
		return 0, 0
	}
	p := pieces[i]
	for n := 0; n < utf8.UTFMax-1 && p.Offset < offset && offset < len(text) && !utf8.RuneStart(text[offset]); n++ {
		offset-- // to the beginning of the character
	}
	return p.Line, p.Column + utf8.RuneCountInString(text[min(p.Offset, offset):offset])
}

// Condition is what stands behind if or elif.
type Condition struct {
	// Not says that it began with "!".
	Not bool
	// Word is "defined", "version" or empty, which is a literal. Rest is what stands
	// behind the word, or the literal.
	Word, Rest string

	yes bool // of a literal
}

// ParseCondition reads a condition with its macros replaced: "defined NAME", "version OP
// x.y.z", or true, false, yes, no, t, f, y, n, a number, or nothing, which is false; in
// any case, and behind a "!" if it is to be negated. The error is one line with the valid
// forms; Not, Word and Rest are right even then.
func ParseCondition(text string) (Condition, error) {
	rest, not := strings.CutPrefix(strings.TrimSpace(text), "!")
	c := Condition{Not: not, Rest: strings.TrimSpace(rest)}
	end := 0
	for end < len(c.Rest) && isLetter(c.Rest[end]) {
		end++
	}
	behind := strings.TrimSpace(c.Rest[end:])
	var err error
	switch word := strings.ToLower(c.Rest[:end]); {
	case word == "version":
		c.Word, c.Rest = word, behind
		_, err = CompareVersion([3]int{}, behind)
	case word == "defined" && (len(c.Rest) == end || len(behind) < len(c.Rest)-end):
		c.Word, c.Rest = word, behind
		if !isLiteral(behind) && !IsName(behind) {
			err = fmt.Errorf("defined %s: want the name of a macro", shorten(behind))
		}
	default:
		yes, ok := literal(c.Rest)
		if c.yes = yes; !ok {
			err = fmt.Errorf("%s: want true, false, a number, defined NAME, or version with ==, >= or <=", shorten(c.Rest))
		}
	}
	return c, err
}

// Holds reports whether the condition is true. defined reports whether a macro has a value;
// version is the release that the text is read by. A literal is defined, except the empty
// one, as in "defined $(X)" it is what X is worth; y and n are names there.
func (c Condition) Holds(defined func(name string) bool, version [3]int) bool {
	yes := c.yes
	switch c.Word {
	case "defined":
		yes = c.Rest != "" && (isLiteral(c.Rest) || defined(c.Rest))
	case "version":
		yes, _ = CompareVersion(version, c.Rest)
	}
	return yes != c.Not
}

// literal returns the meaning of a word or a number as a condition.
func literal(text string) (yes, ok bool) {
	switch strings.ToLower(text) {
	case "true", "t", "yes", "y":
		return true, true
	case "false", "f", "no", "n", "":
		return false, true
	}
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return false, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n != 0, err == nil
}

// isLiteral reports whether what stands behind "defined" is a literal.
func isLiteral(text string) bool {
	_, ok := literal(text)
	return ok && !strings.EqualFold(text, "y") && !strings.EqualFold(text, "n")
}

// CompareVersion reports whether have stands in the relation to what follows it, as in
// ">= 8.1.6". The relations are ==, >=, <=, !=, > and <; a part of the number that is left
// out is not compared. The error is one line.
func CompareVersion(have [3]int, text string) (bool, error) {
	for _, op := range []string{">=", "<=", "==", "!=", ">", "<"} {
		number, is := strings.CutPrefix(strings.TrimSpace(text), op)
		if !is {
			continue
		}
		c, ok := against(have, strings.TrimSpace(number))
		if !ok {
			break
		}
		switch op[0] {
		case '>':
			return c > 0 || c == 0 && op == ">=", nil
		case '<':
			return c < 0 || c == 0 && op == "<=", nil
		}
		return (c == 0) == (op == "=="), nil
	}
	return false, fmt.Errorf("version %s: want ==, >= or <=, then x.y.z", shorten(text))
}

// against compares have with a version in text: negative, zero or positive.
func against(have [3]int, text string) (c int, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) > len(have) {
		return 0, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return 0, false
		}
		if c == 0 {
			c = have[i] - int(n)
		}
	}
	return c, true
}

// shorten returns the beginning of a text on one line, for messages.
func shorten(text string) string { return clean.Shortened(text, 60) }

// Misplaced says that a statement of a condition stands where it has no if, or behind
// its else. It is one line, such as "elif without if".
type Misplaced string

func (m Misplaced) Error() string { return string(m) }

// Branches are the conditions of a text that are open. The zero Branches has none.
type Branches struct{ open []branch }

// branch is one if that is not closed yet.
type branch struct {
	line   int
	active bool // the statements that follow count
	done   bool // some branch was taken
	last   bool // else has been
}

// Taken reports whether statements count now.
func (b *Branches) Taken() bool { return len(b.open) == 0 || b.open[len(b.open)-1].active }

// Open returns the line of the innermost if that no endif has closed.
func (b *Branches) Open() (line int, open bool) {
	if len(b.open) == 0 {
		return 0, false
	}
	return b.open[len(b.open)-1].line, true
}

// If opens a condition; its if stands in the line. If calls holds only where statements
// count, and returns its error.
func (b *Branches) If(line int, holds func() (bool, error)) error {
	yes, err := b.Taken(), error(nil)
	if yes {
		yes, err = holds()
	}
	b.open = append(b.open, branch{line: line, active: yes, done: yes})
	return err
}

// Elif ends a branch and begins the next. holds is asked only if no branch before was
// taken, and statements around count. The error is its, or Misplaced; an elif behind
// else is not taken.
func (b *Branches) Elif(holds func() (bool, error)) error { return b.next("elif", holds) }

// Else begins the last branch. The error is Misplaced; a second else is not taken.
func (b *Branches) Else() error {
	return b.next("else", func() (bool, error) { return true, nil })
}

func (b *Branches) next(word string, holds func() (bool, error)) error {
	n := len(b.open) - 1
	if n < 0 {
		return Misplaced(word + " without if")
	}
	now := &b.open[n]
	after := now.last
	now.active, now.last = false, after || word == "else"
	if after {
		return Misplaced(word + " after else")
	}
	if now.done || n > 0 && !b.open[n-1].active {
		return nil
	}
	yes, err := holds()
	now.active, now.done = yes, yes
	return err
}

// Endif closes the innermost condition. The error is Misplaced.
func (b *Branches) Endif() error {
	if len(b.open) == 0 {
		return Misplaced("endif without if")
	}
	b.open = b.open[:len(b.open)-1]
	return nil
}

// maxSteps bounds the evaluation of a constant.
const maxSteps = 100_000

// Constant returns the value of an expression that refers to no attribute, and depends
// neither on the time nor on chance. ok is false for any other, and for an undefined or
// error value.
func Constant(text string) (v classad.Value, ok bool) {
	e, _, err := Expression(text)
	if err != nil || varies(e) {
		return v, false
	}
	own, others := classad.References(e, nil)
	if len(own)+len(others) > 0 {
		return v, false
	}
	v = worth(e)
	return v, v.Kind() != classad.KindUndefined && v.Kind() != classad.KindError
}

func varies(e *classad.Expr) bool {
	clock, chance := classad.Varies(e, nil, nil)
	return clock || chance
}

func worth(e *classad.Expr) classad.Value {
	return e.Eval(&classad.Context{MaxSteps: maxSteps}, nil, nil)
}

// Expression parses an expression as these files write it. In a string, a backslash
// stands for itself, except before a quote; asNew is the same text for readers to whom it
// begins an escape, on one line.
func Expression(text string) (e *classad.Expr, asNew string, err error) {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\\' && !strings.HasPrefix(text[i+1:], `"`):
			b.WriteString(`\\`)
		case unicode.IsControl(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	e, err = classad.ParseExpr(b.String())
	return e, b.String(), err
}

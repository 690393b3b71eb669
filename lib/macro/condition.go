package macro

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"fairspool/lib/classad"
	"fairspool/lib/clean"
)

// Condition is what stands behind if or elif.
type Condition struct {
	// Not says that it began with "!".
	Not bool
	// Word is "defined", "version" or empty, which is a literal. Rest is what stands
	// behind the word, or the literal.
	Word, Rest string

	yes bool // of a literal
}

// ParseCondition reads a condition whose macros have been put in: "defined NAME",
// "version OP x.y.z", or true, false, yes, no, t, f, y, n, a number, or nothing, which is
// false; in any case, and behind a "!" if it is to be turned round. The error is one line
// and says what is wanted; Not, Word and Rest are right even then.
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

// Holds reports whether the condition is true. defined says whether a macro has a value;
// version is the release that the text is read by. A literal is defined, save the empty
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

// literal returns what a word or a number means as a condition.
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

// If opens a condition, whose if stands in the line. holds is asked only where
// statements count; the error is its.
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
// neither on the time nor on chance. ok is false for any other, and for one whose value
// is undefined or error.
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
// stands for itself, save before a quote; asNew is the same text for readers to whom it
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

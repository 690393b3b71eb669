package macro

import (
	"strings"
	"unicode"

	"fairspool/lib/classad"
)

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

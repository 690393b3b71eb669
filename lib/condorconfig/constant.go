package condorconfig

import (
	"strings"
	"unicode"

	"fairspool/lib/classad"
)

// maxSteps bounds the evaluation of a constant.
const maxSteps = 100_000

// Constant returns the value of an expression that refers to no attribute, and
// depends neither on the time nor on chance. ok is false for any other, and for one
// whose value is undefined or error.
func Constant(text string) (v classad.Value, ok bool) {
	e, _, err := Expression(text)
	if err != nil {
		return v, false
	}
	own, others := classad.References(e, nil)
	clock, chance := classad.Varies(e, nil, nil)
	if len(own)+len(others) > 0 || clock || chance {
		return v, false
	}
	v = e.Eval(&classad.Context{MaxSteps: maxSteps}, nil, nil)
	return v, v.Kind() != classad.KindUndefined && v.Kind() != classad.KindError
}

// Expression parses an expression as configurations write it. In a string, a backslash
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

// Truth returns what a text means as a boolean: one of the words of HTCondor, in any
// case, or a constant that is a boolean or a number.
func Truth(text string) (yes, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "t", "yes", "y", "1":
		return true, true
	case "false", "f", "no", "n", "0":
		return false, true
	}
	v, ok := Constant(text)
	if !ok {
		return false, false
	}
	if b, ok := v.Bool(); ok {
		return b, true
	}
	n, ok := v.Number()
	return n != 0, ok
}

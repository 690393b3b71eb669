package condorconfig

import (
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/macro"
)

// Constant returns the value of an expression that refers to no attribute, and
// depends neither on the time nor on chance. ok is false for any other, and for one
// whose value is undefined or error.
func Constant(text string) (v classad.Value, ok bool) { return macro.Constant(text) }

// Expression parses an expression as configurations write it. In a string, a backslash
// stands for itself, save before a quote; asNew is the same text for readers to whom it
// begins an escape, on one line.
func Expression(text string) (e *classad.Expr, asNew string, err error) {
	return macro.Expression(text)
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

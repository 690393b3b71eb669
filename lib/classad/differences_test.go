package classad

import (
	"regexp"
	"strings"
)

// The results of the reference that are not followed, each with its reason.

var (
	lookAround = regexp.MustCompile(`\(\?<?[=!]`)
	shortYear  = regexp.MustCompile(`absTime\("\d{1,3}-`)
)

// meantEval says why a result is meant to differ from the reference; "" when
// it is not.
func meantEval(c evalCase) string {
	switch {
	case lookAround.MatchString(c.Expr):
		return "look-around is not part of RE2: the pattern is bad and the result ERROR"
	case strings.Contains(c.Result, "relTime(") && strings.Contains(c.Result, "nan"):
		return "an endless span of time is ERROR; the reference prints fields of a NaN"
	case shortYear.MatchString(c.Result):
		return "years are printed with four digits, so that they can be read again"
	}
	return ""
}

package macro

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"fairspool/lib/classad"
)

// defaultFormats are what HTCondor's manual has for a reference without a format.
var defaultFormats = map[string]string{"INT": "%d", "REAL": "%.16G", "STRING": "%s", "EVAL": "%s"}

// formatShape is one verb of C's printf with text around it: the text, flags, width and
// precision, verb, text. Lengths such as l are passed over.
var formatShape = regexp.MustCompile(`^((?:[^%]|%%)*)%([-+ #0]*)(\d{0,3})(\.\d{0,2})?(?:hh?|ll?|[Lqjzt])?([a-zA-Z])((?:[^%]|%%)*)$`)

// verbs are those that each function takes.
var verbs = map[string]string{"INT": "dioxXu", "REAL": "eEfFgG", "STRING": "s", "EVAL": "s"}

// Format is $INT, $REAL, $STRING and $EVAL: what value is worth, written by a format of
// C's printf, or by that of the manual if it is empty.
//
// $INT and $REAL want a constant expression whose value is a number or a boolean, or a
// decimal number, which may begin with zeros; $INT cuts what stands behind the point, and
// what $REAL writes by a format has one: .0 is added. $STRING takes an expression whose value is a string,
// and any other text as it stands. $EVAL writes a string without quotes, and any other value
// as ClassAds do; what is no expression it takes as it stands. Errors are one line: a value
// that is none of the kind, one that depends on the time or on chance, a format that is not
// one verb of the kind.
func Format(function, value, format string) (string, error) {
	given := format != ""
	if !given {
		format = defaultFormats[function]
	}
	m := formatShape.FindStringSubmatch(format)
	if verbs[function] == "" {
		return "", fmt.Errorf("$%s: not a function with a format", shorten(function))
	}
	if m == nil || !strings.Contains(verbs[function], m[5]) {
		return "", fmt.Errorf("format %s: want one of %s behind %%, once", shorten(format), listed(verbs[function]))
	}
	arg, err := argument(function, strings.TrimSpace(value), m[5])
	if err != nil {
		return "", err
	}
	if arg == uint64(0) {
		m[2] = strings.ReplaceAll(m[2], "#", "") // C puts no prefix before 0
	}
	text := fmt.Sprintf(goVerb(m[2], m[3], m[4], m[5]), arg)
	text = strings.ReplaceAll(m[1], "%%", "%") + text + strings.ReplaceAll(m[6], "%%", "%")
	if function == "REAL" && given && !strings.ContainsAny(text, ".eE") {
		text += ".0"
	}
	return text, nil
}

// listed returns letters with commas between them.
func listed(letters string) string { return strings.Join(strings.Split(letters, ""), ", ") }

// goVerb returns the verb of Go's printf that writes as C's does.
func goVerb(flags, width, precision, verb string) string {
	switch verb {
	case "i", "u":
		verb = "d"
	case "F":
		verb = "f"
	case "g", "G":
		if precision == "" {
			precision = ".6"
		}
	case "s":
		flags = strings.Trim(flags, "+ #0")
		if strings.Contains(flags, "-") {
			flags = "-"
		}
	}
	return "%" + flags + width + precision + verb
}

// argument returns what is written by the verb.
func argument(function, value, verb string) (any, error) {
	switch function {
	case "STRING":
		return stringOf(value)
	case "EVAL":
		return evaluated(value)
	}
	v, ok := decimal(value)
	if !ok {
		v, ok = Constant(value)
	}
	if !ok {
		return nil, fmt.Errorf("%s: want a constant expression", shorten(value))
	}
	n, ok := v.Number()
	if b, is := v.Bool(); !ok && is {
		v = classad.Int(0)
		if b {
			v = classad.Int(1)
		}
		n, ok = v.Number()
	}
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, fmt.Errorf("%s: want a number", shorten(value))
	}
	if function == "REAL" {
		return n, nil
	}
	whole, exact := v.Int()
	if !exact {
		if math.Abs(n) >= 1<<63 {
			return nil, fmt.Errorf("%s: want a number of 64 bits", shorten(value))
		}
		whole = int64(n)
	}
	if strings.Contains("oxXu", verb) {
		return uint64(whole), nil
	}
	return whole, nil
}

// decimal returns the value of a decimal number, as a person writes it: 007 is 7.
func decimal(text string) (v classad.Value, ok bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return classad.Int(n), true
	}
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return v, false
	}
	x, err := strconv.ParseFloat(text, 64)
	return classad.Real(x), err == nil
}

// stringOf returns what $STRING writes: the text that an expression is worth, and of
// any other the expression as it stands.
func stringOf(value string) (string, error) {
	v, ok, err := outcome(value)
	if err != nil {
		return "", err
	}
	if s, is := v.Text(); ok && is {
		return s, nil
	}
	return value, nil
}

// evaluated returns what $EVAL writes.
func evaluated(value string) (string, error) {
	v, ok, err := outcome(value)
	switch s, is := v.Text(); {
	case err != nil:
		return "", err
	case !ok:
		return value, nil
	case v.Kind() == classad.KindError:
		return "", fmt.Errorf("%s: its value is error", shorten(value))
	case is:
		return s, nil
	}
	return v.String(), nil
}

// outcome returns what an expression is worth; ok is false of what is none. The error
// is of one whose worth is another one each time.
func outcome(value string) (v classad.Value, ok bool, err error) {
	e, _, err := Expression(value)
	if err != nil {
		return v, false, nil
	}
	if varies(e) {
		return v, false, fmt.Errorf("%s: depends on the time or on chance", shorten(value))
	}
	return worth(e), true, nil
}

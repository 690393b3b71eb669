package macro

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"fairspool/lib/classad"
)

// Substring is $SUBSTR: the bytes of text from start on, the first being 0, and no more
// than length of them if bounded. A negative start counts from the end of the text; a
// negative length leaves that many bytes off its end. The part outside the text is left
// out.
func Substring(text string, start, length int, bounded bool) string {
	if start < 0 {
		start = max(len(text)+start, 0)
	}
	text = text[min(start, len(text)):]
	if !bounded {
		return text
	}
	if length < 0 {
		length = max(len(text)+length, 0)
	}
	return text[:min(length, len(text))]
}

// Choice is $CHOICE: the item with the index, the first being 0. The error says how far
// the index may go.
func Choice(index int, items []string) (string, error) {
	switch {
	case len(items) == 0:
		return "", fmt.Errorf("index %d: the list is empty", index)
	case index < 0 || index >= len(items):
		return "", fmt.Errorf("index %d: want 0 to %d", index, len(items)-1)
	}
	return items[index], nil
}

// RandomInteger is $RANDOM_INTEGER: one of min, min+step, min+2*step and so on up to
// max, which counts. pick(n) chooses a number from 0 to n-1, each as likely as any other;
// n is at least 1. Errors: step below 1, min above max, or more numbers than fit in 63
// bits.
func RandomInteger(pick func(n int64) int64, min, max, step int64) (int64, error) {
	switch {
	case step < 1:
		return 0, fmt.Errorf("step %d: want 1 or more", step)
	case min > max:
		return 0, fmt.Errorf("%d to %d: want the smaller number first", min, max)
	}
	steps := (uint64(max) - uint64(min)) / uint64(step)
	n := int64(steps) + 1
	if n < 1 {
		return 0, fmt.Errorf("%d to %d: too many numbers to choose from", min, max)
	}
	return min + pick(n)*step, nil
}

// CutDefault takes "NAME:default" apart. A colon within parentheses, as of a reference in
// the name, is not the one. ok reports whether there is a default.
func CutDefault(body string) (name, fallback string, ok bool) {
	return cutOutside(body, ':')
}

// CutFormat takes the body of $INT, $REAL or $STRING apart: the item, without blanks
// around it, and the format behind the first comma outside parentheses, blanks and all.
// ok reports whether there is such a comma.
func CutFormat(body string) (item, format string, ok bool) {
	item, format, ok = cutOutside(body, ',')
	return strings.TrimSpace(item), format, ok
}

// Arguments splits the body of a function at the commas outside parentheses. Blanks
// around the arguments do not count; an empty body is one empty argument.
func Arguments(body string) []string {
	var args []string
	for more := true; more; {
		var arg string
		arg, body, more = cutOutside(body, ',')
		args = append(args, strings.TrimSpace(arg))
	}
	return args
}

// cutOutside cuts text at the first separator outside parentheses.
func cutOutside(text string, separator byte) (before, after string, found bool) {
	depth := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth = max(depth-1, 0)
		case c == separator && depth == 0:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// Items takes the list apart that $CHOICE and $RANDOM_CHOICE find in a macro: at its
// commas, so that items may have blanks in them and be empty, or at blanks if it has no
// comma. An empty list has no items.
func Items(text string) []string {
	if !strings.Contains(text, ",") {
		return strings.Fields(text)
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
	}
	return items
}

// List splits a list at commas and blanks. There are no empty items.
func List(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}

// Filename is $F with letters behind it: parts of a file name. Quotes around the name
// are taken off first.
//
//	f  a relative name is put behind dir, unless that is empty
//	p  the directory with the slash behind it
//	d  the last part of the directory with the slash behind it, dd the last two, ...
//	n  the name without directory and extension
//	x  the extension with its dot
//	b  without the slash when the result is a directory, without the dot when it is an extension
//	u  slashes for backslashes
//	w  backslashes for slashes
//	q  double quotes around the result, with a single quotes
//
// Without p, d, n and x the result is the whole name. The order of the letters does not
// count nor does their case, d counts before p, and x brings the name along with a
// directory, as HTCondor has it.
func Filename(letters, name, dir string) string {
	letters = strings.ToLower(letters)
	has := func(letter string) bool { return strings.Contains(letters, letter) }
	name = unquoted(name)
	if has("u") {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	if has("f") {
		name = absolute(name, dir)
	}
	text := name
	if strings.ContainsAny(letters, "pdnx") {
		text = nameParts(letters, name)
	}
	if has("w") {
		text = strings.ReplaceAll(text, "/", `\`)
	}
	switch {
	case has("q") && has("a"):
		return "'" + text + "'"
	case has("q"):
		return `"` + text + `"`
	}
	return text
}

// Dirname is $DIRNAME: the directory with the slash behind it, empty for a bare name.
func Dirname(name string) string { return Filename("p", name, "") }

// Basename is $BASENAME: the name without its directory, and without the suffix if it
// ends with it.
func Basename(name, suffix string) string {
	return strings.TrimSuffix(Filename("nx", name, ""), suffix)
}

func nameParts(letters, name string) string {
	dir, base, extension := splitName(name)
	if n := strings.Count(letters, "d"); n > 0 {
		dir = lastParts(dir, n)
	} else if !strings.Contains(letters, "p") {
		dir = ""
	}
	n, x := strings.Contains(letters, "n"), strings.Contains(letters, "x")
	switch b := strings.Contains(letters, "b"); {
	case n && x, x && dir != "":
		return dir + base + extension
	case n:
		return dir + base
	case x && b:
		return strings.TrimPrefix(extension, ".")
	case x:
		return extension
	case b:
		return strings.TrimSuffix(dir, "/")
	}
	return dir
}

// splitName takes a name apart into directory, name and extension. A dot at the
// beginning of the name begins no extension.
func splitName(name string) (dir, base, extension string) {
	slash := strings.LastIndexByte(name, '/') + 1
	dir, base = name[:slash], name[slash:]
	if dot := strings.LastIndexByte(base, '.'); dot > 0 {
		base, extension = base[:dot], base[dot:]
	}
	return dir, base, extension
}

// lastParts returns the last n parts of a directory that ends with a slash.
func lastParts(dir string, n int) string {
	start := len(dir)
	for ; n > 0 && start > 0; n-- {
		start = strings.LastIndexByte(dir[:start-1], '/') + 1
	}
	return dir[start:]
}

func absolute(name, dir string) string {
	if dir == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(name, "./")
}

// unquoted returns the text without the quotes that stand at both its ends.
func unquoted(text string) string {
	if n := len(text); n > 1 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		return text[1 : n-1]
	}
	return text
}

// defaultFormats are what HTCondor's manual has for a reference without a format.
var defaultFormats = map[string]string{"INT": "%d", "REAL": "%.16G", "STRING": "%s", "EVAL": "%s"}

// formatShape is one verb of C's printf with text around it: the text, flags, width and
// precision, verb, text. Lengths such as l are passed over.
var formatShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?:[^%]|%%)*)%([-+ #0]*)(\d{0,3})(\.\d{0,2})?(?:hh?|ll?|[Lqjzt])?([a-zA-Z])((?:[^%]|%%)*)$`)
})

// verbs are the verbs for each function.
var verbs = map[string]string{"INT": "dioxXu", "REAL": "eEfFgG", "STRING": "s", "EVAL": "s"}

// Format is $INT, $REAL, $STRING and $EVAL: the value of value, written by a format of C's printf, or by
// the manual's if it is empty.
//
// $INT and $REAL want a constant expression with a number or a boolean as value, or a decimal number,
// which may begin with zeros. $INT cuts the fraction; the output of $REAL without a format has one: .0 is
// added. $STRING takes an expression with a string as value, and any other text as it stands. $EVAL writes
// a string without quotes, and any other value as ClassAds do; it takes text that is no expression as it
// stands. Errors are one line: a value of another kind, one that depends on the time or on chance, a
// format that is not one verb of the kind.
func Format(function, value, format string) (string, error) {
	given := format != ""
	if !given {
		format = defaultFormats[function]
	}
	m := formatShape().FindStringSubmatch(format)
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

// argument returns the value that the verb writes.
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

// outcome returns the value of an expression; ok is false for other text. The error is
// that the value differs each time.
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

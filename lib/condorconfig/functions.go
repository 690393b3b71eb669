package condorconfig

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"fairspool/lib/classad"
)

// isFunction tells whether $name() is a macro function. Case counts.
func isFunction(name string) bool {
	switch name {
	case "INT", "REAL", "STRING", "EVAL", "CHOICE", "SUBSTR", "DIRNAME", "BASENAME", "ENV", "RANDOM_CHOICE", "RANDOM_INTEGER":
		return true
	}
	return isFilename(name)
}

func isFilename(name string) bool {
	return strings.HasPrefix(name, "F") && strings.Trim(name[1:], "fpduwnxbqa") == ""
}

// call returns what a macro function is worth. What cannot be told stays as it is
// written, with what could be put in: values that depend on chance or on the
// environment of a daemon, and expressions that are not constant.
func (e *expander) call(r reference) (string, error) {
	body, err := e.text(r.body)
	if err != nil {
		return "", err
	}
	args := strings.Split(body, ",")
	for i := range args {
		args[i] = strings.TrimSpace(args[i])
	}
	text, ok := "", false
	switch r.function {
	case "INT", "REAL", "STRING", "EVAL":
		text, ok, err = e.formatted(r.function, body)
	case "CHOICE":
		text, ok, err = e.choice(args)
	case "SUBSTR":
		text, ok, err = e.substring(args)
	case "ENV", "RANDOM_CHOICE", "RANDOM_INTEGER":
	case "DIRNAME":
		text, ok, err = e.filename("p", args[0])
	case "BASENAME":
		text, ok, err = e.filename("nx", args[0])
		if len(args) > 1 {
			text = strings.TrimSuffix(text, args[1])
		}
	default:
		text, ok, err = e.filename(r.function[1:], strings.TrimSpace(body))
	}
	if ok || err != nil {
		return text, err
	}
	whole := "$" + r.function + "(" + body + ")"
	noteName(&e.found.Unknown, whole)
	return whole, nil
}

// item returns the value of the macro that an argument names, or the argument itself.
func (e *expander) item(arg string) (string, error) {
	arg = strings.TrimSpace(arg)
	if isName(arg) {
		if m, ok := e.Lookup(arg); ok {
			return e.macro(m)
		}
	}
	return arg, nil
}

// plainFormat is one verb of C's printf with text around it.
var plainFormat = regexp.MustCompile(`^([^%]*)%([-+ 0]*\d{0,3}(?:\.\d{1,2})?)l{0,2}([dioxXeEfFgGsv])([^%]*)$`)

// formatted is $INT, $REAL, $STRING and $EVAL: the value of a constant expression,
// and how to write it behind a comma.
func (e *expander) formatted(function, body string) (text string, ok bool, err error) {
	arg, format, _ := strings.Cut(body, ",")
	text, err = e.item(arg)
	if err != nil {
		return "", false, err
	}
	v, ok := Constant(text)
	if !ok {
		return "", false, nil
	}
	if format == "" || function == "EVAL" {
		format = map[string]string{"INT": "%d", "REAL": "%.6G", "STRING": "%s", "EVAL": "%s"}[function]
	}
	m := plainFormat.FindStringSubmatch(format)
	if m == nil {
		return "", false, nil
	}
	value, verb, ok := inC(v, m[3][0])
	if !ok {
		return "", false, nil
	}
	return m[1] + fmt.Sprintf("%"+m[2]+string(verb), value) + m[4], true, nil
}

// inC returns the value as what a verb of printf takes, and Go's verb for it.
func inC(v classad.Value, verb byte) (value any, to byte, ok bool) {
	n, number := v.Number()
	switch {
	case strings.IndexByte("dioxX", verb) >= 0:
		if verb == 'i' {
			verb = 'd'
		}
		return int64(n), verb, number && n > -1e15 && n < 1e15
	case strings.IndexByte("eEfFgG", verb) >= 0:
		return n, verb, number
	}
	if s, is := v.Text(); is {
		return s, 's', true
	}
	return v.String(), 's', true
}

// choice is $CHOICE(index, list) or $CHOICE(index, item, ...).
func (e *expander) choice(args []string) (text string, ok bool, err error) {
	index, items, err := e.numbers(args[0])
	if err != nil || !items || len(args) < 2 {
		return "", false, err
	}
	list := args[1:]
	if len(list) == 1 {
		text, err = e.item(list[0])
		if err != nil {
			return "", false, err
		}
		list = List(text)
	}
	if index < 0 || index >= len(list) {
		return "", false, nil
	}
	return list[index], true, nil
}

// substring is $SUBSTR(name, start) or $SUBSTR(name, start, length).
func (e *expander) substring(args []string) (text string, ok bool, err error) {
	if len(args) < 2 || len(args) > 3 {
		return "", false, nil
	}
	if text, err = e.item(args[0]); err != nil {
		return "", false, err
	}
	start, ok, err := e.numbers(args[1])
	if !ok || err != nil {
		return "", false, err
	}
	if start < 0 {
		start = max(len(text)+start, 0)
	}
	text = text[min(start, len(text)):]
	if len(args) == 2 {
		return text, true, nil
	}
	length, ok, err := e.numbers(args[2])
	if length < 0 {
		length = max(len(text)+length, 0)
	}
	return text[:min(length, len(text))], ok, err
}

// numbers returns what an argument is worth that is a whole number.
func (e *expander) numbers(arg string) (n int, ok bool, err error) {
	text, err := e.item(arg)
	if err != nil {
		return 0, false, err
	}
	if n, err := strconv.Atoi(text); err == nil {
		return min(max(n, -maxText), maxText), true, nil
	}
	v, _ := Constant(text)
	i, ok := v.Int()
	return int(min(max(i, -maxText), maxText)), ok, nil
}

// filename is $F with its letters: p, d, n and x choose the directory, its last part,
// the name and the extension; b leaves out what stands beside these, q and a put
// quotes around.
func (e *expander) filename(letters, arg string) (text string, ok bool, err error) {
	if strings.Contains(letters, "f") {
		return "", false, nil // relative to a directory that is the daemon's
	}
	name, err := e.item(arg)
	if err != nil {
		return "", false, err
	}
	name = strings.Trim(name, `"`)
	has := func(letter string) bool { return strings.Contains(letters, letter) }
	if has("u") {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	if text = name; strings.ContainsAny(letters, "pdnx") {
		text = parts(name, has)
	}
	if has("w") {
		text = strings.ReplaceAll(text, "/", `\`)
	}
	switch {
	case has("q") && has("a"):
		text = "'" + text + "'"
	case has("q"):
		text = `"` + text + `"`
	}
	return text, true, nil
}

func parts(name string, has func(string) bool) string {
	dir, base := path.Split(name)
	extension := path.Ext(base)
	base = strings.TrimSuffix(base, extension)
	text := ""
	switch {
	case has("p"):
		text = dir
	case has("d") && dir != "":
		text = path.Base(dir) + "/"
	}
	if has("b") && !has("n") {
		text, extension = strings.TrimSuffix(text, "/"), strings.TrimPrefix(extension, ".")
	}
	if has("n") {
		text += base
	}
	if has("x") {
		text += extension
	}
	return text
}

// List takes a list apart, whose items are parted by commas or blanks.
func List(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' })
}

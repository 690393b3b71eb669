package condorconfig

import (
	"strconv"
	"strings"

	"fairspool/lib/macro"
)

// call returns what a macro function is worth. What cannot be told stays as it is
// written, with what could be put in: values that depend on chance or on the
// environment of a daemon, and expressions that are not constant.
func (e *expander) call(p macro.Part) (string, error) {
	body, err := e.text(p.Body)
	if err != nil {
		return "", err
	}
	args := macro.Arguments(body)
	text, ok := "", false
	switch p.Function {
	case "INT", "REAL", "STRING", "EVAL":
		text, ok, err = e.formatted(p.Function, body)
	case "CHOICE":
		text, ok, err = e.choice(args)
	case "SUBSTR":
		text, ok, err = e.substring(args)
	case "ENV", "RANDOM_CHOICE", "RANDOM_INTEGER":
	case "DIRNAME":
		text, err = e.item(args[0])
		text, ok = macro.Dirname(text), true
	case "BASENAME":
		text, err = e.item(args[0])
		text, ok = macro.Basename(text, strings.Join(args[1:], ",")), true
	default:
		text, ok, err = e.filename(p.Function[1:], body)
	}
	if ok || err != nil {
		return text, err
	}
	whole := "$" + p.Function + "(" + body + ")"
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

// formatted is $INT, $REAL, $STRING and $EVAL of a constant expression.
func (e *expander) formatted(function, body string) (text string, ok bool, err error) {
	item, format := strings.TrimSpace(body), ""
	if function != "EVAL" {
		item, format, _ = macro.CutFormat(body)
	}
	value, err := e.item(item)
	if err != nil {
		return "", false, err
	}
	if _, ok := Constant(value); !ok {
		return "", false, nil
	}
	text, wrong := macro.Format(function, value, format)
	if function == "REAL" && format == "" {
		text = strings.TrimSpace(text) // a value begins with no blanks
	}
	return text, wrong == nil, nil
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
		list = macro.Items(text)
	}
	text, wrong := macro.Choice(index, list)
	return text, wrong == nil, nil
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
	if len(args) == 2 {
		return macro.Substring(text, start, 0, false), true, nil
	}
	length, ok, err := e.numbers(args[2])
	return macro.Substring(text, start, length, true), ok, err
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

// filename is $F with its letters.
func (e *expander) filename(letters, arg string) (text string, ok bool, err error) {
	if strings.Contains(letters, "f") {
		return "", false, nil // relative to a directory that is the daemon's
	}
	name, err := e.item(arg)
	return macro.Filename(letters, name, ""), true, err
}

// List takes a list apart, whose items are parted by commas or blanks.
func List(text string) []string { return macro.List(text) }

package condorconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/macro"
)

// Bounds on the work for values: macros that refer to macros twice each grow without
// end otherwise.
const (
	maxText       = 1 << 20  // bytes of a value
	maxExpansions = 10_000   // references in a value
	maxDepth      = 100      // of macros in macros
	maxWork       = 64 << 20 // bytes expanded for all values together
)

// Expansion is the expanded value of a macro.
type Expansion struct {
	Text string
	// Used are the macros that were inserted, directly or through others; Assumed those
	// that only Options.Default knows. Missing are the undefined ones, which were
	// replaced by nothing.
	Used, Assumed, Missing []string
	// Unknown are references that stay in Text as written, since their values depend on
	// HTCondor's host, on a daemon or on chance.
	Unknown []string
}

// builtins are macros that a daemon works out by itself.
var builtins = strings.Fields(`full_hostname hostname ip_address ipv4_address ipv6_address ip_address_is_v6 tilde
	detected_cpus detected_physical_cpus detected_cpus_limit detected_cores detected_memory arch opsys opsys_ver opsysver
	opsys_and_ver opsysandver opsys_name opsys_long_name opsys_short_name opsys_major_ver opsysmajorver uname_arch uname_opsys
	pid ppid real_uid real_gid username filesystem_domain uid_domain condor_host collector_host localname
	config_root release_dir local_dir spool log execute lock run bin sbin lib lib32 libexec etc include share history`)

func isBuiltin(name string) bool { return slices.Contains(builtins, strings.ToLower(name)) }

// Expand returns the value of the macro, with all macros replaced. The error is one line,
// `file:line: NAME: why`: macros that refer to each other in a circle, or more text than
// the bounds allow.
func (c *Config) Expand(m Macro) (Expansion, error) {
	e := expander{Config: c, at: m.Place, of: m.Name}
	return e.definition(m)
}

// Shown is Expand for people: references to undefined macros stay as they are written.
func (c *Config) Shown(m Macro) (Expansion, error) {
	e := expander{Config: c, at: m.Place, of: m.Name, keep: true}
	return e.definition(m)
}

// expand expands a text that stands at a place, in the definition of no macro.
func (c *Config) expand(text string, at Place) (Expansion, error) {
	e := expander{Config: c, at: at}
	var err error
	e.found.Text, err = e.text(text)
	return e.found, err
}

// expander expands one value.
type expander struct {
	*Config
	at   Place
	of   string
	keep bool // references to missing macros stay

	found Expansion
	open  []string // macros being expanded, as written
	spent int
	depth int
}

// definition expands the value of m.
func (e *expander) definition(m Macro) (Expansion, error) {
	var err error
	e.found.Text, err = e.inside(m)
	return e.found, err
}

// inside expands the value of m with m as one of those that are open.
func (e *expander) inside(m Macro) (string, error) {
	if m.assumed {
		noteName(&e.found.Assumed, e.Plain(m.Name))
	}
	if m.missing {
		noteName(&e.found.Missing, m.Name)
	}
	e.open = append(e.open, m.Name)
	text, err := e.text(m.Text)
	e.open = e.open[:len(e.open)-1]
	return text, err
}

func (e *expander) fault(format string, args ...any) error {
	of := ""
	if e.of != "" {
		of = shorten(e.of) + ": "
	}
	return fmt.Errorf("%s: %s%s", e.at, of, clean.Blanked(fmt.Sprintf(format, args...)))
}

func (e *expander) text(text string) (string, error) {
	if e.work += len(text); e.work > maxWork {
		return "", e.fault("more than %d bytes of macros in all values", maxWork)
	}
	if strings.IndexByte(text, '$') < 0 {
		return text, nil
	}
	if e.depth++; e.depth > maxDepth {
		return "", e.fault("macros nested more than %d deep", maxDepth)
	}
	defer func() { e.depth-- }()
	var b strings.Builder
	for _, p := range macro.Split(text) {
		value, err := e.part(p)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		if b.Len() > maxText {
			return "", e.fault("a value longer than %d bytes", maxText)
		}
	}
	return b.String(), nil
}

// part returns the value of a part of a value. $$(...) is not for configurations: only
// macros inside it are replaced.
func (e *expander) part(p macro.Part) (string, error) {
	if !p.Ref {
		return p.Text, nil
	}
	if e.spent++; e.spent > maxExpansions {
		return "", e.fault("more than %d macros in one value", maxExpansions)
	}
	switch p.Function {
	case "":
		return e.reference(p)
	case "$":
		body, err := e.text(p.Body)
		return "$$(" + body + ")", err
	}
	return e.call(p)
}

// reference returns what $(NAME) or $(NAME:default) is worth.
func (e *expander) reference(p macro.Part) (string, error) {
	name, fallback, hasFallback := macro.CutDefault(p.Body)
	name, err := e.text(name)
	if err != nil {
		return "", err
	}
	if !macro.IsName(name) {
		return p.Text, nil
	}
	if strings.EqualFold(name, "DOLLAR") {
		return "$", nil
	}
	if m, ok := e.Lookup(name); ok && (m.Text != "" || !hasFallback) {
		return e.macro(m)
	}
	if hasFallback {
		return e.text(fallback)
	}
	return e.undefined(name, p.Text)
}

// macro returns the value of a defined macro.
func (e *expander) macro(m Macro) (string, error) {
	for i, name := range e.open {
		if strings.EqualFold(name, m.Name) {
			circle := append(slices.Clone(e.open[i:]), m.Name)
			return "", e.fault("macros that refer to each other in a circle: %s; take one of the references out", shorten(strings.Join(circle, " -> ")))
		}
	}
	noteName(&e.found.Used, m.Name)
	return e.inside(m)
}

// undefined returns the value of a macro that the files do not define.
func (e *expander) undefined(name, whole string) (string, error) {
	if strings.EqualFold(name, "SUBSYSTEM") && e.options.Subsystem != "" {
		return e.options.Subsystem, nil
	}
	if isBuiltin(name) {
		noteName(&e.found.Unknown, whole)
		return whole, nil
	}
	if e.options.Default != nil {
		if text, ok := e.options.Default(name); ok {
			noteName(&e.found.Assumed, name)
			return e.macro(Macro{Name: name, Text: text})
		}
	}
	noteName(&e.found.Missing, name)
	if e.keep {
		return whole, nil
	}
	return "", nil
}

// noteName adds a name to a list that does not have it.
func noteName(list *[]string, name string) {
	if !caseless.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// call returns the value of a macro function. A call with an unknown value stays as
// written, with macros replaced as far as possible: it depends on chance or on the
// environment of a daemon, or its expression is not constant.
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

// List splits a list at commas and blanks.
func List(text string) []string { return macro.List(text) }

// Constant returns the value of an expression that refers to no attribute, and depends
// neither on the time nor on chance. ok is false for any other, and for an undefined or
// error value.
func Constant(text string) (v classad.Value, ok bool) { return macro.Constant(text) }

// Expression parses an expression as configurations write it. In a string, a backslash
// stands for itself, except before a quote; asNew is the same text for readers to whom it
// begins an escape, on one line.
func Expression(text string) (e *classad.Expr, asNew string, err error) {
	return macro.Expression(text)
}

// Truth returns the meaning of a text as a boolean: one of the words of HTCondor, in any
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

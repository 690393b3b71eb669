// Package condorconfig reads configurations of HTCondor.
//
// Read takes the text of configuration files, in their order, and returns a Config: the
// macros in force with the places where they were set, and the statements that could not
// be carried out. Config.Expand returns the value of a macro with all its references
// replaced; Truth, Constant, List and Expression interpret such a text as a value of a
// kind.
//
//	files := []condorconfig.Source{{Name: "condor_config", Text: text}}
//	c, err := condorconfig.Read(files, condorconfig.Options{Subsystem: "NEGOTIATOR"})
//	m, ok := c.Lookup("PRIORITY_HALFLIFE")
//	x, err := c.Expand(m) // x.Text is "86400"
//
// The language is that of HTCondor's manual, section on configuration: assignments with
// continued lines and values of several lines, $(X) and $(X:default), macro functions, if
// and include. A macro's reference to itself is replaced when it is defined, all others
// when the value is requested. Commands are never run, and templates of `use` are
// unknown: both become a Note for the caller. fairspool/lib/macro has the common part of
// this language and that of submit description files.
//
// The package knows only the names of HTCondor that its language knows: those that a
// daemon computes on its host, such as FULL_HOSTNAME. It does not know the meanings of
// macros. It reads no file, no clock and no environment: included files come from the
// caller's function. Whatever the text is, work and memory are bounded.
package condorconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"

	"fairspool/lib/clean"
	"fairspool/lib/macro"
)

// Source is the text of one file. Name is what messages call it, and what relative
// includes are relative to.
type Source struct{ Name, Text string }

// Options is the input of Read besides the text.
type Options struct {
	// Open returns the text of an included file; its error wraps fs.ErrNotExist if the
	// file is missing. nil: no file can be included.
	Open func(path string) (string, error)
	// Subsystem is the daemon of the configuration: SUBSYSTEM.X precedes X.
	Subsystem string
	// Default returns the value of a macro that the text does not define; nil knows none.
	// The value may refer to other macros.
	Default func(name string) (text string, ok bool)
}

// Place is a line of a file.
type Place struct {
	File string
	Line int
}

// String returns "file:line" on one line.
func (p Place) String() string { return fmt.Sprintf("%s:%d", clean.Blanked(p.File), p.Line) }

// Macro is a macro as it was set last.
type Macro struct {
	Name string // as written
	Text string // the value, with only references to itself replaced
	Place

	// What stands for references to itself before any definition: Options.Default's
	// text, or nothing.
	assumed, missing bool
}

// Note is something that was read and not carried out, or is not right.
type Note struct {
	Place
	Text string // one line
	// Warning says that something is amiss. Otherwise it is a statement that a
	// converter cannot carry out.
	Warning bool
}

// Config is what files set.
type Config struct {
	Notes []Note // in the order of the files

	options Options
	macros  []Macro        // in the order of their last definitions, with gaps
	index   map[string]int // of macros, by the name in lower case
	work    int            // bytes expanded so far
}

// Macros returns the macros in the order of their last definitions.
func (c *Config) Macros() []Macro {
	var list []Macro
	for _, m := range c.macros {
		if m.Name != "" {
			list = append(list, m)
		}
	}
	return list
}

// Lookup returns the macro that counts for the name, which is SUBSYSTEM.name before
// name. Case does not count.
func (c *Config) Lookup(name string) (Macro, bool) {
	if c.options.Subsystem != "" {
		if m, ok := c.exactly(c.options.Subsystem + "." + name); ok {
			return m, true
		}
	}
	return c.exactly(name)
}

// Plain returns a macro's name without the prefix of the subsystem.
func (c *Config) Plain(name string) string {
	prefix := c.options.Subsystem + "."
	if len(prefix) > 1 && len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
		return name[len(prefix):]
	}
	return name
}

func (c *Config) exactly(name string) (Macro, bool) {
	if i, ok := c.index[strings.ToLower(name)]; ok {
		return c.macros[i], true
	}
	return Macro{}, false
}

// set makes m the definition of its name.
func (c *Config) set(m Macro) {
	key := strings.ToLower(m.Name)
	if i, ok := c.index[key]; ok {
		c.macros[i] = Macro{}
	}
	c.index[key] = len(c.macros)
	c.macros = append(c.macros, m)
}

func (c *Config) note(at Place, format string, args ...any) {
	c.Notes = append(c.Notes, Note{Place: at, Text: clean.Blanked(fmt.Sprintf(format, args...))})
}

func (c *Config) warn(at Place, format string, args ...any) {
	c.Notes = append(c.Notes, Note{Place: at, Text: clean.Blanked(fmt.Sprintf(format, args...)), Warning: true})
}

// putInItself replaces the macro's references to itself by its earlier value as it
// stands, with the references to others. For SUBSYSTEM.X, $(X) is such a reference, too.
func (c *Config) putInItself(m *Macro) error {
	assumed, missing := false, false
	text, ok := macro.Replace(m.Text, maxText, func(p macro.Part) (string, bool) {
		old, itself := c.before(*m, p)
		assumed, missing = assumed || old.assumed, missing || old.missing
		return old.Text, itself
	})
	if !ok {
		e := expander{at: m.Place, of: m.Name}
		return e.fault("a value longer than %d bytes", maxText)
	}
	m.Text, m.assumed, m.missing = text, assumed, missing
	return nil
}

// before returns what m was before a reference in its definition, if that is one to
// itself.
func (c *Config) before(m Macro, p macro.Part) (old Macro, itself bool) {
	if p.Function != "" {
		return old, false
	}
	name, fallback, hasFallback, itself := refersTo(p.Body, m.Name)
	before, ok := c.exactly(name)
	if !itself {
		name, fallback, hasFallback, itself = refersTo(p.Body, c.Plain(m.Name))
		before, ok = c.Lookup(name)
	}
	switch {
	case !itself:
		return old, false
	case ok && (before.Text != "" || !hasFallback):
		return before, true
	case hasFallback:
		return Macro{Text: fallback}, true
	case c.options.Default != nil:
		if text, ok := c.options.Default(c.Plain(name)); ok {
			return Macro{Text: text, assumed: true}, true
		}
	}
	return Macro{missing: true}, true
}

// refersTo takes the body of a reference apart if it is one to the macro. It looks no
// further into the body than it must: references may be nested deeply.
func refersTo(body, macroName string) (name, fallback string, hasFallback, ok bool) {
	if len(body) < len(macroName) || !strings.EqualFold(body[:len(macroName)], macroName) {
		return "", "", false, false
	}
	name, rest := body[:len(macroName)], body[len(macroName):]
	fallback, hasFallback = strings.CutPrefix(rest, ":")
	return name, fallback, hasFallback, hasFallback || rest == ""
}

// Bounds on includes: files may include each other.
const (
	maxIncludeDepth = 20
	maxIncludes     = 1000
)

// reader reads files into a Config.
type reader struct {
	*Config
	depth, included int
}

// Read reads the sources as one configuration. The error is one line,
// `file:line: what`: for an included file that cannot be read, an `error :`
// statement that is reached, macros that refer to each other in a circle where a
// value is needed while reading, or a text beyond the bounds. Whatever else is not
// right is a Note.
func Read(sources []Source, o Options) (*Config, error) {
	r := &reader{Config: &Config{options: o, index: map[string]int{}}}
	for _, s := range sources {
		if err := r.file(s); err != nil {
			return nil, err
		}
	}
	return r.Config, nil
}

func (r *reader) file(s Source) error {
	l := macro.NewLines(s.Text)
	if l.Marked() {
		r.warn(Place{s.Name, 1}, "begins with a byte order mark, which HTCondor takes for a part of the first name: left out")
	}
	var open macro.Branches
	for {
		text, pieces, ok := l.Next()
		if !ok {
			break
		}
		at := Place{s.Name, pieces[0].Line}
		if word, rest, is := keyword(text, "if", "elif", "else", "endif"); is {
			if err := r.branch(&open, word, rest, at); err != nil {
				return err
			}
			continue
		}
		if err := r.statement(l, text, at, open.Taken()); err != nil {
			return err
		}
	}
	if line, is := open.Open(); is {
		r.warn(Place{s.Name, line}, "if without endif")
	}
	return nil
}

// statement carries out one that is not about conditions, if it is taken.
func (r *reader) statement(l *macro.Lines, text string, at Place, taken bool) error {
	if name, tag, ok := manyLines(text); ok {
		value, _, closed := l.Until(tag)
		if !closed {
			r.warn(at, "%s: no line @%s ends the value", shorten(name), shorten(tag))
		}
		if taken {
			return r.define(name, value, at)
		}
		return nil
	}
	if !taken {
		return nil
	}
	if word, rest, ok := keyword(text, "include", "use", "warning", "error"); ok {
		if what, value, ok := strings.Cut(rest, ":"); ok && !strings.Contains(what, "=") {
			return r.special(word, strings.TrimSpace(what), strings.TrimSpace(value), at)
		}
	}
	name, value, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); ok && isName(name) {
		return r.define(name, strings.TrimSpace(value), at)
	}
	r.warn(at, "%s: left out%s", shorten(text), meant(name, ok))
	return nil
}

// keyword returns the word that the text begins with, without regard to case and with or
// without the @ that older versions refuse. An assignment to a macro of that name is no
// keyword.
func keyword(text string, words ...string) (word, rest string, ok bool) {
	text = strings.TrimPrefix(text, "@")
	first, behind := firstWord(text)
	rest = strings.TrimSpace(behind)
	if strings.HasPrefix(rest, "=") || behind != "" && strings.ContainsRune("_.0123456789@", rune(behind[0])) {
		return "", "", false
	}
	for _, w := range words {
		if strings.EqualFold(first, w) {
			return w, rest, true
		}
	}
	return "", "", false
}

// firstWord returns the letters that the text begins with, and the rest.
func firstWord(text string) (word, rest string) {
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		return text, ""
	}
	return text[:end], text[end:]
}

// manyLines recognises NAME @=TAG.
func manyLines(text string) (name, tag string, ok bool) {
	name, tag, ok = strings.Cut(text, "@=")
	name, tag = strings.TrimSpace(name), strings.TrimSpace(tag)
	return name, tag, ok && isName(name) && isName(tag)
}

// isName reports whether a text can be the name that a statement defines, which may contain
// references.
func isName(s string) bool {
	if s == "" || strings.HasPrefix(s, "#") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("\"'`\\&|<>!?*;,[]{}@+", r) })
}

// meant returns the probable intention of a line that is no statement. name is the text
// before an equals sign, if there is one.
func meant(name string, assigned bool) string {
	plain, more := strings.CutSuffix(name, "+")
	plain = strings.TrimSpace(plain)
	switch {
	case assigned && more && isName(plain):
		return fmt.Sprintf("; there is no +=: want %s = $(%s) ...", shorten(plain), shorten(plain))
	case assigned:
		return "; want a name without blanks before ="
	}
	if before, _, ok := strings.Cut(name, ":"); ok && isName(strings.TrimSpace(before)) {
		return fmt.Sprintf("; want %s = value", shorten(strings.TrimSpace(before)))
	}
	if word, rest, ok := strings.Cut(name, " "); ok && isName(word) && rest != "" {
		return fmt.Sprintf("; want %s = value", shorten(word))
	}
	return "; want NAME = value"
}

// define sets the macro. References to itself are put in now.
func (r *reader) define(name, value string, at Place) error {
	if strings.Contains(name, "$(") {
		x, err := r.expand(name, at)
		if err != nil {
			return err
		}
		if !isName(x.Text) || len(x.Unknown) > 0 {
			r.warn(at, "%s: left out: its name is unknown", shorten(name))
			return nil
		}
		name = x.Text
	}
	m := Macro{Name: name, Text: value, Place: at}
	if err := r.putInItself(&m); err != nil {
		return err
	}
	r.set(m)
	return nil
}

// special carries out the statements with a colon. what stands before it.
func (r *reader) special(word, what, value string, at Place) error {
	switch word {
	case "include":
		return r.include(strings.Fields(strings.ToLower(what)), value, at)
	case "use":
		r.note(at, "use %s : %s", shorten(what), shorten(value))
		return nil
	}
	x, err := r.expand(value, at)
	if err != nil {
		return err
	}
	if word == "error" {
		return fmt.Errorf("%s: the configuration says: error: %s", at, shorten(x.Text))
	}
	r.warn(at, "the configuration says: %s", shorten(x.Text))
	return nil
}

func (r *reader) include(how []string, value string, at Place) error {
	command := strings.HasSuffix(value, "|")
	ifExists := false
	for _, h := range how {
		command = command || h == "command"
		ifExists = ifExists || h == "ifexist"
	}
	x, err := r.expand(value, at)
	switch {
	case err != nil:
		return err
	case command:
		r.note(at, "include command : %s", shorten(value))
		return nil
	case len(x.Unknown) > 0 || x.Text == "":
		r.note(at, "include : %s", shorten(value))
		r.warn(at, "include : %s: which file this is cannot be determined; name the file on the command line", shorten(value))
		return nil
	case r.options.Open == nil:
		r.note(at, "include : %s", shorten(value))
		return nil
	}
	return r.open(strings.TrimSpace(x.Text), ifExists, at)
}

func (r *reader) open(path string, ifExists bool, at Place) error {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(at.File), path)
	}
	if r.included++; r.depth >= maxIncludeDepth || r.included > maxIncludes {
		return fmt.Errorf("%s: include : %s: more than %d files in each other, or %d in all", at, shorten(path), maxIncludeDepth, maxIncludes)
	}
	text, err := r.options.Open(path)
	if ifExists && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: include : %s: %w", at, shorten(path), err)
	}
	r.depth++
	defer func() { r.depth-- }()
	return r.file(Source{Name: path, Text: text})
}

// shorten returns the beginning of a text on one line, for messages.
func shorten(s string) string { return clean.Shortened(s, 80) }

// version is the release of HTCondor that `if version` is asked against: one that is
// newer than any file, as the files are to be read as their newest form.
var version = [3]int{99, 0, 0}

// branch carries out if, elif, else or endif. One that is misplaced is a warning.
func (r *reader) branch(open *macro.Branches, word, condition string, at Place) error {
	holds := func() (bool, error) { return r.holds(condition, at) }
	var err error
	switch word {
	case "if":
		err = open.If(at.Line, holds)
	case "elif":
		err = open.Elif(holds)
	case "else":
		err = open.Else()
	case "endif":
		err = open.Endif()
	}
	var misplaced macro.Misplaced
	if errors.As(err, &misplaced) {
		r.warn(at, "%s", misplaced)
		return nil
	}
	return err
}

// holds reports whether a condition is true. One that cannot be told is taken as
// false, with a warning. A literal may be any constant expression here.
func (r *reader) holds(condition string, at Place) (bool, error) {
	x, err := r.expand(condition, at)
	if err != nil {
		return false, err
	}
	c, wrong := macro.ParseCondition(x.Text)
	if wrong == nil {
		return c.Holds(r.defined, version), nil
	}
	switch c.Word {
	case "defined":
		return c.Not, nil // there is no macro of such a name
	case "version":
		r.warn(at, "if %s: taken as false; want version, then ==, >= or <=, then x.y.z", shorten(condition))
		return false, nil
	}
	yes, ok := Truth(c.Rest)
	if !ok {
		r.warn(at, "if %s: taken as false, because it cannot be determined", shorten(condition))
	}
	return ok && yes != c.Not, nil
}

// defined reports whether there is a macro of the name that is worth something.
func (r *reader) defined(name string) bool {
	m, ok := r.Lookup(name)
	return ok && m.Text != "" || !ok && isBuiltin(name)
}

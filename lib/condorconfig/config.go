package condorconfig

import (
	"fmt"
	"strings"

	"fairspool/lib/clean"
	"fairspool/lib/macro"
)

// Source is the text of one file. Name is what messages call it, and what relative
// includes are relative to.
type Source struct{ Name, Text string }

// Options is what Read needs beside the text.
type Options struct {
	// Open returns the text of an included file; its error wraps fs.ErrNotExist when
	// there is none. nil: no file can be included.
	Open func(path string) (string, error)
	// Subsystem is the daemon whose configuration it is: SUBSYSTEM.X counts before X.
	Subsystem string
	// Default returns what a macro is worth that the text does not define; nil knows
	// nothing. Its text may refer to other macros.
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
	Text string // the value, in which only references to itself are put in
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

// putInItself replaces the macro's references to itself by what it was worth before:
// the old value as it stands, with its references to others. For SUBSYSTEM.X, $(X) is
// such a reference, too.
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

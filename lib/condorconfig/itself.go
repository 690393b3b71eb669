package condorconfig

import (
	"strings"

	"fairspool/lib/macro"
)

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

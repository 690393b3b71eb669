package condorconfig

import "strings"

// putInItself replaces the macro's references to itself by what it was worth before:
// the old value as it stands, with its references to others. For SUBSYSTEM.X, $(X) is
// such a reference, too.
func (c *Config) putInItself(m *Macro) error {
	if !strings.Contains(m.Text, "$(") {
		return nil
	}
	var b strings.Builder
	closing := closings(m.Text)
	for i := 0; i < len(m.Text); {
		next := strings.IndexByte(m.Text[i:], '$')
		if next < 0 {
			b.WriteString(m.Text[i:])
			break
		}
		b.WriteString(m.Text[i : i+next])
		i += next
		r, ok := referenceAt(m.Text, i, closing)
		if old, itself := c.before(*m, r); ok && itself {
			b.WriteString(old.Text)
			m.assumed, m.missing = m.assumed || old.assumed, m.missing || old.missing
			i += len(r.whole)
		} else if r.whole == "$$" {
			b.WriteString(r.whole)
			i += len(r.whole)
		} else {
			b.WriteByte('$')
			i++
		}
		if b.Len() > maxText {
			e := expander{at: m.Place, of: m.Name}
			return e.fault("a value longer than %d bytes", maxText)
		}
	}
	m.Text = b.String()
	return nil
}

// before returns what m was before a reference in its definition, if that is one to
// itself.
func (c *Config) before(m Macro, r reference) (old Macro, itself bool) {
	name, fallback, hasFallback := cutDefault(r.body)
	if name = strings.TrimSpace(name); r.function != "" {
		return old, false
	}
	own := strings.EqualFold(name, m.Name)
	if !own && !strings.EqualFold(name, c.Plain(m.Name)) {
		return old, false
	}
	before, ok := c.exactly(name)
	if !own {
		before, ok = c.Lookup(name)
	}
	if ok && (before.Text != "" || !hasFallback) {
		return before, true
	}
	if hasFallback {
		return Macro{Text: fallback}, true
	}
	if c.options.Default != nil {
		if text, ok := c.options.Default(c.Plain(name)); ok {
			return Macro{Text: text, assumed: true}, true
		}
	}
	return Macro{missing: true}, true
}

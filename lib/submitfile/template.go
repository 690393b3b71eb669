package submitfile

import (
	"strings"

	"fairspool/lib/macro"
)

// template is a text taken apart at its references, for expansion as often as
// there are procs.
type template struct {
	parts []part // nil: the text has no references
}

// part is literal text or a reference. The name and the default of a reference are
// taken apart when they are needed, since text may be nested to any depth.
type part struct {
	macro.Part
	name        string // of $(name) and $ENV(name), as written
	key         string // name in lower case; empty when it has references in it
	hasDefault  bool   // of $(name:default)
	defaultText string
	doubt       string // of literal text: a warning of what was meant for a reference
}

// mostTemplates bounds the texts that are kept taken apart; items may make a
// text of their own for every job.
const mostTemplates = 10_000

// template returns text taken apart.
func (d *Description) template(text string) template {
	if strings.IndexByte(text, '$') < 0 {
		return template{}
	}
	if t, ok := d.texts[text]; ok {
		return t
	}
	t := d.takeApart(text)
	if len(d.texts) < mostTemplates {
		d.texts[text] = t
	}
	return t
}

func (d *Description) takeApart(text string) template {
	var t template
	for _, p := range macro.Split(text) {
		t.parts = append(t.parts, d.partOf(p))
	}
	return t
}

// partOf prepares a reference. One whose name cannot be a name is literal.
func (d *Description) partOf(p macro.Part) part {
	out := part{Part: p}
	if !p.Ref {
		out.doubt = doubtOf(p.Text)
		return out
	}
	if p.Function != "" && p.Function != "ENV" {
		return out
	}
	name, fallback, has := macro.CutDefault(p.Body)
	out.name = strings.TrimSpace(name)
	out.hasDefault, out.defaultText = has, fallback
	switch {
	case strings.Contains(name, "$"):
	case macro.IsName(out.name):
		out.key = strings.ToLower(out.name)
	default:
		return part{Part: macro.Part{Text: p.Text}}
	}
	return out
}

// doubtOf warns of literal text that was meant for a reference.
func doubtOf(literal string) string {
	switch found, function := macro.Mistaken(literal); {
	case function != "":
		return Shorten(found) + "): no function, taken as it stands, did you mean $" + function + "()?"
	case found != "":
		return Shorten(found) + ": no parenthesis closes it, taken as it stands"
	}
	return ""
}

package userlog

import "strings"

// AdInformation is event 028: attributes of the job, to go with the event before
// it.
type AdInformation struct {
	Ad []string // "Proc = 0" each
}

// AttributeChanged is event 033: an attribute of the job's ad was changed by
// hand.
type AttributeChanged struct {
	Name     string
	From, To string // ClassAd text; From is empty when there was no value
}

func (AdInformation) number() int    { return 28 }
func (AttributeChanged) number() int { return 33 }

const adInformation = "Job ad information event triggered."

func (a AdInformation) appendTo(b []byte) []byte {
	return appendLines(append(b, adInformation+"\n"...), "", a.Ad)
}

func readAdInformation(head string, l *lines) Body {
	if head != adInformation {
		return nil
	}
	return AdInformation{l.indented("", nil)}
}

func (c AttributeChanged) appendTo(b []byte) []byte {
	if c.From == "" {
		return appendText(b, "Setting job attribute ", c.Name+" to "+c.To, "")
	}
	return appendText(b, "Changing job attribute ", c.Name+" from "+c.From+" to "+c.To, "")
}

func readAttributeChanged(head string, _ *lines) Body {
	if rest, ok := strings.CutPrefix(head, "Setting job attribute "); ok {
		name, to, ok := strings.Cut(rest, " to ")
		if !ok {
			return nil
		}
		return AttributeChanged{Name: name, To: to}
	}
	rest, ok := strings.CutPrefix(head, "Changing job attribute ")
	name, values, named := strings.Cut(rest, " from ")
	from, to, parted := cutValues(values)
	if !ok || !named || !parted {
		return nil
	}
	return AttributeChanged{name, from, to}
}

// cutValues parts two ClassAd texts at the first " to " that is not in a string.
func cutValues(text string) (from, to string, ok bool) {
	const between = " to "
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[i:], between):
			return text[:i], text[i+len(between):], true
		}
	}
	return strings.Cut(text, between)
}

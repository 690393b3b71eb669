package maui

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/config"
	"fairspool/lib/maui"
	"fairspool/lib/policy/maui/mauicfg"
)

// Parse reads the text of a maui.cfg; file is its name in warnings. compatible reads as
// Maui 3.3.1 does and no better; a line COMPATIBILITY 3.3.1 in the file says the same.
// There is no error: what cannot be read, or is not known, is left out, with a warning
// "file:line: NAME: why". A value that Maui reads in an unexpected way is a warning, too.
func Parse(file string, text []byte, compatible bool) (maui.Config, []string) {
	c := config.NewSchema([]string{policyName}, Policy{}.Table()).Default()
	r := reader{Foreign: config.Foreign{File: file}, config: &c, compatible: compatible}
	r.read(string(text))
	return *Settings(&c), r.Warnings
}

// reader reads a maui.cfg.
type reader struct {
	config.Foreign
	config     *config.Config
	compatible bool
	// decided says that compatible is not the file's to change.
	decided bool
	skipped []string // of skipped, in the order of the file
}

func (r *reader) read(text string) {
	lines, notes := mauicfg.Read(text, mauicfg.Options{Compatible: r.compatible})
	if !r.compatible && !r.decided && slices.ContainsFunc(lines, func(l mauicfg.Line) bool {
		return l.Name == compatibilityKey && l.Value == version
	}) {
		r.compatible = true
		lines, notes = mauicfg.Read(text, mauicfg.Options{Compatible: true})
	}
	Settings(r.config).Compatible = r.compatible
	for _, l := range lines {
		for len(notes) > 0 && notes[0].Line <= l.Number {
			r.unread(notes[0])
			notes = notes[1:]
		}
		r.Line = l.Number
		r.take(l)
	}
	for _, n := range notes {
		r.unread(n)
	}
	r.tellSkipped()
	r.TellMore()
}

func (r *reader) unread(n mauicfg.Note) {
	r.Line = n.Line
	r.Tell(n.Text)
}

// take applies a line.
func (r *reader) take(l mauicfg.Line) {
	if kind, ok := credentialKind(l.Name); ok {
		r.upper(l)
		r.credential(kind, l)
		return
	}
	name := l.Name
	today, alias := aliases[name]
	if alias && !r.compatible {
		name = today
	}
	k, known := keyOf(name)
	known = known && name != fileKey
	if known {
		r.upper(l)
	}
	switch {
	case alias && r.compatible:
		r.Warn(name, "Maui 3.3.1 does not know it; its name there is "+today)
	case known && l.Index != "" && l.Index != "0":
		r.Warn(fmt.Sprintf("%s[%s]", l.Name, l.Index), "settings of single partitions are not part of this version")
	case known:
		if alias {
			r.Warn(l.Name, "read as "+today+", which is what Maui 3.3.1 calls it")
		}
		r.set(k, l.Value)
	default:
		r.unserved(l)
	}
}

// upper tells of a name in lower case that counts nevertheless.
func (r *reader) upper(l mauicfg.Line) {
	if l.Name != l.Written {
		r.Warn(l.Written, "read as "+l.Name+"; Maui 3.3.1 knows upper case only")
	}
}

// unserved tells of a parameter that does not count.
func (r *reader) unserved(l mauicfg.Line) {
	_, skipped := skipped()[l.Name]
	isLater, err := later().Take(l.Name, l.Value)
	switch {
	case skipped:
		if !slices.Contains(r.skipped, l.Name) {
			r.skipped = append(r.skipped, l.Name)
		}
	case older[l.Name] != "":
		r.Warn(l.Written, "an older parameter; write "+older[l.Name])
	case err != nil && l.HasIndex:
		r.Warn(l.Written+"["+l.Index+"]", err.Error())
	case err != nil:
		r.Warn(l.Written, err.Error())
	case isLater:
	case l.Name != strings.ToUpper(l.Name) && slices.Contains(lineNames(), strings.ToUpper(l.Name)):
		r.Warn(l.Written, "not read; Maui 3.3.1 knows upper case only")
	default:
		r.Warn(l.Written, "unknown parameter"+r.Hint(l.Name, lineNames()))
	}
}

// tellSkipped tells once of all parameters that say how Maui itself runs: any file has a dozen.
func (r *reader) tellSkipped() {
	r.Line = 0
	if len(r.skipped) > 0 {
		r.Warn(strings.Join(r.skipped, ", "), "skipped: how Maui itself runs has no meaning here")
	}
}

// set sets a key from a line.
func (r *reader) set(k config.Key, text string) {
	if k.Name == compatibilityKey {
		if text != version {
			r.Warn(k.Name, fmt.Sprintf("%q: want %s, or no such line", text, version))
		}
		return
	}
	v, note, ok := read(k, text, r.compatible)
	r.Warn(k.Name, note)
	if ok {
		if err := r.config.Take(config.Setting{Table: policyName, Name: k.Name, Value: v, From: r.From()}); err != nil {
			r.Warn(k.Name, err.Error())
		}
	}
}

// credential applies a line USERCFG[NAME] and the like.
func (r *reader) credential(kind maui.Kind, l mauicfg.Line) {
	if l.Index == "" {
		r.Warn(l.Name, "want a name in brackets: "+l.Name+"[NAME]")
		return
	}
	of := l.Name + "[" + l.Index + "]"
	key := policyName + "." + of
	list, notes := mauicfg.Attributes(l.Value)
	if l.Value == "" {
		r.Warn(of, "no value")
	}
	for _, n := range notes {
		r.Warn(of, n)
	}
	credential := Settings(r.config).Credentials[kind][l.Index]
	for _, a := range list {
		r.Warn(of, r.attribute(key, &credential, kind, a))
	}
	putCredential(r.config, kind, l.Index, credential)
	r.config.Note(key, r.From())
}

// attribute sets an attribute from a line with the key, and returns what is wrong with
// it.
func (r *reader) attribute(key string, c *maui.Credential, kind maui.Kind, a mauicfg.Attribute) string {
	upper := strings.ToUpper(a.Name)
	hint := ""
	if upper != a.Name {
		if _, known := attributeOf(kind, upper, r.compatible); r.compatible && known {
			return a.Name + ": not read; Maui 3.3.1 knows upper case only"
		}
		hint = "Maui 3.3.1 knows upper case only"
	}
	if later, err := laterAttributes().Take(upper, a.Value); later && err == nil {
		return ""
	}
	known, ok := attributeOf(kind, upper, r.compatible)
	if !ok {
		return a.Name + ": " + unknownAttribute(kind, upper, r.compatible, r.Hint)
	}
	note, ok := known.take(c, a.Value, r.compatible)
	if ok {
		r.config.NoteNamed(key, upper, a.Value, r.From())
	}
	if note == "" {
		note = hint
	}
	if note == "" {
		return ""
	}
	return a.Name + ": " + note
}

// unknownAttribute returns what to say of an attribute that a kind of credentials does not
// have. hint is nearest.Hint, or does as that.
func unknownAttribute(kind maui.Kind, name string, compatible bool, hint func(string, []string) string) string {
	for _, a := range Attributes {
		if a.Name == name {
			return "counts for " + credentialKinds[a.only(compatible)[0]] + " only"
		}
	}
	if _, later := laterAttributes()[name]; later {
		return config.ErrNotServed.Error()
	}
	return "unknown attribute" + hint(name, attributesOf(kind, compatible))
}

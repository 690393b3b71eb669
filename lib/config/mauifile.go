package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"fairspool/lib/maui"
	"fairspool/lib/maui/mauicfg"
	"fairspool/lib/nearest"
)

// ParseMaui reads the text of a maui.cfg; file is its name in warnings. compatible reads
// as Maui 3.3.1 does and no better; a line COMPATIBILITY 3.3.1 in the file says the same.
// There is no error: what cannot be read, or is not known, is left out, with a warning
// "file:line: NAME: why". Where Maui reads a value in another way than somebody may think,
// a warning tells that, too.
func ParseMaui(file string, text []byte, compatible bool) (maui.Config, []string) {
	r := mauiReader{foreign: foreign{file: file}, config: emptyMaui(), compatible: compatible}
	r.read(string(text))
	return r.config.Maui, r.warnings
}

// mauiReader reads a maui.cfg.
type mauiReader struct {
	foreign
	config     Config
	compatible bool
	// decided says that compatible is not the file's to change.
	decided bool
	skipped []string // of skippedMaui, in the order of the file
}

// emptyMaui returns the configuration that a maui.cfg is read into.
func emptyMaui() Config {
	return Config{Maui: maui.Default(), where: map[string]origin{}, values: map[string]any{}}
}

func (r *mauiReader) read(text string) {
	lines, notes := mauicfg.Read(text, mauicfg.Options{Compatible: r.compatible})
	if !r.compatible && !r.decided && slices.ContainsFunc(lines, func(l mauicfg.Line) bool {
		return l.Name == mauiCompatibility && l.Value == mauiVersion
	}) {
		r.compatible = true
		lines, notes = mauicfg.Read(text, mauicfg.Options{Compatible: true})
	}
	r.config.Maui.Compatible = r.compatible
	for _, l := range lines {
		for len(notes) > 0 && notes[0].Line <= l.Number {
			r.unread(notes[0])
			notes = notes[1:]
		}
		r.line = l.Number
		r.take(l)
	}
	for _, n := range notes {
		r.unread(n)
	}
	r.tellSkipped()
	r.tellMore()
}

func (r *mauiReader) unread(n mauicfg.Note) {
	r.line = n.Line
	r.tellOf(n.Text)
}

// take sets what a line says.
func (r *mauiReader) take(l mauicfg.Line) {
	if kind, ok := credentialKind(l.Name); ok {
		r.upper(l)
		r.credential(kind, l)
		return
	}
	name := l.Name
	today, alias := mauiAliases[name]
	if alias && !r.compatible {
		name = today
	}
	k, known := mauiKey(name)
	known = known && name != mauiFile
	if known {
		r.upper(l)
	}
	switch {
	case alias && r.compatible:
		r.warn(name, "Maui 3.3.1 does not know it; its name there is "+today)
	case known && l.Index != "" && l.Index != "0":
		r.warn(fmt.Sprintf("%s[%s]", l.Name, l.Index), "settings of single partitions are not part of this version")
	case known:
		if alias {
			r.warn(l.Name, "read as "+today+", which is what Maui 3.3.1 calls it")
		}
		r.set(k, l.Value)
	default:
		r.unserved(l)
	}
}

// upper tells of a name in lower case that counts nevertheless.
func (r *mauiReader) upper(l mauicfg.Line) {
	if l.Name != l.Written {
		r.warn(l.Written, "read as "+l.Name+"; Maui 3.3.1 knows upper case only")
	}
}

// unserved tells of a parameter that does not count.
func (r *mauiReader) unserved(l mauicfg.Line) {
	_, skipped := skippedMaui()[l.Name]
	isLater, err := laterMaui().take(l.Name, l.Value)
	switch {
	case skipped:
		if !slices.Contains(r.skipped, l.Name) {
			r.skipped = append(r.skipped, l.Name)
		}
	case mauiOlder[l.Name] != "":
		r.warn(l.Written, "an older parameter; write "+mauiOlder[l.Name])
	case err != nil && l.HasIndex:
		r.warn(l.Written+"["+l.Index+"]", err.Error())
	case err != nil:
		r.warn(l.Written, err.Error())
	case isLater:
	case l.Name != strings.ToUpper(l.Name) && slices.Contains(mauiNames(), strings.ToUpper(l.Name)):
		r.warn(l.Written, "not read; Maui 3.3.1 knows upper case only")
	default:
		r.warn(l.Written, "unknown parameter"+r.hint(l.Name, mauiNames()))
	}
}

// tellSkipped tells once of all parameters that say how Maui itself runs: any file has a dozen.
func (r *mauiReader) tellSkipped() {
	r.line = 0
	if len(r.skipped) > 0 {
		r.warn(strings.Join(r.skipped, ", "), "skipped: how Maui itself runs has no meaning here")
	}
}

// set sets a key to what a line says.
func (r *mauiReader) set(k Key, text string) {
	if k.Name == mauiCompatibility {
		if text != mauiVersion {
			r.warn(k.Name, fmt.Sprintf("%q: want %s, or no such line", text, mauiVersion))
		}
		return
	}
	v, note, ok := k.mauiValue(text, r.compatible)
	r.warn(k.Name, note)
	if ok {
		k.put(&r.config, "maui."+k.Name, v)
		r.config.where["maui."+k.Name] = r.from()
	}
}

// credential sets what a line USERCFG[NAME] and the like says.
func (r *mauiReader) credential(kind maui.Kind, l mauicfg.Line) {
	if l.Index == "" {
		r.warn(l.Name, "want a name in brackets: "+l.Name+"[NAME]")
		return
	}
	name := l.Name + "[" + l.Index + "]"
	key := "maui." + name
	list, notes := mauicfg.Attributes(l.Value)
	if l.Value == "" {
		r.warn(name, "no value")
	}
	for _, n := range notes {
		r.warn(name, n)
	}
	credential := r.config.Maui.Credentials[kind][l.Index]
	for _, a := range list {
		r.warn(name, r.attribute(key, &credential, kind, a))
	}
	r.config.putCredential(kind, l.Index, credential)
	r.config.where[key] = r.from()
}

// attribute sets what an attribute of the key says, and returns what is wrong with it.
func (r *mauiReader) attribute(key string, c *maui.Credential, kind maui.Kind, a mauicfg.Attribute) string {
	upper := strings.ToUpper(a.Name)
	hint := ""
	if upper != a.Name {
		if _, known := attributeOf(kind, upper, r.compatible); r.compatible && known {
			return a.Name + ": not read; Maui 3.3.1 knows upper case only"
		}
		hint = "Maui 3.3.1 knows upper case only"
	}
	if later, err := laterAttributes().take(upper, a.Value); later && err == nil {
		return ""
	}
	known, ok := attributeOf(kind, upper, r.compatible)
	if !ok {
		return a.Name + ": " + unknownAttribute(kind, upper, r.compatible, r.hint)
	}
	note, ok := known.take(c, a.Value, r.compatible)
	if ok {
		r.config.named = append(r.config.named, namedValue{key, upper, a.Value, r.from()})
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
	for _, a := range MauiAttributes {
		if a.Name == name {
			return "counts for " + credentialKinds[a.only(compatible)[0]] + " only"
		}
	}
	if _, later := laterAttributes()[name]; later {
		return errNotServed.Error()
	}
	return "unknown attribute" + hint(name, attributesOf(kind, compatible))
}

// putCredential stores what is said of a credential.
func (c *Config) putCredential(kind maui.Kind, name string, v maui.Credential) {
	if c.Maui.Credentials[kind] == nil {
		c.Maui.Credentials[kind] = map[string]maui.Credential{}
	}
	c.Maui.Credentials[kind][name] = v
}

// tell adds what was read to the configuration.
func (r *mauiReader) tell(c *Config) {
	c.Maui = r.config.Maui
	maps.Copy(c.where, r.config.where)
	maps.Copy(c.values, r.config.values)
	c.named = append(c.named, r.config.named...)
	c.Warnings = append(c.Warnings, r.warnings...)
}

// mauiTable is the table [maui].
func mauiTable() *policyTable {
	return &policyTable{
		name: "maui", keys: MauiKeys, first: []string{mauiCompatibility, mauiFile}, later: laterMaui, aliases: mauiAliases,
		begin:  func(c *Config) { c.Maui = maui.Default() },
		inside: (*reader).credentials, taken: (*Config).takenMaui, named: (*Config).takeMaui,
		addsUp: func(name string) bool { _, _, credential := credentialKey(name); return credential },
		finish: func(c *Config) error { c.Windows = c.Maui.Windows; return nil },
		warn:   (*Config).warnOfInert,
	}
}

// takenMaui warns of a weight that says nothing, and reads the maui.cfg that the setting names.
func (c *Config) takenMaui(s setting) error {
	if _, name, _ := strings.Cut(current(s.key()), "."); s.value == int64(unsetWeight) && isSubWeight(name) {
		c.Warnings = append(c.Warnings, s.fault(errors.New(unsetNote)).Error())
	}
	if s.name != mauiFile || c.MauiFile == "" {
		return nil
	}
	path, text, err := readForeign(s.folder, c.MauiFile)
	if err != nil {
		return err
	}
	r := mauiReader{foreign: foreign{file: path}, config: emptyMaui(), compatible: c.Maui.Compatible,
		decided: c.where["maui."+mauiCompatibility].file != ""}
	r.read(text)
	r.tell(c)
	return nil
}

// credentials returns what the tables of a kind of credentials say: one setting for each
// attribute of [maui.USERCFG.john], or for what stands there in the place of a table.
func (r *reader) credentials(kind string, p toml.Primitive, _ map[string]any) (said []setting, ok bool) {
	names := map[string]toml.Primitive{}
	if _, ok := credentialKind(kind); !ok {
		return nil, false
	} else if r.meta.PrimitiveDecode(p, &names) != nil {
		return nil, true
	}
	for _, name := range r.below(names, "maui", kind) {
		s := setting{table: "maui", name: fmt.Sprintf("%s[%s]", kind, name)}
		attributes := map[string]toml.Primitive{}
		value := r.plain(names[name])
		if _, table := value.(map[string]any); !table || r.meta.PrimitiveDecode(names[name], &attributes) != nil {
			s.value, s.from = value, r.from(names[name])
			said = append(said, s)
			continue
		}
		for _, a := range r.below(attributes, "maui", kind, name) {
			s.attribute = a
			s.value, s.from = r.plain(attributes[a]), r.from(attributes[a])
			said = append(said, s)
		}
	}
	return said, true
}

// takeMaui sets what a key of [maui] with a credential's name in it says; ok is false for
// other keys.
func (c *Config) takeMaui(s setting) (ok bool, err error) {
	kind, name, ok := credentialKey(s.name)
	if !ok {
		return c.notACredential(s)
	}
	list := []mauicfg.Attribute{{Name: s.attribute}}
	if s.attribute != "" {
		text, ok := plainText(s.value)
		if !ok {
			return true, fmt.Errorf("%s: %s: want a number, a string or an array of such", oneLine(s.attribute), shown(s.value))
		}
		list[0].Value = text
	} else {
		text, isString := s.value.(string)
		var notes []string
		list, notes = mauicfg.Attributes(text)
		if !isString || len(list)+len(notes) == 0 {
			return true, fmt.Errorf("%s: want ATTRIBUTE=VALUE in a string, or a table", shown(s.value))
		}
		if len(notes) > 0 {
			return true, fmt.Errorf("%q: want ATTRIBUTE=VALUE, with blanks between two and nowhere else", text)
		}
	}
	credential := c.Maui.Credentials[kind][name]
	for _, a := range list {
		if err := c.takeAttribute(s, &credential, kind, a); err != nil {
			return true, err
		}
	}
	c.putCredential(kind, name, credential)
	return true, nil
}

// takeAttribute sets what an attribute says. What Maui would read in a way of its own is
// refused.
func (c *Config) takeAttribute(s setting, credential *maui.Credential, kind maui.Kind, a mauicfg.Attribute) error {
	if later, err := laterAttributes().take(a.Name, a.Value); later && err == nil {
		return nil
	}
	known, ok := attributeOf(kind, a.Name, false)
	if !ok {
		return fmt.Errorf("%s: %s", oneLine(a.Name), unknownAttribute(kind, a.Name, false, nearest.Hint))
	}
	if !known.has(kind, c.Maui.Compatible) {
		c.Warnings = append(c.Warnings, s.fault(fmt.Errorf("%s: %s in Maui 3.3.1", a.Name, unknownAttribute(kind, a.Name, true, nearest.Hint))).Error())
		return nil
	}
	if note, ok := known.take(credential, a.Value, false); !ok || note != "" {
		return fmt.Errorf("%s: %q: want %s", a.Name, a.Value, known.Wants)
	}
	c.named = append(c.named, namedValue{s.key(), a.Name, a.Value, s.from})
	return nil
}

// notACredential refuses keys that are meant to have a credential's name in them.
func (c *Config) notACredential(s setting) (ok bool, err error) {
	if _, ok := credentialKind(s.name); ok {
		return true, fmt.Errorf("%s: want a table of names, or a key \"%s[NAME]\"", shown(s.value), s.name)
	}
	before, rest, bracket := strings.Cut(s.name, "[")
	if !bracket {
		return false, nil
	}
	if near, ok := nearest.Name(before, credentialKinds); ok && near != before {
		return true, unknownKey(didYouMean(near + "[" + oneLine(rest)))
	}
	return true, unknownKey("; want a key such as \"USERCFG[NAME]\"")
}

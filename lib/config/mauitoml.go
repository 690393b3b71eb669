package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"fairspool/lib/maui"
	"fairspool/lib/maui/mauicfg"
	"fairspool/lib/nearest"
)

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

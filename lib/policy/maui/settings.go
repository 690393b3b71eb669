package maui

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"fairspool/lib/config"
	"fairspool/lib/maui"
	"fairspool/lib/nearest"
	"fairspool/lib/policy/maui/mauicfg"
)

// settings are the settings of the table [maui] and of the maui.cfg that it names.
type settings struct {
	maui.Config
	file string // maui_cfg, as it stands there; empty: none
}

func settingsOf(c *config.Config) *settings { return c.Settings(policyName).(*settings) }

// Settings returns a configuration's settings of the policy. They are shared; do not change them.
func Settings(c *config.Config) *maui.Config { return &settingsOf(c).Config }

// Table is the table [maui].
func (Policy) Table() *config.Table {
	return &config.Table{
		Name: policyName, Keys: Keys, First: []string{compatibilityKey, fileKey}, Later: later, Aliases: aliases,
		Begin: func() any { return &settings{Config: maui.Default()} },
		Depth: depth, Join: join, AddsUp: addsUp, Named: takeCredential, Taken: taken,
		Finish: func(c *config.Config) error { c.Windows = Settings(c).Windows; return nil },
		Warn:   warn,
	}
}

// taken warns of a weight that says nothing, and reads the maui.cfg that the setting names.
func taken(c *config.Config, s config.Setting) error {
	if s.Value == int64(unsetWeight) && isSubWeight(cmp.Or(aliases[s.Name], s.Name)) {
		c.Warnings = append(c.Warnings, s.Fault(errors.New(unsetNote)).Error())
	}
	file := settingsOf(c).file
	if s.Name != fileKey || file == "" {
		return nil
	}
	path, text, err := config.ReadForeign(s.Folder, file)
	if err != nil {
		return err
	}
	r := reader{Foreign: config.Foreign{File: path}, config: c, compatible: Settings(c).Compatible,
		decided: c.Noted(policyName + "." + compatibilityKey)}
	r.read(text)
	c.Warnings = append(c.Warnings, r.Warnings...)
	return nil
}

// depth is 2 for [maui.USERCFG.NAME] with ATTRIBUTE = VALUE.
func depth(table string) int {
	if _, ok := credentialKind(table); ok {
		return 2
	}
	return 0
}

// join returns USERCFG[NAME], without the attribute.
func join(parts []string) string { return fmt.Sprintf("%s[%s]", parts[0], parts[1]) }

// addsUp reports whether the name is a credential's.
func addsUp(name string) bool {
	_, _, ok := credentialKey(name)
	return ok
}

// putCredential stores the settings of a credential.
func putCredential(c *config.Config, kind maui.Kind, name string, v maui.Credential) {
	all := &Settings(c).Credentials[kind]
	if *all == nil {
		*all = map[string]maui.Credential{}
	}
	(*all)[name] = v
}

// takeCredential applies a setting of [maui] with a credential's name in its key; ok is false
// for other keys.
func takeCredential(c *config.Config, s config.Setting) (ok bool, err error) {
	kind, name, ok := credentialKey(s.Name)
	if !ok {
		return notACredential(s)
	}
	list := []mauicfg.Attribute{{}}
	if len(s.Parts) > 2 {
		list[0].Name = s.Parts[2]
	}
	empty, isTable := s.Value.(map[string]any)
	switch text, isString := s.Value.(string); {
	case list[0].Name != "":
		text, ok := config.PlainText(s.Value)
		if !ok {
			return true, fmt.Errorf("%s: %s: want a number, a string or an array of such", config.OneLine(list[0].Name), config.Shown(s.Value))
		}
		list[0].Value = text
	case s.Parts != nil && isTable && len(empty) == 0:
		return true, nil // without settings
	default:
		var notes []string
		list, notes = mauicfg.Attributes(text)
		if !isString || len(list)+len(notes) == 0 {
			return true, fmt.Errorf("%s: want ATTRIBUTE=VALUE in a string, or a table", config.Shown(s.Value))
		}
		if len(notes) > 0 {
			return true, fmt.Errorf("%q: want ATTRIBUTE=VALUE, with blanks between two and nowhere else", text)
		}
	}
	credential := Settings(c).Credentials[kind][name]
	for _, a := range list {
		if err := takeAttribute(c, s, &credential, kind, a); err != nil {
			return true, err
		}
	}
	putCredential(c, kind, name, credential)
	return true, nil
}

// takeAttribute sets what an attribute says. What Maui would read in a way of its own is
// refused.
func takeAttribute(c *config.Config, s config.Setting, credential *maui.Credential, kind maui.Kind, a mauicfg.Attribute) error {
	if later, err := laterAttributes().Take(a.Name, a.Value); later && err == nil {
		return nil
	}
	known, ok := attributeOf(kind, a.Name, false)
	if !ok {
		return fmt.Errorf("%s: %s", config.OneLine(a.Name), unknownAttribute(kind, a.Name, false, nearest.Hint))
	}
	if !known.has(kind, Settings(c).Compatible) {
		c.Warnings = append(c.Warnings, s.Fault(fmt.Errorf("%s: %s in Maui 3.3.1", a.Name, unknownAttribute(kind, a.Name, true, nearest.Hint))).Error())
		return nil
	}
	if note, ok := known.take(credential, a.Value, false); !ok || note != "" {
		return fmt.Errorf("%s: %q: want %s", a.Name, a.Value, known.Wants)
	}
	c.NoteNamed(s.Key(), a.Name, a.Value, s.From)
	return nil
}

// notACredential refuses keys that are meant to have a credential's name in them.
func notACredential(s config.Setting) (ok bool, err error) {
	if _, ok := credentialKind(s.Name); ok {
		return true, fmt.Errorf("%s: want a table of names, or a key \"%s[NAME]\"", config.Shown(s.Value), s.Name)
	}
	before, rest, bracket := strings.Cut(s.Name, "[")
	if !bracket {
		return false, nil
	}
	if near, ok := nearest.Name(before, credentialKinds); ok && near != before {
		return true, fmt.Errorf("unknown key; did you mean %s[%s?", near, config.OneLine(rest))
	}
	return true, errors.New("unknown key; want a key such as \"USERCFG[NAME]\"")
}

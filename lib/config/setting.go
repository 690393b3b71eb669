package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"
)

// Setting is one key with its value, as a file or With says it.
type Setting struct {
	Table, Name string // Table is empty for a key at the top
	Value       any    // as TOML has it
	From        Origin
	// Parts are the names that Name is made of, from the name of the table in the table on; nil
	// for a key without names in it.
	Parts  []string
	Folder string // where files lie that the value names; empty: the working directory
	text   string // the value as it was asked for
}

// asked is where settings of With are from.
const asked = "config"

// Key returns the setting's key as Where knows it.
func (s Setting) Key() string {
	if s.Table != "" {
		return s.Table + "." + s.Name
	}
	return s.Name
}

// Fault returns the error why of the setting: "FILE:LINE: KEY: why", or as Complain has it.
func (s Setting) Fault(why error) error { return complaint(s.From.String(), s.Key(), why) }

// complaint returns the error of a key that was set at a place, which may be empty.
func complaint(at, key string, why error) error {
	key = OneLine(key)
	switch at {
	case "":
		return fmt.Errorf("%s: %w", key, why)
	case asked:
		return fmt.Errorf("%s %s: %w", at, key, why)
	}
	return fmt.Errorf("%s: %s: %w", at, key, why)
}

// OneLine returns a name as a message shows it.
func OneLine(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

// With returns the configuration with settings, "KEY=VALUE", as if each stood in the file
// in the place of the earlier setting of its key; of two settings of a key the last counts.
// A KEY of a table is TABLE.KEY, as in maui.FSDEPTH=5. A VALUE is as in the file, but
// strings need no quotes. c comes from Default, Parse, Load or With. Attributes of a
// table's objects, as in maui.USERCFG[john]=PRIORITY=3 and sge.users.alice.fshare=5, leave
// the others as they are. The error is one line, `config KEY: why`.
func (c Config) With(settings []string) (Config, error) {
	said := slices.Clone(c.said)
	for _, text := range settings {
		s, err := c.schema.ask(text)
		if err != nil {
			return Config{}, err
		}
		said = c.schema.replaced(said, s)
	}
	return c.schema.build(said)
}

// Said returns the settings of a table, in the order of the file.
func (c *Config) Said(table string) (said []Setting) {
	for _, s := range c.said {
		if s.Table == table {
			said = append(said, s)
		}
	}
	return said
}

// replaced returns the settings with s in the place of the first of those that it replaces,
// for the order of some means something.
func (sc *Schema) replaced(said []Setting, s Setting) []Setting {
	replaces := func(old Setting) bool { return sc.replaces(s, old) }
	at := slices.IndexFunc(said, replaces)
	if at < 0 {
		return append(said, s)
	}
	said[at] = s
	rest := slices.DeleteFunc(said[at+1:], replaces)
	return said[:at+1+len(rest)]
}

// replaces reports whether s replaces the old setting entirely.
func (sc *Schema) replaces(s, old Setting) bool {
	t := sc.table(old.Table)
	return sc.identity(s) == sc.identity(old) && (t == nil || t.AddsUp == nil || !t.AddsUp(old.Name))
}

// identity is what two settings of the same have in common.
func (sc *Schema) identity(s Setting) string {
	if k, of, ok := limitKey(s.Name); ok && s.Table == "" {
		return k.Name + " " + strings.ToLower(of)
	}
	if k, group, ok := groupKey(s.Name); ok && s.Table == "" {
		return k.Name + " " + strings.ToLower(group)
	}
	if s.Table == groupTable {
		return strings.ToLower(s.Key())
	}
	return sc.current(s.Key())
}

// same tells that another setting is of the same, under another name.
func (s Setting) same(other Setting) error {
	if strings.EqualFold(s.Name, other.Name) {
		return fmt.Errorf("%s is the same (%s): case does not count", s.Name, s.From)
	}
	return fmt.Errorf("%s is the same (%s): one of the two is another name of it; leave one out", s.Name, s.From)
}

// ask reads KEY=VALUE.
func (sc *Schema) ask(text string) (Setting, error) {
	key, value, ok := strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	s := Setting{Name: strings.Trim(key, `"`), From: Origin{File: asked}, text: value, Value: value}
	if v, ok := tomlValue(value); ok {
		s.Value = v
	}
	if !ok || s.Name == "" {
		return s, Setting{Name: text, From: s.From}.Fault(errors.New("want KEY=VALUE"))
	}
	table, name, dotted := strings.Cut(s.Name, ".")
	t := sc.table(table)
	if _, _, limit := limitKey(s.Name); dotted && t != nil && !limit {
		s.Table, s.Name = table, strings.Trim(name, `"`)
		if t.Split != nil {
			if s.Parts = t.Split(s.Name); s.Parts != nil {
				s.Name = t.join(s.Parts)
			}
		}
	}
	if s.Table == "" && sc.table(s.Name) != nil {
		return s, s.Fault(fmt.Errorf("a table: want one key of it, %s.KEY=VALUE", s.Name))
	}
	return s, nil
}

// tomlValue reads a single value of TOML.
func tomlValue(text string) (any, bool) {
	var doc map[string]any
	if _, err := toml.Decode("x = "+text, &doc); err != nil || len(doc) != 1 {
		return nil, false
	}
	return doc["x"], true
}

// Note records where a key was set, for Where. Take does so for its settings.
func (c *Config) Note(key string, from Origin) { c.where[key] = from }

// Noted reports whether it is known where a key was set. Where takes longer: it looks up the line.
func (c *Config) Noted(key string) bool { return c.where[key].File != "" }

// NoteNamed notes for Lines the value of a key with a name in it, or of one of its attributes.
func (c *Config) NoteNamed(key, attribute string, value any, from Origin) {
	c.named = append(c.named, namedValue{key, attribute, value, from})
}

// Line is one setting.
type Line struct {
	Key   string // as With and Where know it
	Value any    // in the type of the key's Default; of a key with a name in it, as the file has it
	From  string // "FILE:LINE", "config" when With set it, or "default"
}

// Text returns the value as a file has it.
func (l Line) Text() string { return literal(l.Value) }

// Lines returns all settings: the keys of the top level and of each table, and then the
// set keys with names in them, in the order of their names.
func (c *Config) Lines() []Line {
	var list []Line
	listed := map[string]bool{}
	add := func(before string, keys []Key) {
		for _, k := range keys {
			l := Line{Key: before + k.Name, Value: k.Default, From: "default"}
			if v, ok := c.values[l.Key]; ok {
				l.Value, l.From = v, c.Where(l.Key)
			}
			list, listed[l.Key] = append(list, l), true
		}
	}
	add("", c.schema.keys)
	for _, t := range c.schema.tables {
		add(t.Name+".", t.Keys)
	}
	names := map[string]Line{}
	for key, v := range c.values {
		if !listed[key] {
			names[key] = Line{Key: key, Value: v, From: c.Where(key)}
		}
	}
	for _, n := range c.named { // the last counts
		key := strings.TrimSuffix(n.key+"."+n.attribute, ".")
		names[key] = Line{Key: key, Value: n.value, From: n.from.String()}
	}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		list = append(list, names[key])
	}
	return list
}

// namedValue is a setting of a key with a name in it, or of one of its attributes. A large site
// has thousands, so they are sorted only when Lines needs them.
type namedValue struct {
	key, attribute string // attribute is empty where the key has all
	value          any
	from           Origin
}

package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"fairspool/lib/nearest"
)

// Schema is the set of valid settings: Keys, GroupKeys, LimitKeys, RequirementKeys, the tables
// [groups] and [engine], and the names and tables of registered policies.
type Schema struct {
	keys   []Key    // Keys, with the policies as what JOB_PRIORITY_POLICY may be
	tables []*Table // [groups] and [engine] first
	first  []string // First of all tables, with their names
}

// Table is a table of the file that holds the settings of a policy under their own names. Hooks
// may be nil.
type Table struct {
	Name string
	Keys []Key
	// First are keys that are taken before all others, in this order: those that the rest is
	// read by.
	First []string
	// Later are keys that are refused by name.
	Later func() LaterKeys
	// Aliases are other names of keys.
	Aliases map[string]string
	// Begin returns what Settings returns for the table, before the defaults of keys are set.
	Begin func() any
	// Plain returns a value as a key takes it.
	Plain func(Key, any) any
	// Depth returns how many levels of names a table of that name in this one has, such as 2 for
	// users if [users.NAME] has ATTRIBUTE = VALUE; 0: it is a value. Each last name makes a setting,
	// and so does each name before it without settings below.
	Depth func(table string) int
	// Join makes the name of a setting of that table's name and the names; nil: with dots between.
	Join func(parts []string) string
	// Split takes a name of With's apart that Join made; nil for another name.
	Split func(name string) []string
	// AddsUp reports whether what two settings of the name say counts both.
	AddsUp func(name string) bool
	// Named applies a setting that belongs to no key, and reports whether there is such a name.
	Named func(*Config, Setting) (bool, error)
	// Taken does what follows from a setting that was taken: it reads the file that this names.
	Taken func(*Config, Setting) error
	// Finish makes of all settings what takes several of them. Of the defaults nothing is wrong.
	Finish func(*Config) error
	// Warn warns of settings without effect, when all tables are finished.
	Warn func(*Config)
}

// NewSchema returns the schema of the policies that JOB_PRIORITY_POLICY may choose, the default
// first, and of tables, which finish and warn in this order.
func NewSchema(policies []string, tables ...*Table) *Schema {
	s := &Schema{keys: slices.Clone(Keys), tables: append([]*Table{groupsTable(), enginesTable()}, tables...)}
	for i := range s.keys {
		if k := &s.keys[i]; k.Name == policyKey && len(policies) > 0 {
			k.Default, k.Choices = policies[0], policies
		}
	}
	for _, t := range tables {
		for _, name := range t.First {
			s.first = append(s.first, t.Name+"."+name)
		}
	}
	return s
}

// Keys returns the keys of the top.
func (s *Schema) Keys() []Key { return s.keys }

// Default returns the configuration of an empty file.
func (s *Schema) Default() Config {
	c := s.begun()
	for _, t := range s.tables {
		if t.Finish != nil {
			t.Finish(&c)
		}
	}
	return c
}

// begun returns the configuration that settings change.
func (s *Schema) begun() Config {
	c := Config{schema: s, settings: map[string]any{}, where: map[string]Origin{}, values: map[string]any{}}
	set := func(keys []Key) {
		for _, k := range keys {
			if k.Set != nil {
				k.Set(&c, k.Default)
			}
		}
	}
	set(s.keys)
	for _, t := range s.tables {
		if t.Begin != nil {
			c.settings[t.Name] = t.Begin()
		}
		set(t.Keys)
	}
	return c
}

// Load reads the configuration file at path. Keys that it does not set have
// their defaults. The error is one line, `path:line: NAME: why` where a line
// is to blame.
func (s *Schema) Load(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, err
	}
	return s.Parse(path, text)
}

// Parse reads the text of a configuration file; file is its name in errors
// and for Where. Of other files it reads those that keys of tables name.
func (s *Schema) Parse(file string, text []byte) (Config, error) {
	top := map[string]toml.Primitive{}
	meta, err := toml.Decode(string(text), &top)
	if err != nil {
		return Config{}, syntaxError(file, err)
	}
	r := &reader{schema: s, file: file, meta: meta}
	if err := r.stray(top); err != nil {
		return Config{}, err
	}
	return s.build(r.settings(top))
}

func syntaxError(file string, err error) error {
	var p toml.ParseError
	if !errors.As(err, &p) {
		return fmt.Errorf("%s: %w", file, err)
	}
	return fmt.Errorf("%s:%d: %s", file, max(p.Position.Line, 1), p.Message)
}

// build makes a configuration of the settings and the defaults.
func (s *Schema) build(said []Setting) (Config, error) {
	c := s.begun()
	c.said = said
	first := make(map[string]Setting, len(said))
	for _, one := range s.filesFirst(said) {
		id := s.identity(one)
		if old, twice := first[id]; twice && old.Name != one.Name {
			return Config{}, one.Fault(old.same(one))
		}
		first[id] = one
		err := c.Take(one)
		if t := s.table(one.Table); err == nil && t != nil && t.Taken != nil {
			err = t.Taken(&c, one)
		}
		if err != nil {
			return Config{}, one.Fault(err)
		}
	}
	if err := c.groups(); err != nil {
		return Config{}, err
	}
	if err := c.requirements(); err != nil {
		return Config{}, err
	}
	if w := c.EventCommand; len(w) > 0 && !filepath.IsAbs(w[0]) {
		return Config{}, c.Complain("EVENT_COMMAND", fmt.Errorf("%q: want the absolute path of a program, and its arguments", w[0]))
	}
	for _, t := range s.tables {
		if t.Finish != nil {
			if err := t.Finish(&c); err != nil {
				return Config{}, err
			}
		}
	}
	for _, t := range s.tables {
		if t.Warn != nil {
			t.Warn(&c)
		}
	}
	return c, nil
}

// filesFirst puts the settings in front that the reading of others depends on: the keys that
// tables declare as such, among them those of files, as the tables override the files.
func (s *Schema) filesFirst(said []Setting) []Setting {
	place := func(one Setting) int {
		if i := slices.Index(s.first, one.Key()); i >= 0 {
			return i
		}
		return len(s.first)
	}
	sorted := slices.Clone(said)
	slices.SortStableFunc(sorted, func(a, b Setting) int { return place(a) - place(b) })
	return sorted
}

// table returns the table of the name; nil without one.
func (s *Schema) table(name string) *Table {
	for _, t := range s.tables {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// tableOf returns the table that a key belongs into; empty for none.
func (s *Schema) tableOf(key string) string {
	for _, t := range s.tables {
		if slices.Contains(KeyNames(t.Keys), key) {
			return t.Name
		}
	}
	return ""
}

// Take applies the setting, and notes its source. The error does not include its place.
func (c *Config) Take(s Setting) error {
	if err := c.take(s); err != nil {
		return err
	}
	c.Note(c.schema.current(s.Key()), s.From)
	return nil
}

func (c *Config) take(s Setting) error {
	if s.Table != "" {
		return c.schema.table(s.Table).take(c, s)
	}
	if c.schema.table(s.Name) != nil {
		return fmt.Errorf("%s: want a table of keys", Shown(s.Value))
	}
	if ok, err := later().Take(s.Name, s.Value); ok {
		return err
	}
	if i := keyIndex(c.schema.keys, today(s.Name)); i >= 0 {
		return c.schema.keys[i].take(c, s)
	}
	return c.takeNamed(s)
}

// takeNamed sets the value of a key that contains the name of a group or a limit.
func (c *Config) takeNamed(s Setting) error {
	if k, group, ok := groupKey(s.Name); ok {
		if _, table := s.Value.(map[string]any); table {
			return needsQuotes(s.Name + ".NAME")
		}
		v, err := k.value(s.Value)
		if err == nil {
			c.setOfGroup(k, s.Name, group, v)
		}
		return err
	}
	if k, of, ok := limitKey(s.Name); ok {
		if known, ok := resembling(s.Name); ok && k.Name == limitSuffix {
			return unknownKey(didYouMean(known))
		}
		v, err := k.value(s.Value)
		if err == nil {
			k.setLimit(c, of, v.(float64))
			c.values[s.Name] = v
		}
		return err
	}
	if _, _, ok := requirementKey(s.Name, nil); ok {
		c.ofRequirements = append(c.ofRequirements, s)
		return nil
	}
	if table := c.schema.tableOf(s.Name); table != "" {
		return fmt.Errorf("belongs into table [%s]", table)
	}
	return unknown(s)
}

// take applies a setting of a key of the table.
func (t *Table) take(c *Config, s Setting) error {
	if i := keyIndex(t.Keys, cmp.Or(t.Aliases[s.Name], s.Name)); i >= 0 {
		if t.Plain != nil {
			s.Value = t.Plain(t.Keys[i], s.Value)
		}
		return t.Keys[i].take(c, s)
	}
	if t.Later != nil {
		if ok, err := t.Later().Take(s.Name, s.Value); ok {
			return err
		}
	}
	if t.Named != nil {
		if ok, err := t.Named(c, s); ok {
			return err
		}
	}
	return unknownKey(nearest.Hint(s.Name, KeyNames(t.Keys)))
}

// take sets the key to the checked value of the setting.
func (k Key) take(c *Config, s Setting) error {
	v, err := k.checked(s)
	if err != nil {
		return err
	}
	if k.Set != nil {
		k.Set(c, v)
	}
	c.values[c.schema.current(s.Key())] = v
	return nil
}

// join returns the name of a setting that is made of names.
func (t *Table) join(parts []string) string {
	if t.Join != nil {
		return t.Join(parts)
	}
	return strings.Join(parts, ".")
}

// current returns the name that a key goes by, with its table.
func (s *Schema) current(key string) string {
	if table, alias, dotted := strings.Cut(key, "."); dotted {
		if t := s.table(table); t != nil && t.Aliases[alias] != "" {
			return table + "." + t.Aliases[alias]
		}
	}
	return today(key)
}

// today returns the name that a key at the top goes by: older manuals call one of them otherwise,
// and both are taken.
func today(name string) string {
	if name == "GROUP_DYNAMIC_MACH_CONSTRAINT" {
		return "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT"
	}
	return name
}

func keyIndex(keys []Key, name string) int {
	return slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
}

// KeyNames returns the names of keys.
func KeyNames(keys []Key) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.Name
	}
	return list
}

package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/BurntSushi/toml"
)

// setting is one key with its value, as a file or somebody else says it.
type setting struct {
	table, name string // table is empty for a key at the top
	value       any
	from        origin
	text        string // the value as it was asked for
	// attribute is the one that a table of [maui] with a credential's name sets.
	attribute string
	// parts are those of a key of [sge] with an object's name in it: the table, the name and
	// the attribute, or share_tree and the path.
	parts  []string
	folder string // where files lie that the value names; empty: the working directory
}

// asked is where settings of With are from.
const asked = "config"

// key returns the setting's key as Where knows it.
func (s setting) key() string {
	if s.table != "" {
		return s.table + "." + s.name
	}
	return s.name
}

// fault returns why as what is wrong with the setting.
func (s setting) fault(why error) error { return complaint(s.from.String(), s.key(), why) }

// complaint returns what is wrong with a key that was set at a place, which is
// empty for none.
func complaint(at, key string, why error) error {
	key = oneLine(key)
	switch at {
	case "":
		return fmt.Errorf("%s: %w", key, why)
	case asked:
		return fmt.Errorf("%s %s: %w", at, key, why)
	}
	return fmt.Errorf("%s: %s: %w", at, key, why)
}

// oneLine returns a name as a message shows it.
func oneLine(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

// With returns the configuration as it were if each of settings, "KEY=VALUE",
// stood in the file in the place of what that says of the key; of two settings of
// a key the last counts. A KEY of a table is TABLE.KEY, as in maui.FSDEPTH=5. A
// VALUE is as in the file, but strings need no quotes. c is what Default, Parse or
// Load returned, or With. Attributes of Maui's credentials, as in
// maui.USERCFG[john]=PRIORITY=3, and of Grid Engine's objects, as in sge.users.alice.fshare=5
// and sge.share_tree./eng=60, leave the others as they are. The error is one line,
// `config KEY: why`.
func (c Config) With(settings []string) (Config, error) {
	said := slices.Clone(c.said)
	for _, text := range settings {
		s, err := ask(text)
		if err != nil {
			return Config{}, err
		}
		said = replaced(said, s)
	}
	return build(said)
}

// replaced returns the settings with s in the place of the first of those that it replaces,
// for the order of some means something.
func replaced(said []setting, s setting) []setting {
	at := slices.IndexFunc(said, func(old setting) bool { return old.replacedBy(s) })
	if at < 0 {
		return append(said, s)
	}
	said[at] = s
	rest := slices.DeleteFunc(said[at+1:], func(old setting) bool { return old.replacedBy(s) })
	return said[:at+1+len(rest)]
}

// replacedBy reports whether nothing is left of what the setting says. What is said of a
// credential adds up.
func (s setting) replacedBy(other setting) bool {
	t, _ := tableNamed(s.table)
	return s.identity() == other.identity() && (t.addsUp == nil || !t.addsUp(s.name))
}

// identity is what two settings of the same have in common.
func (s setting) identity() string {
	if k, of, ok := limitKey(s.name); ok && s.table == "" {
		return k.Name + " " + strings.ToLower(of)
	}
	if k, group, ok := groupKey(s.name); ok && s.table == "" {
		return k.Name + " " + strings.ToLower(group)
	}
	if s.table == groupTable {
		return strings.ToLower(s.key())
	}
	return current(s.key())
}

// current returns the name that a key goes by: older manuals call one of them otherwise, as do
// aliases of tables, and both are taken.
func current(name string) string {
	if name == "GROUP_DYNAMIC_MACH_CONSTRAINT" {
		return "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT"
	}
	if table, alias, dotted := strings.Cut(name, "."); dotted {
		if t, _ := tableNamed(table); t.aliases[alias] != "" {
			return table + "." + t.aliases[alias]
		}
	}
	return name
}

// same tells that another setting is of the same, under another name.
func (s setting) same(other setting) error {
	if strings.EqualFold(s.name, other.name) {
		return fmt.Errorf("%s is the same (%s): case does not count", s.name, s.from)
	}
	return fmt.Errorf("%s is the same (%s): one of the two is another name of it; leave one out", s.name, s.from)
}

// ask reads KEY=VALUE.
func ask(text string) (setting, error) {
	key, value, ok := strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	s := setting{name: strings.Trim(key, `"`), from: origin{file: asked}, text: value, value: value}
	if v, ok := tomlValue(value); ok {
		s.value = v
	}
	if !ok || s.name == "" {
		return s, setting{name: text, from: origin{file: asked}}.fault(errors.New("want KEY=VALUE"))
	}
	table, name, dotted := strings.Cut(s.name, ".")
	t, isTable := tableNamed(table)
	if _, _, limit := limitKey(s.name); dotted && isTable && !limit {
		s.table, s.name = table, strings.Trim(name, `"`)
		if t.parts != nil {
			if s.parts = t.parts(s.name); s.parts != nil {
				s.name = strings.Join(s.parts, ".")
			}
		}
	}
	if _, whole := tableNamed(s.name); whole && s.table == "" {
		return s, s.fault(fmt.Errorf("a table: want one key of it, %s.KEY=VALUE", s.name))
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

// checked returns the value of a setting for the key, in the type of Default.
func (k Key) checked(s setting) (any, error) {
	switch s.value.(type) {
	case string:
	case int64, float64:
		if s.from.file == asked && (k.Kind == String || k.Kind == Expression) {
			return k.value(s.text) // 1 is an expression, too
		}
	default:
		if s.from.file == asked && (k.Kind == String || k.Kind == Expression || k.Kind == Time) {
			return k.value(s.text) // and so is true; 12:00:00 is a time of the day to TOML
		}
	}
	return k.value(s.value)
}

// origin is where a setting is from. The zero value is nowhere.
type origin struct {
	file string // or asked
	line int    // from 1; 0: that of the value, if there is one
	// The decoder reads the whole text for each line that it tells, so that of a value
	// is looked up when somebody wants to know.
	in    *reader
	value toml.Primitive
	table *opened  // in the place of value: what the path begins in
	path  []string // from the table to what it is the place of
}

// opened is a table of many values, which are taken apart once for all of their places.
type opened struct {
	table toml.Primitive
	once  sync.Once
	names map[string]toml.Primitive
}

// value returns what the table has under a name.
func (o *opened) value(r *reader, name string) toml.Primitive {
	o.once.Do(func() {
		if r.meta.PrimitiveDecode(o.table, &o.names) != nil {
			o.names = nil
		}
	})
	if p, ok := o.names[name]; ok {
		return p
	}
	return o.table
}

// String returns "file:line", asked, or nothing.
func (o origin) String() string {
	line := o.line
	if line == 0 && o.in != nil {
		value := o.value
		if o.table != nil {
			value = o.in.down(o.table.value(o.in, o.path[0]), o.path[1:])
		}
		if _, line = o.in.look(value); line == 0 {
			line = max(o.in.dotted(value), 1)
		}
	}
	if line == 0 {
		return o.file
	}
	return fmt.Sprintf("%s:%d", o.file, line)
}

// from returns where a value is from.
func (r *reader) from(p toml.Primitive) origin { return origin{file: r.file, in: r, value: p} }

// plain returns a key's value.
func (r *reader) plain(p toml.Primitive) (value any) {
	if err := r.meta.PrimitiveDecode(p, &value); err != nil {
		value, _ = r.look(p)
	}
	return value
}

// down returns what the path leads to in a table.
func (r *reader) down(p toml.Primitive, path []string) toml.Primitive {
	for _, name := range path {
		inside := map[string]toml.Primitive{}
		if r.meta.PrimitiveDecode(p, &inside) != nil {
			return p
		}
		next, ok := inside[name]
		if !ok {
			return p
		}
		p = next
	}
	return p
}

// keyNames are the names of a table's keys, in the order of the file, and what is below them.
type keyNames struct {
	names []string
	below map[string]*keyNames
}

// add adds a key with the tables that it is in.
func (k *keyNames) add(path []string) {
	for _, name := range path {
		next := k.below[name]
		if next == nil {
			if k.below == nil {
				k.below = map[string]*keyNames{}
			}
			next = &keyNames{}
			k.below[name], k.names = next, append(k.names, name)
		}
		k = next
	}
}

// below returns the names of a table's keys in the order of the file. keys are those there
// are.
func (r *reader) below(keys map[string]toml.Primitive, table ...string) []string {
	var names []string
	for _, name := range r.order(table...) {
		if _, ok := keys[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// order returns the names of a table's keys and tables in the order of the file.
func (r *reader) order(table ...string) []string {
	if r.keys == nil {
		r.keys = &keyNames{}
		for _, path := range r.meta.Keys() {
			r.keys.add(path)
		}
	}
	at := r.keys
	for _, name := range table {
		if at = at.below[name]; at == nil {
			return nil
		}
	}
	return at.names
}

// Line is one setting.
type Line struct {
	Key   string // as With and Where know it
	Value any    // in the type of the key's Default; of a key with a name in it, as the file has it
	From  string // "FILE:LINE", "config" when With set it, or "default"
}

// Text returns the value as a file has it.
func (l Line) Text() string { return literal(l.Value) }

// Lines returns all settings: the keys of the top and those of each table, and then the
// keys with names in them that were set, in the order of their names.
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
	add("", Keys)
	for _, t := range policyTables {
		add(t.name+".", t.keys)
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

// namedValue is what was said of a key with a name in it, or of one of its attributes. Of a large
// site there are thousands, so that they are put in order when Lines asks for them.
type namedValue struct {
	key, attribute string // attribute is empty where the key has all
	value          any
	from           origin
}

// literal returns a value as a file has it.
func literal(v any) string {
	texts := []string{}
	switch list := v.(type) {
	case []string:
		for _, one := range list {
			texts = append(texts, literal(one))
		}
	case []any:
		for _, one := range list {
			texts = append(texts, literal(one))
		}
	case map[string]any: // an object of which nothing else is said
		return "{}"
	default:
		return shown(v)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

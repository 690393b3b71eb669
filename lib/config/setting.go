package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// replacedBy tells whether nothing is left of what the setting says. What is said of a
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

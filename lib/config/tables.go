package config

import (
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"fairspool/lib/nearest"
)

// policyTable is a table of the file that holds the settings of a policy, or of accounting groups,
// under their own names.
type policyTable struct {
	name string
	keys []Key
	// first are keys that are taken before all others, in this order: those that the rest is
	// read by.
	first []string
	later func() laterKeys
	// begin sets what the defaults of keys do not.
	begin func(*Config)
	// plain returns a value as a key takes it.
	plain func(Key, any) any
	// inside returns what a table in the table says; ok is false for a table that is a value.
	inside func(r *reader, name string, p toml.Primitive, all map[string]any) (said []setting, ok bool)
	// parts takes a key apart that has a name in it.
	parts func(name string) []string
	// addsUp reports whether what two settings of the key say counts both.
	addsUp func(name string) bool
	// aliases are other names of keys.
	aliases map[string]string
	// taken does what follows from a key that was set: it reads the file that the key names.
	taken func(*Config, setting) error
	// named sets what a key with a name in it says, and reports whether it is one.
	named func(*Config, setting) (bool, error)
	// finish makes of all settings what takes several of them.
	finish func(*Config) error
	// warn warns of settings without effect.
	warn func(*Config)
}

// policyTables are the tables: each is registered here.
var policyTables []*policyTable

func init() { // for what tables call looks at all tables
	policyTables = []*policyTable{
		{name: groupTable, later: laterNames(""), inside: (*reader).groupMembers, named: (*Config).takeGroup},
		mauiTable(),
		sgeTable(),
	}
}

// tableNamed returns the table of the name; without one, an empty table.
func tableNamed(name string) (t *policyTable, ok bool) {
	for _, t := range policyTables {
		if t.name == name {
			return t, true
		}
	}
	return &policyTable{}, false
}

// tableOf returns the table that a key belongs into; empty for none.
func tableOf(key string) string {
	for _, t := range policyTables {
		if slices.Contains(namesOf(t.keys), key) {
			return t.name
		}
	}
	return ""
}

// take sets what a key of the table is set to.
func (t *policyTable) take(c *Config, s setting) error {
	_, name, _ := strings.Cut(current(s.key()), ".")
	i := slices.IndexFunc(t.keys, func(k Key) bool { return k.Name == name })
	if i >= 0 {
		if t.plain != nil {
			s.value = t.plain(t.keys[i], s.value)
		}
		return t.keys[i].take(c, s)
	}
	if ok, err := t.later().take(s.name, s.value); ok {
		return err
	}
	if ok, err := t.named(c, s); ok {
		return err
	}
	return unknownKey(nearest.Hint(s.name, namesOf(t.keys)))
}

func namesOf(keys []Key) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.Name
	}
	return list
}

// words tells whether name is one of the words of list.
func words(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

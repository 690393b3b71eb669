package config

import (
	"slices"
	"strings"

	"fairspool/lib/nearest"
)

// policyTable is a table of the file that holds another policy's parameters
// under their own names.
type policyTable struct {
	keys  []Key
	later func() laterKeys
	// named sets what a key says that has somebody's name in it, if it is one; nil: there
	// are none.
	named func(*Config, setting) (bool, error)
}

// policyTables are the tables by name.
func policyTables() map[string]policyTable {
	return map[string]policyTable{
		groupTable: {later: laterNames(""), named: (*Config).takeGroup},
		"maui":     {MauiKeys, laterMaui, (*Config).takeMaui},
		"sge":      {SGEKeys, laterSGE, (*Config).takeSGE},
	}
}

// tableOf returns the table that a key belongs into; empty for none.
func tableOf(key string) string {
	for _, name := range []string{"maui", "sge"} {
		if slices.Contains(namesOf(policyTables()[name].keys), key) {
			return name
		}
	}
	return ""
}

// take sets what a key of the table is set to.
func (t policyTable) take(c *Config, s setting) error {
	_, name, _ := strings.Cut(current(s.key()), ".")
	i := slices.IndexFunc(t.keys, func(k Key) bool { return k.Name == name })
	if i >= 0 {
		c.warnOfUnset(t.keys[i], s)
		if s.table == "sge" {
			s.value = t.keys[i].plain(s.value)
		}
		return t.keys[i].take(c, s)
	}
	if ok, err := t.later().take(s.name, s.value); ok {
		return err
	}
	if t.named != nil {
		if ok, err := t.named(c, s); ok {
			return err
		}
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

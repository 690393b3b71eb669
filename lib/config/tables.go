package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"fairspool/lib/nearest"
)

// policyTable is a table of the file that holds another policy's parameters
// under their own names.
type policyTable struct {
	keys []Key
	// later tells of names that the policy has and this version does not serve.
	later func(string) bool
}

// policyTables are the tables by name.
func policyTables() map[string]policyTable {
	return map[string]policyTable{"maui": {MauiKeys, laterMaui}, "sge": {SGEKeys, laterSGE}}
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

// table reads the keys of a policy's table, in the order of the file. Where and
// Complain know them as NAME.KEY.
func (r *reader) table(c *Config, name string, t policyTable, p toml.Primitive) error {
	inside := map[string]toml.Primitive{}
	value, line := r.look(p)
	if _, ok := value.(map[string]any); !ok || r.meta.PrimitiveDecode(p, &inside) != nil {
		return fmt.Errorf("%s:%d: %s: %s: want a table of keys", r.file, line, name, shown(value))
	}
	for _, path := range r.meta.Keys() {
		if len(path) != 2 || path[0] != name {
			continue
		}
		value, line := r.look(inside[path[1]])
		full := name + "." + path[1]
		if err := t.key(c, path[1], value); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", r.file, line, full, err)
		}
		c.where[full] = fmt.Sprintf("%s:%d", r.file, line)
	}
	return nil
}

func (t policyTable) key(c *Config, name string, value any) error {
	i := slices.IndexFunc(t.keys, func(k Key) bool { return k.Name == name })
	switch {
	case i < 0 && t.later(name):
		return fmt.Errorf("not part of this version")
	case i < 0:
		return fmt.Errorf("unknown key%s", nearest.Hint(name, namesOf(t.keys)))
	}
	v, err := t.keys[i].value(value)
	if err != nil {
		return err
	}
	t.keys[i].set(c, v)
	return nil
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

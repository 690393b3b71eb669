package config

import (
	"maps"
	"slices"
	"strings"
)

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

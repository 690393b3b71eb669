package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/BurntSushi/toml"
)

// reader reads a configuration file.
type reader struct {
	schema *Schema
	file   string
	meta   toml.MetaData
	keys   *keyNames // of meta; nil until asked for
}

// errSeen ends a sighting: the decoder adds the line to it.
var errSeen = errors.New("seen")

// sighting takes any value as it is. It fails on purpose, because the decoder
// tells lines in errors only.
type sighting struct{ value any }

func (s *sighting) UnmarshalTOML(v any) error {
	s.value = v
	return errSeen
}

// look returns a key's value and the line on which the value begins; 0 for a table that has
// none of its own.
func (r *reader) look(p toml.Primitive) (value any, line int) {
	var s sighting
	var at toml.ParseError
	meta := r.meta // decoding notes positions in a copy, so lookups change nothing
	if err := meta.PrimitiveDecode(p, &s); errors.As(err, &at) {
		line = at.Position.Line
	}
	return s.value, line
}

// dotted returns the first line of a table's keys, and of those in tables there: the table
// that a name with a dot and no quotes makes has no line of its own. 0 without keys.
func (r *reader) dotted(p toml.Primitive) (first int) {
	inside := map[string]toml.Primitive{}
	if r.meta.PrimitiveDecode(p, &inside) != nil {
		return 0
	}
	for _, q := range inside {
		_, at := r.look(q)
		if at = max(at, r.dotted(q)); at > 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}

// settings returns the settings of the file, in its order; the keys of a table come where the
// table begins.
func (r *reader) settings(top map[string]toml.Primitive) []Setting {
	var said []Setting
	for _, name := range r.below(top) {
		value, from := r.plain(top[name]), r.from(top[name])
		if _, table := value.(map[string]any); table {
			if t := r.schema.table(name); t != nil {
				said = append(said, r.inside(t, top[name])...)
				continue
			}
			if named(name, value) {
				_, line := r.look(top[name])
				from = Origin{File: r.file, Line: max(line, r.dotted(top[name]), 1)}
			}
		}
		said = append(said, Setting{Name: name, Value: value, From: from})
	}
	return said
}

// inside returns the file's settings in a table of the schema.
func (r *reader) inside(t *Table, p toml.Primitive) []Setting {
	keys := map[string]toml.Primitive{}
	if r.meta.PrimitiveDecode(p, &keys) != nil {
		return nil
	}
	var said []Setting
	for _, name := range r.below(keys, t.Name) {
		value := r.plain(keys[name])
		if all, inner := value.(map[string]any); inner && t.Depth != nil {
			if depth := t.Depth(name); depth > 0 {
				said = append(said, r.named(t, name, keys[name], all, depth)...)
				continue
			}
		}
		said = append(said, Setting{Table: t.Name, Name: name, Value: value, From: r.from(keys[name]), Folder: filepath.Dir(r.file)})
	}
	return said
}

// named returns the settings of a table in a table, with names down to the depth. A large site
// has thousands of them: the table is read at once, and places are looked up on demand.
func (r *reader) named(t *Table, table string, p toml.Primitive, all map[string]any, depth int) (said []Setting) {
	places := &opened{table: p}
	var descend func(inside map[string]any, parts []string)
	descend = func(inside map[string]any, parts []string) {
		for _, name := range r.order(append([]string{t.Name}, parts...)...) {
			value, parts := inside[name], append(slices.Clip(parts), name)
			deeper, isTable := value.(map[string]any)
			if isTable && len(deeper) > 0 && len(parts) <= depth {
				descend(deeper, parts)
				continue
			}
			from := Origin{File: r.file, in: r, table: places, path: parts[1:]}
			if isTable && t.Name == groupTable { // a name with a dot and without quotes, which its key's error reports
				from = Origin{File: r.file, Line: max(r.dotted(places.at(r, parts[1:])), 1)}
			}
			said = append(said, Setting{Table: t.Name, Name: t.join(parts), Parts: parts, Value: value, From: from})
		}
	}
	descend(all, []string{table})
	return said
}

// stray complains of a known top-level key that stands in a table: TOML has
// no way back to the top once a table has begun, so a key appended to a file
// lands in its last table.
func (r *reader) stray(top map[string]toml.Primitive) error {
	for _, path := range r.meta.Keys() {
		name := path[len(path)-1]
		if len(path) != 2 || !belongsAtTop(name, r.schema.table(path[0]) != nil) {
			continue
		}
		table := map[string]toml.Primitive{}
		if r.meta.PrimitiveDecode(top[path[0]], &table) != nil {
			continue
		}
		s := Setting{Name: name, From: r.from(table[name])}
		return s.Fault(fmt.Errorf("stands in table [%s]; move it above the first table", path[0]))
	}
	return nil
}

// Origin is where a setting is from. The zero value is nowhere.
type Origin struct {
	File string // or asked
	Line int    // from 1; 0: the value's, if there is one
	// The decoder reads the whole text to find a line, so a value's line is looked up on
	// demand.
	in    *reader
	value toml.Primitive
	table *opened  // in the place of value: the table that the path begins in
	path  []string // from the table to the value
}

// opened is a table of many values, which are taken apart once for all of their places.
type opened struct {
	table toml.Primitive
	once  sync.Once
	names map[string]toml.Primitive
}

// at returns the value of the path in the table.
func (o *opened) at(r *reader, path []string) toml.Primitive {
	o.once.Do(func() {
		if r.meta.PrimitiveDecode(o.table, &o.names) != nil {
			o.names = nil
		}
	})
	if p, ok := o.names[path[0]]; ok {
		return r.down(p, path[1:])
	}
	return o.table
}

// String returns "file:line", asked, or nothing.
func (o Origin) String() string {
	line := o.Line
	if line == 0 && o.in != nil {
		value := o.value
		if o.table != nil {
			value = o.table.at(o.in, o.path)
		}
		if _, line = o.in.look(value); line == 0 {
			line = max(o.in.dotted(value), 1)
		}
	}
	if line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, line)
}

// from returns where a value is from.
func (r *reader) from(p toml.Primitive) Origin { return Origin{File: r.file, in: r, value: p} }

// plain returns a key's value.
func (r *reader) plain(p toml.Primitive) (value any) {
	if err := r.meta.PrimitiveDecode(p, &value); err != nil {
		value, _ = r.look(p)
	}
	return value
}

// down returns the value of the path in a table.
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

// keyNames are the names of a table's keys, in the order of the file, and the names below
// them.
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

// below returns the names of a table's keys in the order of the file. keys are the table's
// keys.
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

// belongsAtTop reports whether a key in a table is one of the top level. In a table that is not of
// the schema, sw.matlab_LIMIT without quotes looks like one that does.
func belongsAtTop(key string, ofSchema bool) bool {
	if keyIndex(Keys, today(key)) >= 0 {
		return true
	}
	_, _, group := groupKey(key)
	_, _, limit := limitKey(key)
	return ofSchema && (group || limit)
}

package config

import (
	"fmt"
	"sync"

	"github.com/BurntSushi/toml"
)

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

package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/BurntSushi/toml"

	"fairspool/lib/nearest"
)

// Parse reads the text of a configuration file; file is its name in errors
// and for Where.
func Parse(file string, text []byte) (Config, error) {
	top := map[string]toml.Primitive{}
	meta, err := toml.Decode(string(text), &top)
	if err != nil {
		return Config{}, syntaxError(file, err)
	}
	r := reader{file: file, meta: meta}
	if err := r.stray(top); err != nil {
		return Config{}, err
	}
	c := Default()
	c.where = map[string]string{}
	for _, name := range r.inOrder(top) {
		if t, ok := policyTables()[name]; ok {
			if err := r.table(&c, name, t, top[name]); err != nil {
				return Config{}, err
			}
			continue
		}
		value, line := r.look(top[name])
		if _, table := value.(map[string]any); table {
			line = max(line, r.dotted(name, top[name]))
		}
		if err := r.key(&c, name, value, line); err != nil {
			return Config{}, err
		}
		c.where[name] = fmt.Sprintf("%s:%d", file, line)
	}
	if err := c.groups(); err != nil {
		return Config{}, err
	}
	return c, nil
}

type reader struct {
	file string
	meta toml.MetaData
}

// inOrder returns the top-level keys in the order of the file, so that the
// first mistake is the one that is told.
func (r *reader) inOrder(top map[string]toml.Primitive) []string {
	names := make([]string, 0, len(top))
	seen := make(map[string]bool, len(top))
	for _, k := range r.meta.Keys() {
		if _, ok := top[k[0]]; ok && !seen[k[0]] {
			seen[k[0]] = true
			names = append(names, k[0])
		}
	}
	return names
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

// look returns a key's value and the line on which the value begins.
func (r *reader) look(p toml.Primitive) (value any, line int) {
	var s sighting
	var at toml.ParseError
	if err := r.meta.PrimitiveDecode(p, &s); errors.As(err, &at) {
		line = at.Position.Line
	}
	return s.value, max(line, 1)
}

// dotted returns the line of a group's key whose name has a dot and no quotes:
// the table that this makes has no line of its own. 0 for other keys.
func (r *reader) dotted(name string, p toml.Primitive) (first int) {
	inside := map[string]toml.Primitive{}
	if _, _, ok := groupKey(name); !ok || r.meta.PrimitiveDecode(p, &inside) != nil {
		return 0
	}
	for _, q := range inside {
		if _, at := r.look(q); first == 0 || at < first {
			first = at
		}
	}
	return first
}

func (r *reader) key(c *Config, name string, value any, line int) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s: %s", r.file, line, name, fmt.Sprintf(format, args...))
	}
	if isLater(name) {
		return fail("not part of this version")
	}
	i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == name })
	if k, group, ok := groupKey(name); i < 0 && ok {
		if _, table := value.(map[string]any); table {
			return fail("a name with a dot in it needs quotes: \"%s.NAME\" = ...", name)
		}
		v, err := k.value(value)
		if err != nil {
			return fail("%v", err)
		}
		c.setOfGroup(k, name, group, v)
		return nil
	}
	if table := tableOf(name); i < 0 && table != "" {
		return fail("belongs into table [%s]", table)
	}
	if i < 0 {
		return fail("unknown key%s", nearest.Hint(name, names()))
	}
	v, err := Keys[i].value(value)
	if err != nil {
		return fail("%v", err)
	}
	Keys[i].set(c, v)
	return nil
}

// stray complains of a known top-level key that stands in a table: TOML has
// no way back to the top once a table has begun, so a key appended to a file
// lands in its last table.
func (r *reader) stray(top map[string]toml.Primitive) error {
	for _, path := range r.meta.Keys() {
		name := path[len(path)-1]
		if len(path) != 2 || !slices.Contains(names(), name) {
			continue
		}
		table := map[string]toml.Primitive{}
		if r.meta.PrimitiveDecode(top[path[0]], &table) != nil {
			continue
		}
		_, line := r.look(table[name])
		return fmt.Errorf("%s:%d: %s: stands in table [%s]; move it above the first table", r.file, line, name, path[0])
	}
	return nil
}

// names returns every name that a file may hold at the top, for guesses.
func names() []string { return namesOf(Keys) }

// value checks v, as it came from the file, against kind and range, and
// returns it in the type of Default.
func (k Key) value(v any) (any, error) {
	switch k.Kind {
	case Real, Seconds:
		return k.number(v)
	case Integer:
		n, ok := v.(int64)
		if !ok {
			return nil, k.mismatch(v)
		}
		_, err := k.number(n)
		return n, err
	case Boolean:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case String, Expression:
		if s, ok := v.(string); ok {
			return s, k.text(s)
		}
	case Time:
		return k.timeValue(v)
	case Names:
		if list, ok := v.([]any); ok {
			return k.list(list)
		}
	}
	return nil, k.mismatch(v)
}

func (k Key) number(v any) (float64, error) {
	var f float64
	switch n := v.(type) {
	case int64:
		f = float64(n)
	case float64:
		f = n
	default:
		return 0, k.mismatch(v)
	}
	// Written so that a NaN fails too. An infinity is above any Most.
	if !(f >= k.Least && f <= k.Most) {
		return 0, fmt.Errorf("%s: want %s", number(f), k.Range())
	}
	return f, nil
}

func (k Key) text(s string) error {
	if k.check != nil {
		if err := k.check(s); err != nil {
			return err
		}
	}
	if len(k.Choices) > 0 && !slices.Contains(k.Choices, s) {
		return fmt.Errorf("%q: want %s", s, k.Range())
	}
	if k.Kind == Expression && s == "" {
		return errors.New("an empty expression")
	}
	return nil
}

func (k Key) list(values []any) ([]string, error) {
	var list []string
	for _, v := range values {
		s, ok := v.(string)
		if !ok {
			return nil, k.mismatch(v)
		}
		if err := k.text(s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (k Key) mismatch(v any) error { return fmt.Errorf("%s: want %s", shown(v), k.Kind.wanted()) }

// shown returns a value of the file as a message shows it.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case map[string]any, []map[string]any:
		return "a table"
	case []any:
		return "an array"
	case float64:
		return number(v)
	}
	return fmt.Sprint(v)
}

// number writes a number as people do: no needless digits, an exponent only
// where it is shorter.
func number(f float64) string {
	if math.Abs(f) < 1e15 && f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func syntaxError(file string, err error) error {
	var p toml.ParseError
	if !errors.As(err, &p) {
		return fmt.Errorf("%s: %w", file, err)
	}
	return fmt.Errorf("%s:%d: %s", file, max(p.Position.Line, 1), p.Message)
}

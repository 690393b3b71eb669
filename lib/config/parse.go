package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"fairspool/lib/nearest"
)

// Parse reads the text of a configuration file; file is its name in errors
// and for Where. Of other files it reads those that maui_cfg in [maui] and qconf_ssconf and
// the like in [sge] name.
func Parse(file string, text []byte) (Config, error) {
	top := map[string]toml.Primitive{}
	meta, err := toml.Decode(string(text), &top)
	if err != nil {
		return Config{}, syntaxError(file, err)
	}
	r := &reader{file: file, meta: meta}
	if err := r.stray(top); err != nil {
		return Config{}, err
	}
	return build(r.settings(top))
}

// build makes a configuration of the settings and the defaults.
func build(said []setting) (Config, error) {
	c := begun()
	c.said, c.where, c.values = said, make(map[string]origin, len(said)), map[string]any{}
	first := make(map[string]setting, len(said))
	for _, s := range filesFirst(said) {
		if old, twice := first[s.identity()]; twice && old.name != s.name {
			return Config{}, s.fault(old.same(s))
		}
		first[s.identity()] = s
		if err := c.take(s); err != nil {
			return Config{}, s.fault(err)
		}
		c.where[current(s.key())] = s.from
		if t, _ := tableNamed(s.table); t.taken != nil {
			if err := t.taken(&c, s); err != nil {
				return Config{}, s.fault(err)
			}
		}
	}
	if err := c.groups(); err != nil {
		return Config{}, err
	}
	if err := c.requirements(); err != nil {
		return Config{}, err
	}
	for _, t := range policyTables {
		if t.finish != nil {
			if err := t.finish(&c); err != nil {
				return Config{}, err
			}
		}
	}
	for _, t := range policyTables {
		if t.warn != nil {
			t.warn(&c)
		}
	}
	return c, nil
}

// filesFirst puts what the rest is read by in front: the keys that tables name as such, among them
// those of files, which count less than what the tables say.
func filesFirst(said []setting) []setting {
	var first []string
	for _, t := range policyTables {
		for _, name := range t.first {
			first = append(first, t.name+"."+name)
		}
	}
	place := func(s setting) int {
		if i := slices.Index(first, s.key()); i >= 0 {
			return i
		}
		return len(first)
	}
	sorted := slices.Clone(said)
	slices.SortStableFunc(sorted, func(a, b setting) int { return place(a) - place(b) })
	return sorted
}

// take sets what the setting says.
func (c *Config) take(s setting) error {
	table, isTable := tableNamed(cmp.Or(s.table, s.name))
	if s.table != "" {
		return table.take(c, s)
	}
	if isTable {
		return fmt.Errorf("%s: want a table of keys", shown(s.value))
	}
	if ok, err := later().take(s.name, s.value); ok {
		return err
	}
	if i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == current(s.name) }); i >= 0 {
		return Keys[i].take(c, s)
	}
	return c.takeNamed(s)
}

// takeNamed sets what a key with somebody's name in it says: a group's or a
// limit's.
func (c *Config) takeNamed(s setting) error {
	if k, group, ok := groupKey(s.name); ok {
		if _, table := s.value.(map[string]any); table {
			return needsQuotes(s.name + ".NAME")
		}
		v, err := k.value(s.value)
		if err == nil {
			c.setOfGroup(k, s.name, group, v)
		}
		return err
	}
	if k, of, ok := limitKey(s.name); ok {
		if known, ok := resembling(s.name); ok && k.Name == limitSuffix {
			return unknownKey(didYouMean(known))
		}
		v, err := k.value(s.value)
		if err == nil {
			k.setLimit(c, of, v.(float64))
			c.values[s.name] = v
		}
		return err
	}
	if _, _, ok := requirementKey(s.name, nil); ok {
		c.ofRequirements = append(c.ofRequirements, s)
		return nil
	}
	if table := tableOf(s.name); table != "" {
		return fmt.Errorf("belongs into table [%s]", table)
	}
	return unknown(s)
}

// take sets the key to the checked value of the setting.
func (k Key) take(c *Config, s setting) error {
	v, err := k.checked(s)
	if err == nil {
		k.put(c, current(s.key()), v)
	}
	return err
}

// put sets the key, which is named with its table, to a checked value.
func (k Key) put(c *Config, key string, v any) {
	if k.set != nil {
		k.set(c, v)
	}
	c.values[key] = v
}

var errNotServed = errors.New("not part of this version")

type reader struct {
	file string
	meta toml.MetaData
	keys *keyNames // of meta; nil until asked for
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
	meta := r.meta // of which decoding notes something: whoever asks where changes nothing
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

// settings returns what the file says, in its order; the keys of a policy's table
// come where the table begins.
func (r *reader) settings(top map[string]toml.Primitive) []setting {
	var said []setting
	for _, name := range r.below(top) {
		value, from := r.plain(top[name]), r.from(top[name])
		if _, table := value.(map[string]any); table {
			if t, ok := tableNamed(name); ok {
				said = append(said, r.inside(t, top[name])...)
				continue
			}
			if named(name, value) {
				_, line := r.look(top[name])
				from = origin{file: r.file, line: max(line, r.dotted(top[name]), 1)}
			}
		}
		said = append(said, setting{name: name, value: value, from: from})
	}
	return said
}

// inside returns what the file says in a policy's table.
func (r *reader) inside(t *policyTable, p toml.Primitive) []setting {
	keys := map[string]toml.Primitive{}
	if r.meta.PrimitiveDecode(p, &keys) != nil {
		return nil
	}
	var said []setting
	for _, name := range r.below(keys, t.name) {
		value := r.plain(keys[name])
		if all, inner := value.(map[string]any); inner && t.inside != nil {
			if more, ok := t.inside(r, name, keys[name], all); ok {
				said = append(said, more...)
				continue
			}
		}
		said = append(said, setting{table: t.name, name: name, value: value, from: r.from(keys[name]), folder: filepath.Dir(r.file)})
	}
	return said
}

// stray complains of a known top-level key that stands in a table: TOML has
// no way back to the top once a table has begun, so a key appended to a file
// lands in its last table.
func (r *reader) stray(top map[string]toml.Primitive) error {
	for _, path := range r.meta.Keys() {
		name := path[len(path)-1]
		if len(path) != 2 || !belongsAtTop(path[0], name) {
			continue
		}
		table := map[string]toml.Primitive{}
		if r.meta.PrimitiveDecode(top[path[0]], &table) != nil {
			continue
		}
		s := setting{name: name, from: r.from(table[name])}
		return s.fault(fmt.Errorf("stands in table [%s]; move it above the first table", path[0]))
	}
	return nil
}

// belongsAtTop reports whether a key in a table is one of the top level. In a table
// of no policy's, sw.matlab_LIMIT without quotes looks like one that does.
func belongsAtTop(table, key string) bool {
	if slices.ContainsFunc(Keys, func(k Key) bool { return k.Name == current(key) }) {
		return true
	}
	_, _, group := groupKey(key)
	_, _, limit := limitKey(key)
	_, policy := tableNamed(table)
	return policy && (group || limit)
}

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
	case Amount:
		return k.amount(v)
	case Names, Words:
		if list, ok := v.([]any); ok {
			return k.list(list)
		}
		if s, ok := v.(string); ok && k.Kind == Words {
			return wordsOf(s), k.text(s)
		}
	}
	return nil, k.mismatch(v)
}

// amount returns a number, or an expression as it stands, as text.
func (k Key) amount(v any) (any, error) {
	text, isText := v.(string)
	n, isNumber := v.(int64)
	switch x, err := strconv.ParseInt(text, 10, 64); {
	case isText && err == nil:
		n, isNumber = x, true
	case isText && strings.TrimSpace(text) == "":
		return nil, errors.New("an empty expression")
	case isText:
		return text, nil
	case !isNumber:
		return nil, k.mismatch(v)
	}
	_, err := k.number(n)
	return strconv.FormatInt(n, 10), err
}

// wordsOf returns the words of a string, none as nil, as in a Default.
func wordsOf(s string) []string {
	words := strings.Fields(s)
	if len(words) == 0 {
		return nil
	}
	return words
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
	if k.Kind == Expression && s == "" && k.Default != "" && !k.MayBeEmpty {
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

func (k Key) mismatch(v any) error {
	switch v.(type) {
	case bool, int64:
		if k.Kind == Expression {
			return fmt.Errorf("%s: want %s, \"%[1]s\"", shown(v), k.Kind.wanted())
		}
	}
	return fmt.Errorf("%s: want %s", shown(v), k.Kind.wanted())
}

// shown returns a value of the file as a message shows it.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "an array of tables"
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

// words reports whether name is one of the words of list.
func words(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

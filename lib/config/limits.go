package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/nearest"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// LimitKeys are the keys of concurrency limits. The first begins with its Name and ends
// with the name of a set; the second begins with the name of a limit and ends with its
// Name. Names have letters, digits and underscores, no digit first; a limit's name may be
// SET.NAME. Case does not count in them.
var LimitKeys = []LimitKey{
	{Key{Name: "CONCURRENCY_LIMIT_DEFAULT_", Kind: Real, Unit: "units", Least: 0, Most: maxQuota,
		Help: "The concurrency limit of each name in this set without a limit of its own."},
		func(c *Config, set string, v float64) { put(&c.LimitOfSet, set, v) }},
	{Key{Name: limitSuffix, Kind: Real, Unit: "units", Least: 0, Most: maxQuota,
		Help: "The concurrency limit of the name before it: the most units that jobs have at a time."},
		func(c *Config, name string, v float64) { put(&c.LimitOfName, name, v) }},
}

// LimitKey describes the keys that a Name makes with the name of a set or of a
// limit.
type LimitKey struct {
	Key
	setLimit func(c *Config, of string, v float64)
}

const limitSuffix = "_LIMIT"

func put(limits *map[string]float64, name string, v float64) {
	if *limits == nil {
		*limits = map[string]float64{}
	}
	(*limits)[strings.ToLower(name)] = v
}

// limitKey returns which of LimitKeys a key is, and what of.
func limitKey(key string) (k LimitKey, of string, ok bool) {
	if set, ok := strings.CutPrefix(key, LimitKeys[0].Name); ok {
		return LimitKeys[0], set, pool.ResourceName(set)
	}
	name, ok := strings.CutSuffix(key, limitSuffix)
	return LimitKeys[1], name, ok && concurrency.IsName(name) && !meantDefault(name)
}

// resembling returns a key that what looks like a limit's rather is, mistyped.
func resembling(limit string) (key string, ok bool) {
	return nearest.Name(limit, slices.DeleteFunc(KeyNames(Keys), func(k string) bool {
		return k[0] != limit[0] // a limit's own name counts for more than an unlikely mistake
	}))
}

// meantDefault tells of names such as the CONCURRENCY of CONCURRENCY_LIMIT, which
// is CONCURRENCY_LIMIT_DEFAULT cut short rather than a limit.
func meantDefault(name string) bool {
	lower := strings.ToLower(name)
	return strings.Contains(lower, "concur") || lower == "default"
}

// named reports whether a table is what TOML makes of a group's or a limit's name
// with a dot and no quotes: GROUP_QUOTA_a.b or sw.matlab_LIMIT.
func named(key string, table any) bool {
	_, _, group := groupKey(key)
	return group || dottedLimit(key, table) != ""
}

// dottedLimit returns the first limit's key that a table is when its keys stand
// behind its name.
func dottedLimit(key string, table any) string {
	inside, _ := table.(map[string]any)
	for _, rest := range slices.Sorted(maps.Keys(inside)) {
		if _, _, ok := limitKey(key + "." + rest); ok {
			return key + "." + rest
		}
	}
	return ""
}

// unknown returns what to say of a key that there is not, with the nearest one
// that there is.
func unknown(s Setting) error {
	if limit := dottedLimit(s.Name, s.Value); limit != "" {
		return needsQuotes(limit)
	}
	if s.Name != OneLine(s.Name) {
		return unknownKey("")
	}
	name, isLimit := strings.CutSuffix(s.Name, limitSuffix)
	if isLimit && meantDefault(name) {
		return unknownKey(didYouMean("CONCURRENCY_LIMIT_DEFAULT"))
	}
	hint := nearest.Hint(s.Name, append(KeyNames(Keys), madeKeys(s.Name)...))
	if isLimit && hint == "" {
		hint = "; want letters, digits and underscores before " + limitSuffix + ", with one dot at most"
	}
	return unknownKey(hint)
}

func needsQuotes(key string) error {
	return fmt.Errorf("a name with a dot in it needs quotes: %s", strconv.Quote(key)+" = ...")
}

func unknownKey(hint string) error { return fmt.Errorf("unknown key%s", hint) }

func didYouMean(key string) string { return "; did you mean " + key + "?" }

// madeKeys returns the keys of groups and limits that have as many words as a
// key, and the same name in them.
func madeKeys(key string) []string {
	var made []string
	words := strings.Split(key, "_")
	begin := func(prefix string) {
		if n := strings.Count(prefix, "_"); len(words) > n {
			made = append(made, prefix+strings.Join(words[n:], "_"))
		}
	}
	for _, k := range GroupKeys {
		begin(k.Name)
	}
	begin(LimitKeys[0].Name)
	made = append(made, strings.Join(words[:len(words)-1], "_")+limitSuffix)
	return slices.DeleteFunc(made, func(name string) bool {
		_, _, group := groupKey(name)
		_, _, limit := limitKey(name)
		return !group && !limit
	})
}

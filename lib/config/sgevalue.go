package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxWhole bounds the whole numbers that all have a number of the file for themselves.
const maxWhole = 1 << 53

// plain returns a value as the key of [sge] takes it: people paste lines of a sched_conf,
// where numbers, truth and times are text, and quote them all.
func (k Key) plain(v any) any {
	text, isString := v.(string)
	text = strings.TrimSpace(text)
	if x, ok := v.(float64); ok && k.Kind == Integer && x == math.Trunc(x) && math.Abs(x) < maxWhole {
		return int64(x) // 1e6, which its message would show as the whole number that it is
	}
	switch {
	case k.Kind == Boolean:
		return truth(v)
	case isString && k.Kind == Real:
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
	case isString && k.Kind == Integer:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case isString && k.Kind == Time:
		return filled(text)
	case k.Kind == String:
		if text, ok := plainText(v); ok {
			return text
		}
		if yes, ok := v.(bool); ok {
			return fmt.Sprint(yes)
		}
	}
	return v
}

// truth returns what TRUE, FALSE, 1 and 0 stand for, and other values as they are.
func truth(v any) any {
	switch strings.ToLower(fmt.Sprint(v)) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	return v
}

// filled returns a time of which parts are left out, such as 1::30, with zeros for them.
func filled(text string) string {
	parts := strings.Split(text, ":")
	if len(parts) != 3 || text == "::" {
		return text
	}
	for i, p := range parts {
		if p == "" {
			parts[i] = "0"
		}
	}
	return strings.Join(parts, ":")
}

// plainText writes a value of the file as files of Maui and Grid Engine have it: a number,
// a string, or an array of such with commas between.
func plainText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return fmt.Sprint(v), true
	case float64:
		return number(v), true
	case []any:
		texts := make([]string, len(v))
		for i, one := range v {
			text, ok := plainText(one)
			if _, nested := one.([]any); !ok || nested {
				return "", false
			}
			texts[i] = text
		}
		return strings.Join(texts, ","), true
	}
	return "", false
}

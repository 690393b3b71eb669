package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/elapsed"
	"fairspool/lib/pool"
)

// checked returns the value of a setting for the key, in the type of Default.
func (k Key) checked(s Setting) (any, error) {
	switch s.Value.(type) {
	case string:
	case int64, float64:
		if s.From.File == asked && (k.Kind == String || k.Kind == Expression) {
			return k.value(s.text) // 1 is an expression, too
		}
	default:
		if s.From.File == asked && (k.Kind == String || k.Kind == Expression || k.Kind == Time) {
			return k.value(s.text) // and so is true; 12:00:00 is a time of the day to TOML
		}
	}
	return k.value(s.Value)
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
	case Resources:
		if has, ok := v.(map[string]any); ok {
			return k.resources(has)
		}
	}
	return nil, k.mismatch(v)
}

// timeValue returns the seconds that a key of kind Time is set to: a number, or what stands there as
// seconds or [DD:]HH:MM:SS. Two fields are refused: they may be hours and minutes as well as minutes
// and seconds.
func (k Key) timeValue(v any) (any, error) {
	s, ok := v.(string)
	if !ok {
		return k.number(v)
	}
	switch sum, fields, ok := elapsed.Seconds(s); {
	case fields == 2:
		return nil, fmt.Errorf("%q: minutes or hours? want seconds, HH:MM:SS or DD:HH:MM:SS", s)
	case !ok:
		return nil, fmt.Errorf("%q: want seconds, HH:MM:SS or DD:HH:MM:SS", s)
	default:
		if _, err := k.number(sum); err != nil {
			return nil, fmt.Errorf("%q: %w seconds", s, err)
		}
		return sum, nil
	}
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
		return 0, fmt.Errorf("%s: want %s", Number(f), k.Range())
	}
	return f, nil
}

func (k Key) text(s string) error {
	if k.Check != nil {
		if err := k.Check(s); err != nil {
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

// resources returns a table of Cpus and Memory, none as nil, as in a Default.
func (k Key) resources(has map[string]any) (all map[string]int64, err error) {
	for name, v := range has {
		n, ok := v.(int64)
		if name != pool.AttrCpus && name != pool.AttrMemory || !ok {
			return nil, fmt.Errorf("%s = %s: want Cpus and Memory, as in { Cpus = 16, Memory = 64000 }", OneLine(name), Shown(v))
		}
		if _, err := k.number(n); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if all == nil {
			all = map[string]int64{}
		}
		all[name] = n
	}
	return all, nil
}

func (k Key) mismatch(v any) error {
	switch v.(type) {
	case bool, int64:
		if k.Kind == Expression {
			return fmt.Errorf("%s: want %s, \"%[1]s\"", Shown(v), k.Kind.wanted())
		}
	}
	return fmt.Errorf("%s: want %s", Shown(v), k.Kind.wanted())
}

// Shown returns a value of the file as a message shows it.
func Shown(v any) string {
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
		return Number(v)
	}
	return fmt.Sprint(v)
}

// Number writes a number as people do: no needless digits, an exponent only
// where it is shorter.
func Number(f float64) string {
	if math.Abs(f) < 1e15 && f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
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
	case map[string]any: // an object without other settings
		return "{}"
	case map[string]int64:
		for _, name := range slices.Sorted(maps.Keys(list)) {
			texts = append(texts, fmt.Sprint(name, " = ", list[name]))
		}
		return "{ " + strings.Join(texts, ", ") + " }"
	default:
		return Shown(v)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// PlainText writes a value of the file as files of other programs have it: a number,
// a string, or an array of such with commas between.
func PlainText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return fmt.Sprint(v), true
	case float64:
		return Number(v), true
	case []any:
		texts := make([]string, len(v))
		for i, one := range v {
			text, ok := PlainText(one)
			if _, nested := one.([]any); !ok || nested {
				return "", false
			}
			texts[i] = text
		}
		return strings.Join(texts, ","), true
	}
	return "", false
}

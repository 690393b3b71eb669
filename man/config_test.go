package man

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairspool/lib/config"
	"fairspool/lib/maui"
	policy "fairspool/lib/policy/maui"
	"fairspool/lib/policy/registry"
	"fairspool/lib/policy/sge"
)

// settings returns the items of fairspool.toml(5), and of the section SETTINGS of every other page, whose head is a macro.
func settings(t *testing.T, macro string) map[string]string {
	t.Helper()
	all := read(t, "fairspool.toml.5").items(macro)
	for _, p := range pages(t) {
		if p.file == "fairspool.toml.5" {
			continue
		}
		for name, text := range p.part("SETTINGS").items(macro) {
			if _, twice := all[name]; twice {
				t.Errorf("%s: describes %s, and so does another page", p.file, name)
			}
			all[name] = text
		}
	}
	return all
}

// TestKeys holds the pages' settings to the table of keys: the same keys, each
// with its kind, unit, range and default, save those that stand in a table.
func TestKeys(t *testing.T) {
	items := settings(t, "Ic")
	inTable := takeRows(t, items)
	for _, k := range slices.Concat(registry.Keys(), policy.Keys, sge.Keys) {
		if inTable[k.Name] {
			continue
		}
		text, ok := items[k.Name]
		if !ok {
			t.Errorf("settings: lacks %s", k.Name)
			continue
		}
		delete(items, k.Name)
		head := strings.TrimSpace(text)
		before, value, _ := strings.Cut(strings.TrimPrefix(head, "\n"), "; default ")
		if !strings.HasPrefix(before, kind(k)) {
			t.Errorf("settings: %s is a %q, want %q", k.Name, before, kind(k))
		}
		if !strings.HasPrefix(value+"\n", initial(k)+"\n") {
			value, _, _ = strings.Cut(value, "\n")
			t.Errorf("settings: %s has the default %q, want %q", k.Name, value, initial(k))
		}
	}
	for _, k := range withNames() {
		text, ok := items[k.Name]
		delete(items, k.Name)
		if head := strings.TrimSpace(text); !ok || !strings.HasPrefix(head, kind(k)) {
			t.Errorf("settings: %s is a %q, want %q", k.Name, head, kind(k))
		}
	}
	for name := range items {
		t.Errorf("settings: %s is no key of the configuration", name)
	}
}

// takeRows holds the table of Maui's weights and caps to those of the configuration, and
// returns the keys that stand in it. Its rows are left out of items.
func takeRows(t *testing.T, items map[string]string) map[string]bool {
	t.Helper()
	inTable := map[string]bool{}
	row := func(p maui.Parameters, initial maui.Term) {
		second := "Ic " + p.Cap
		if p.Cap == "" {
			second = `\-`
		}
		row := fmt.Sprintf("%s Ta %s Ta %d Ta %s", p.Weight, second, initial.Weight, p.Counts)
		if _, ok := items[row]; !ok {
			t.Errorf("settings: the table lacks the row %q", row)
		}
		delete(items, row)
		inTable[p.Weight], inTable[p.Cap] = true, true // "" is no key
	}
	initial := maui.Default()
	for c := range maui.Components {
		row(c.Parameters(), initial.Components[c])
	}
	for s := range maui.Subs {
		row(s.Parameters(), initial.Subs[s])
	}
	return inTable
}

// beginsConfiguration is how a configuration file begins: with a key or a table.
var beginsConfiguration = regexp.MustCompile(`^(#.*\n)*("?[A-Za-z_]\w*"?(\.\w+)? *=|\[)`)

// TestConfigurations holds that each configuration that the examples of a page with settings show can be read, save for
// files of other programs that it names.
func TestConfigurations(t *testing.T) {
	found := 0
	for _, p := range pages(t) {
		if !p.has("SETTINGS") {
			continue
		}
		text := strings.Join(p.part("EXAMPLES").lines, "\n")
		for _, block := range strings.Split(text, ".Bd -literal")[1:] {
			_, block, _ = strings.Cut(block, "\n")
			block, _, _ = strings.Cut(block, ".Ed")
			if block = escapes.Replace(block); !beginsConfiguration.MatchString(block) {
				continue
			}
			found++
			_, err := registry.Parse("fairspool.toml", []byte(block))
			if err != nil && !strings.Contains(err.Error(), "no such file") {
				t.Errorf("%s: %v, in\n%s", p.file, err, block)
			}
		}
	}
	if found < 8 {
		t.Errorf("found %d configurations, want 8 or more", found)
	}
}

// TestAttributes holds the pages' settings to what may be said of Maui's credentials and of Grid
// Engine's objects.
func TestAttributes(t *testing.T) {
	on := map[string]bool{}
	for names := range settings(t, "Cm") {
		for _, name := range strings.Split(names, " , ") {
			on[name] = true
		}
	}
	known := map[string]bool{}
	for _, a := range policy.Attributes {
		known[a.Name] = true
	}
	for _, a := range sge.Attributes {
		known[a.Name] = true
	}
	for name := range known {
		if !on[name] {
			t.Errorf("settings: lacks the attribute %s", name)
		}
	}
	for name := range on {
		if !known[name] {
			t.Errorf("settings: %s is no attribute of a credential or an object", name)
		}
	}
}

// withNames returns the keys that have somebody's name in them, and no default.
func withNames() []config.Key {
	var keys []config.Key
	for _, k := range config.GroupKeys {
		keys = append(keys, k.Key)
	}
	for _, k := range config.LimitKeys {
		keys = append(keys, k.Key)
	}
	for _, k := range config.RequirementKeys {
		k.Name = "SUBMIT_REQUIREMENT_NAME" + k.Name
		keys = append(keys, k)
	}
	keys = append(keys, config.MemberKey)
	for _, k := range config.EngineKeys {
		keys = append(keys, k.Key)
	}
	return keys
}

// kind returns how the page begins to describe a key.
func kind(k config.Key) string {
	text := k.Kind.String()
	switch k.Kind {
	case config.Amount:
		return "whole number of " + k.Unit + ", from " + number(k.Least) + " to " + number(k.Most) + ", or expression in a string"
	case config.Real, config.Seconds, config.Integer, config.Time:
		if k.Unit != "" && k.Kind == config.Integer {
			text += " of " + k.Unit
		}
		if strings.HasPrefix(k.Range(), "at least ") {
			return text + ", at least " + number(k.Least)
		}
		return text + ", from " + number(k.Least) + " to " + number(k.Most)
	}
	if len(k.Choices) > 0 {
		return text + ", only " + k.Range()
	}
	return text
}

// initial returns a default as the page has it: as in the file, save that a
// long expression stands without quotes.
func initial(k config.Key) string {
	switch v := k.Default.(type) {
	case float64:
		return number(v)
	case string:
		if k.Kind == config.Amount {
			return v
		}
		if k.Kind == config.Expression && strings.Contains(v, " ") {
			return strings.Join(strings.Fields(v), " ")
		}
		return strconv.Quote(v)
	case []string:
		words := make([]string, len(v))
		for i, w := range v {
			words[i] = strconv.Quote(w)
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	return fmt.Sprint(k.Default)
}

// number writes a number without an exponent.
func number(f float64) string {
	if math.Abs(f) > 1e15 {
		return fmt.Sprint(f)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

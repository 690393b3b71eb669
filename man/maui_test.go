package man

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/maui"
	"fairspool/lib/policy/registry"
)

// TestMauiFactors holds that maui(7) has an item for each component and subcomponent that
// counts while a job waits, and no other, and each component's parameters.
func TestMauiFactors(t *testing.T) {
	listed := map[string]bool{}
	p := read(t, "maui.7")
	for _, item := range p.macro("It") {
		if names, ok := strings.CutPrefix(item, "Li "); ok {
			for _, name := range strings.Split(names, " , ") {
				listed[name] = true
			}
		}
	}
	for s := range maui.Subs {
		name := s.String()
		counts := s.Component() != maui.Attribute && s.Component() != maui.Usage && s != maui.UProc && s != maui.UJob
		if listed[name] != counts {
			t.Errorf("maui.7: %s stands in a list: %t, want %t", name, listed[name], counts)
		}
	}
	text := strings.Join(p.lines, "\n")
	for c := range maui.Components {
		p, want := c.Parameters(), c != maui.Attribute && c != maui.Usage
		if is := strings.Contains(text, " Pq Li "+p.Weight+" , "+p.Cap+"\n"); is != want {
			t.Errorf("maui.7: %s and %s stand there: %t, want %t", p.Weight, p.Cap, is, want)
		}
	}
}

// TestMauiExamples reads the configurations among the examples of maui(7): there is nothing
// to say of any of them.
func TestMauiExamples(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "maui.cfg")
	if err := os.WriteFile(file, []byte("QUEUETIMEWEIGHT 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, count := read(t, "maui.7").part("EXAMPLES").lines, 0
	for i, l := range lines {
		if !strings.HasPrefix(l, ".Bd ") {
			continue
		}
		count++
		text := escapes.Replace(strings.Join(lines[i+1:i+slices.Index(lines[i:], ".Ed")], "\n"))
		text = strings.ReplaceAll(text, "/usr/local/maui/maui.cfg", file)
		c, err := registry.Parse("fairspool.toml", []byte(text))
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("maui.7: the example\n%s\n= %v, with the warnings %q, want neither", text, err, c.Warnings)
		}
	}
	if count != 3 {
		t.Errorf("maui.7: %d examples are configurations, want 3", count)
	}
}

package cmd

import (
	"os"
	"strings"
	"testing"

	"fairspool/lib/policy/registry"
)

// TestCommentedConfig holds that docs/fairspool.toml has each key with its default, and that the file with these defaults is one
// that can be read and sets nothing else; -update writes it.
func TestCommentedConfig(t *testing.T) {
	const file = "../docs/fairspool.toml"
	var b strings.Builder
	b.WriteString("# The configuration of fairspool: each key with its default. To change a value, remove the # before the key.\n# fairspool-keys(5) names the page of each key, also of engines, groups and policies. negotiate -check-config checks a file.\n")
	config := registry.Default()
	lines := map[string]string{}
	for _, l := range config.Lines() {
		lines[l.Key] = l.Text()
	}
	for _, k := range registry.Keys() {
		b.WriteString("\n")
		for _, l := range wrapped(k.Help, 118) {
			b.WriteString("# " + l + "\n")
		}
		b.WriteString("#" + k.Name + " = " + lines[k.Name] + "\n")
	}
	text, err := os.ReadFile(file)
	if updating() {
		text, err = []byte(b.String()), os.WriteFile(file, []byte(b.String()), 0o644)
	}
	if err != nil || string(text) != b.String() {
		t.Errorf("%s is not what the keys say, %v: go test -update writes it", file, err)
	}
	var said strings.Builder
	for l := range strings.Lines(string(text)) {
		if strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "# ") {
			said.WriteString(l[1:])
		}
	}
	read, err := registry.Parse("fairspool.toml", []byte(said.String()))
	if err != nil {
		t.Fatalf("the defaults cannot be said: %v", err)
	}
	for i, l := range read.Lines() {
		if want := config.Lines()[i]; l.Text() != want.Text() {
			t.Errorf("%s = %s, want the default %s", l.Key, l.Text(), want.Text())
		}
	}
}

// wrapped breaks a text into lines of so many characters at most.
func wrapped(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

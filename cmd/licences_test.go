package cmd

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// TestLicences holds that every module that is linked into a program is in the
// list of licences, and no other.
func TestLicences(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/licences.md")
	testenv.OK(t, err)
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); len(cells) == 2 && strings.Contains(cells[0], "/") {
			listed[strings.TrimPrefix(cells[0], "| ")] = true
		}
	}
	programs, err := exec.Command("go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./...").Output()
	testenv.OK(t, err)
	out, err := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, strings.Fields(string(programs))...)...).Output()
	testenv.OK(t, err)
	linked := map[string]bool{}
	for _, module := range strings.Fields(string(out)) {
		if module == "fairspool" || linked[module] {
			continue
		}
		if linked[module] = true; !listed[module] {
			t.Errorf("docs/licences.md lacks %s", module)
		}
	}
	for module := range listed {
		if !linked[module] {
			t.Errorf("docs/licences.md has %s, which is not linked in", module)
		}
	}
}

package cmd

import (
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/maui"
)

const (
	mauiPage     = "../docs/maui.md"
	mauiExamples = "../docs/examples/maui"
)

func readMauiPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(mauiPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var mauiSession = regexp.MustCompile("(?s)<!-- Run by cmd/maui_test.go with ([a-z]+\\.toml)\\. -->\n```console\n(.*?)```")

// TestMauiPage runs each session of docs/maui.md in a spool of its own, with the files of
// docs/examples/maui, and compares every line; -update writes what the commands print into
// the page. Each of the files stands in a session, and each session is marked.
func TestMauiPage(t *testing.T) {
	page := readMauiPage(t)
	sessions := mauiSession.FindAllStringSubmatch(page, -1)
	if all := strings.Count(page, "```console"); len(sessions) != all || all == 0 {
		t.Fatalf("%s: %d of %d sessions are marked, want all", mauiPage, len(sessions), all)
	}
	files, err := filepath.Glob(filepath.Join(mauiExamples, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var commands strings.Builder
	for _, s := range sessions {
		configuration, want := s[1], s[2]
		t.Run(configuration, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, filepath.Base(f)), string(b))
			}
			got := playIn(t, dir, want, "FAIRSPOOL_NOW=2026-11-20T18:00:00Z", "FAIRSPOOL_CONFIG="+configuration)
			for line := range strings.Lines(got) {
				if strings.HasPrefix(line, "$ ") {
					commands.WriteString(line)
				}
			}
			switch {
			case got == want:
			case flag.Lookup("update").Value.String() == "true":
				page = strings.Replace(page, s[0], strings.Replace(s[0], want, got, 1), 1)
			default:
				t.Errorf("%s: with %s the session prints\n%s\nnot\n%s", mauiPage, configuration, got, want)
			}
		})
		commands.WriteString(configuration + "\n")
	}
	for _, f := range files {
		if !strings.Contains(commands.String(), filepath.Base(f)) {
			t.Errorf("%s: no session uses it", f)
		}
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(mauiPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	equation  = regexp.MustCompile("`([-+*/^0-9. (),MIN]*[-+*/(), ][-+*/^0-9. (),MIN]*) = ([-0-9.]+)`")
	integer   = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)?\b`)
	inverse   = regexp.MustCompile(`(\([^()]*\)|[0-9.]+)\^-2`)
	bracketed = regexp.MustCompile(`MIN\(([^()]|\([^()]*\))*\)`)
)

// TestMauiPageEquations reckons every `equation = number` of the page anew: the number is
// what it comes to, rounded to as many digits as it has.
func TestMauiPageEquations(t *testing.T) {
	found := equation.FindAllStringSubmatch(readMauiPage(t), -1)
	if len(found) < 34 {
		t.Errorf("%s has %d equations that can be reckoned, want them all, 34 and more", mauiPage, len(found))
	}
	for _, m := range found {
		value, ok := reckon(t, m[1])
		_, digits, _ := strings.Cut(m[2], ".")
		if got := strconv.FormatFloat(value, 'f', len(digits), 64); !ok || got != m[2] {
			t.Errorf("%s: `%s = %s`: it is %s", mauiPage, m[1], m[2], got)
		}
	}
}

// reckon evaluates an equation's left side, in real numbers, as the ClassAd language has it.
func reckon(t *testing.T, text string) (float64, bool) {
	t.Helper()
	text = inverse.ReplaceAllString(text, "pow($1, -2)")
	for bracketed.MatchString(text) {
		text = bracketed.ReplaceAllStringFunc(text, func(s string) string {
			inner := strings.TrimSuffix(strings.TrimPrefix(s, "MIN("), ")")
			return "min({" + inner + "})"
		})
	}
	text = integer.ReplaceAllStringFunc(text, func(s string) string {
		if strings.Contains(s, ".") {
			return s
		}
		return s + ".0"
	})
	e, err := classad.ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %s: %v", mauiPage, text, err)
		return math.NaN(), false
	}
	return e.Eval(&classad.Context{}, nil, nil).Number()
}

// TestMauiPageFacts holds the page's table of a job's facts to the code's, and the submit
// commands in it to the attributes that they set.
func TestMauiPageFacts(t *testing.T) {
	_, table, _ := strings.Cut(readMauiPage(t), "| fact | attributes | set by | unit | default |\n|---|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) != len(maui.Facts) {
		t.Fatalf("%s: %d facts, the code has %d", mauiPage, len(rows), len(maui.Facts))
	}
	for i, f := range maui.Facts {
		cells := strings.Split(strings.Trim(rows[i], "| "), " | ")
		if len(cells) != 5 {
			t.Errorf("%s: the row %q has %d cells, want 5", mauiPage, rows[i], len(cells))
			continue
		}
		want := []string{f.Name, "`" + strings.Join(f.Attributes, "`, `") + "`", cells[2], f.Unit, f.Default}
		if f.Default == "" {
			want[4] = "-"
		}
		if !slices.Equal(cells, want) {
			t.Errorf("%s: the row is\n%q, the code has\n%q", mauiPage, cells, want)
		}
		testMauiCommands(t, f, cells[2])
	}
}

var commandName = regexp.MustCompile("`([a-z_]+)`")

// testMauiCommands holds that each submit command among the words sets an attribute of the
// fact.
func testMauiCommands(t *testing.T, f maui.Fact, words string) {
	for _, m := range commandName.FindAllStringSubmatch(words, -1) {
		name := m[1]
		if name == "prio" { // a program
			continue
		}
		c := exec.Command(filepath.Join(binaries(t), "submit"), "-dry-run", "-", name+"=7", filepath.Join(mauiExamples, "job.sub"))
		c.Env = []string{"HOME=" + t.TempDir(), "FAIRSPOOL_CONFIG=" + filepath.Join(mauiExamples, "john.toml")}
		out, err := c.Output()
		if err != nil {
			t.Fatalf("submit -dry-run with %s: %v", name, err)
		}
		if !slices.ContainsFunc(f.Attributes, func(a string) bool {
			return regexp.MustCompile(`(?m)^` + a + ` = "?7"?$`).Match(out)
		}) {
			t.Errorf("%s: %s: the command %s sets none of %v", mauiPage, f.Name, name, f.Attributes)
		}
	}
}

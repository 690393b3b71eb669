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

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

// page is a page of documentation whose sessions are run, whose equations are reckoned, and
// whose table of facts is held to the code's.
type page struct {
	file     string // of the page
	examples string // folder of the files that the sessions use
	test     string // file of the test, as the marks above the sessions name it
}

func (p page) read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.file)
	testenv.OK(t, err)
	return string(text)
}

// testSessions runs each session of the page in a spool of its own, with all files of the
// examples, and compares every line; -update writes what the commands print into the page.
// Each of the files stands in a session, and each session is marked.
func (p page) testSessions(t *testing.T) {
	text := p.read(t)
	mark := regexp.MustCompile("(?s)<!-- Run by " + regexp.QuoteMeta(p.test) + " with ([a-z]+\\.toml)\\. -->\n```console\n(.*?)```")
	sessions := mark.FindAllStringSubmatch(text, -1)
	if all := strings.Count(text, "```console"); len(sessions) != all || all == 0 {
		t.Fatalf("%s: %d of %d sessions are marked, want all", p.file, len(sessions), all)
	}
	files := p.files(t)
	var used strings.Builder // commands and configurations
	for _, s := range sessions {
		configuration, want := s[1], s[2]
		used.WriteString(configuration + "\n")
		t.Run(configuration, func(t *testing.T) {
			got := playExample(t, files, configuration, want)
			for line := range strings.Lines(got) {
				if strings.HasPrefix(line, "$ ") {
					used.WriteString(line)
				}
			}
			if got != want && updating() {
				text = strings.Replace(text, s[0], strings.Replace(s[0], want, got, 1), 1)
			} else if got != want {
				t.Errorf("%s: with %s the session prints\n%s\nnot\n%s", p.file, configuration, got, want)
			}
		})
	}
	for name, content := range files {
		// A file is used by a session, or by another file.
		if !strings.Contains(used.String(), name) && !namedIn(files, name) {
			t.Errorf("%s/%s, of %d bytes: no session uses it", p.examples, name, len(content))
		}
	}
	if updating() {
		write(t, p.file, text)
	}
}

func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// files returns what is in each file of the examples, by name.
func (p page) files(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(p.examples, "*"))
	testenv.OK(t, err)
	files := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		testenv.OK(t, err)
		files[filepath.Base(name)] = string(b)
	}
	return files
}

// namedIn reports whether a file stands, in quotes, in another one.
func namedIn(files map[string]string, name string) bool {
	for other, content := range files {
		if other != name && strings.Contains(content, strconv.Quote(name)) {
			return true
		}
	}
	return false
}

// playExample runs a session in a folder of its own with these files in it, at the time that
// the pages have.
func playExample(t *testing.T, files map[string]string, configuration, session string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	return playIn(t, dir, session, "FAIRSPOOL_NOW=2026-11-20T18:00:00Z", "FAIRSPOOL_CONFIG="+configuration)
}

var (
	equation  = regexp.MustCompile("`([-+*/^0-9. (),MIN]*[-+*/^(), ][-+*/^0-9. (),MIN]*) = ([-0-9.]+)`")
	integer   = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)?\b`)
	power     = regexp.MustCompile(`(\([^()]*\)|[0-9.]+)\^(-?[0-9]+)`)
	bracketed = regexp.MustCompile(`MIN\(([^()]|\([^()]*\))*\)`)
)

// testEquations reckons every `equation = number` of the page anew: the number is what it
// comes to, rounded to as many digits as it has. There are at least so many.
func (p page) testEquations(t *testing.T, least int) {
	found := equation.FindAllStringSubmatch(p.read(t), -1)
	if len(found) < least {
		t.Errorf("%s has %d equations that can be reckoned, want them all, %d and more", p.file, len(found), least)
	}
	for _, m := range found {
		value, err := reckon(m[1])
		_, digits, _ := strings.Cut(m[2], ".")
		if got := strconv.FormatFloat(value, 'f', len(digits), 64); err != nil || got != m[2] {
			t.Errorf("%s: `%s = %s`: it is %s, %v", p.file, m[1], m[2], got, err)
		}
	}
}

// reckon evaluates an equation's left side, in real numbers, as the ClassAd language has it;
// what is no number is NaN.
func reckon(text string) (float64, error) {
	text = power.ReplaceAllString(text, "pow($1, $2)")
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
		return math.NaN(), err
	}
	if x, ok := e.Eval(&classad.Context{}, nil, nil).Number(); ok {
		return x, nil
	}
	return math.NaN(), nil
}

// fact is something that priorities are reckoned from, as a row of a page's table has it.
type fact struct {
	name       string
	attributes []string
	unit       string
	missing    string // what counts if there is none; empty: nothing
}

// testFacts holds the page's table of a job's facts to the code's, and the submit commands in
// it to the attributes that they set.
func (p page) testFacts(t *testing.T, facts []fact) {
	_, table, _ := strings.Cut(p.read(t), "| fact | attributes | set by | unit | default |\n|---|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) != len(facts) {
		t.Fatalf("%s: %d facts, the code has %d", p.file, len(rows), len(facts))
	}
	for i, f := range facts {
		cells := strings.Split(strings.Trim(rows[i], "| "), " | ")
		if len(cells) != 5 {
			t.Errorf("%s: the row %q has %d cells, want 5", p.file, rows[i], len(cells))
			continue
		}
		want := []string{f.name, "`" + strings.Join(f.attributes, "`, `") + "`", cells[2], f.unit, f.missing}
		if f.missing == "" {
			want[4] = "-"
		}
		if !slices.Equal(cells, want) {
			t.Errorf("%s: the row is\n%q, the code has\n%q", p.file, cells, want)
		}
		p.testCommands(t, f, cells[2])
	}
}

var commandName = regexp.MustCompile("`([a-z_]+)`")

// testCommands holds that each submit command among the words sets an attribute of the fact,
// whatever the policy.
func (p page) testCommands(t *testing.T, f fact, words string) {
	configuration := filepath.Join(t.TempDir(), "empty.toml")
	write(t, configuration, "")
	for _, m := range commandName.FindAllStringSubmatch(words, -1) {
		name := m[1]
		if name == "prio" { // a program
			continue
		}
		c := exec.Command(filepath.Join(binaries(t), "submit"), "-dry-run", "-", name+"=7", filepath.Join(p.examples, "job.sub"))
		c.Env = []string{"HOME=" + t.TempDir(), "FAIRSPOOL_CONFIG=" + configuration}
		out, err := c.Output()
		if err != nil {
			t.Fatalf("submit -dry-run with %s: %v", name, err)
		}
		if !slices.ContainsFunc(f.attributes, func(a string) bool {
			return regexp.MustCompile(`(?m)^` + a + ` = "?7"?$`).Match(out)
		}) {
			t.Errorf("%s: %s: the command %s sets none of %v", p.file, f.name, name, f.attributes)
		}
	}
}

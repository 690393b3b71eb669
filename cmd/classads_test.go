package cmd

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

const classadsPage = "../docs/classads.md"

// TestClassadsPage evaluates every `expression` → `value` and every truth table
// of docs/classads.md; -update writes the values into it.
func TestClassadsPage(t *testing.T) {
	page, err := os.ReadFile(classadsPage)
	testenv.OK(t, err)
	x := newExamples(t, string(page))
	lines := strings.Split(string(page), "\n")
	for i, line := range lines {
		lines[i] = x.tableRow(x.pairs(line))
		if lines[i] != line && flag.Lookup("update").Value.String() != "true" {
			t.Errorf("%s:%d: the engine says\n%s\nnot\n%s", classadsPage, i+1, lines[i], line)
		}
	}
	if x.count < 200 {
		t.Errorf("%s has %d values that can be checked, want them all, more than 200", classadsPage, x.count)
	}
	if flag.Lookup("update").Value.String() == "true" {
		testenv.OK(t, os.WriteFile(classadsPage, []byte(strings.Join(lines, "\n")), 0o644))
	}
}

var pageSummary = regexp.MustCompile("(?s)(<!-- What it prints: TestClassadsPageSummary runs it. -->\n```\n)(.*?)```")

// TestClassadsPageSummary runs what the page says of why nothing matches, with
// its ads; -update writes what is printed into it.
func TestClassadsPageSummary(t *testing.T) {
	page, err := os.ReadFile(classadsPage)
	testenv.OK(t, err)
	ads, shown := pageAds.FindAllStringSubmatch(string(page), -1), pageSummary.FindSubmatch(page)
	if len(ads) != 2 || shown == nil {
		t.Fatalf("%s has %d marked ads and the summary %q, want two and one", classadsPage, len(ads), shown)
	}
	bin, dir := binaries(t), t.TempDir()
	job := strings.ReplaceAll(ads[0][1], "TARGET.Arch", "TARGET.Arhc") + "RequestMemory = 32768\n"
	slot := ads[1][1]
	write(t, filepath.Join(dir, "job.ad"), job)
	write(t, filepath.Join(dir, "slots.ads"), slot+"\n"+slot+"Memory = 32768\nSTART = Owner == \"bob\"\n")
	c := exec.Command(filepath.Join(bin, "classad"), "match", "-summary", "job.ad", "slots.ads")
	c.Dir = dir
	got, err := c.Output()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 1 {
		t.Fatalf("classad match -summary = %v, want exit status 1", err)
	}
	switch {
	case string(got) == string(shown[2]):
	case flag.Lookup("update").Value.String() == "true":
		page = pageSummary.ReplaceAllLiteral(page, []byte(string(shown[1])+string(got)+"```"))
		testenv.OK(t, os.WriteFile(classadsPage, page, 0o644))
	default:
		t.Errorf("%s: match -summary prints\n%s\nnot\n%s", classadsPage, got, shown[2])
	}
}

// examples evaluates what stands on the page.
type examples struct {
	t          *testing.T
	my, target *classad.Ad
	count      int
	operation  string   // of the truth table that a line is in
	right      []string // its columns
}

var pageAds = regexp.MustCompile("(?s)<!-- [^\n]*cmd/classads_test.go[^\n]* -->\n```\n(.*?)```")

// newExamples takes the two ads from the page.
func newExamples(t *testing.T, page string) *examples {
	found := pageAds.FindAllStringSubmatch(page, -1)
	if len(found) != 2 {
		t.Fatalf("%s has %d marked ads, want the own one and the one opposite", classadsPage, len(found))
	}
	var ads [2]*classad.Ad
	for i, f := range found {
		var err error
		if ads[i], err = classad.NewReader(strings.NewReader(f[1]), classadsPage).Next(); err != nil {
			t.Fatal(err)
		}
	}
	return &examples{t: t, my: ads[0], target: ads[1]}
}

// value returns the value of an expression as the page has it.
func (x *examples) value(text string) string {
	x.t.Helper()
	x.count++
	// In a table a bar has a backslash before it.
	e, err := classad.ParseExpr(strings.ReplaceAll(text, `\|`, "|"))
	if err != nil {
		x.t.Errorf("%s: %s: %v", classadsPage, text, err)
		return err.Error()
	}
	return e.Eval(&classad.Context{Now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}, x.my, x.target).String()
}

var pair = regexp.MustCompile("`([^`]+)` → `[^`]*`")

// pairs returns a line with the values that its expressions have.
func (x *examples) pairs(line string) string {
	return pair.ReplaceAllStringFunc(line, func(s string) string {
		text := pair.FindStringSubmatch(s)[1]
		return "`" + text + "` → `" + x.value(text) + "`"
	})
}

var (
	cells    = regexp.MustCompile("`((?:\\\\\\||[^|`])+)`|\\| +(\\|)")
	operandA = regexp.MustCompile(`\ba\b`)
	operandB = regexp.MustCompile(`\bb\b`)
)

// tableRow returns a row of a truth table, which begins with an operation on a,
// or on a and b, with the values that it has.
func (x *examples) tableRow(line string) string {
	if !strings.HasPrefix(line, "|") {
		x.operation = ""
		return line
	}
	var row []string
	for _, m := range cells.FindAllStringSubmatch(line, -1) {
		row = append(row, m[1])
	}
	switch {
	case strings.HasPrefix(line, "| `a "):
		x.operation, x.right = row[0], row[1:]
		return line
	case x.operation == "" || strings.HasPrefix(line, "|-"):
		return line
	}
	row = row[:1]
	for _, b := range x.right {
		text := operandA.ReplaceAllLiteralString(x.operation, row[0])
		row = append(row, x.value(operandB.ReplaceAllLiteralString(text, b)))
	}
	return "| `" + strings.Join(row, "` | `") + "` |"
}

var functionKey = regexp.MustCompile(`(?m)(?:^\t|, )"([a-z][a-z0-9_]+)":`)

// TestClassadsPageHasEveryFunction looks for each function of the engine's
// tables in the first columns of the page's.
func TestClassadsPageHasEveryFunction(t *testing.T) {
	page, err := os.ReadFile(classadsPage)
	testenv.OK(t, err)
	var first strings.Builder
	for line := range strings.SplitSeq(strings.ToLower(string(page)), "\n") {
		if cell, ok := strings.CutPrefix(line, "| "); ok {
			first.WriteString(strings.Split(cell, "|")[0])
		}
	}
	files, err := filepath.Glob("../lib/classad/func_*.go")
	testenv.OK(t, err)
	count := 0
	for _, f := range files {
		source, err := os.ReadFile(f)
		testenv.OK(t, err)
		for _, m := range functionKey.FindAllStringSubmatch(string(source), -1) {
			if m[1] == "is" || m[1] == "isnt" { // operators that anyCompare takes
				continue
			}
			if count++; !strings.Contains(first.String(), "`"+m[1]+"(") {
				t.Errorf("%s does not tell of %s", classadsPage, m[1])
			}
		}
	}
	if count < 85 {
		t.Errorf("the engine's tables have %d functions, want at least 85", count)
	}
}

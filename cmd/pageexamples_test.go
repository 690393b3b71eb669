package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageExamples runs what the section EXAMPLES of each page has a reader type, which begins with a dollar sign, line by line
// in a folder and a pool of its own. A script of the page's name in testdata/examples makes what there is before. Each
// command has to succeed.
func TestPageExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../man/*.[1-8]")
	if err != nil || len(files) == 0 {
		t.Fatalf("manual pages = %v, %v, want some", files, err)
	}
	for _, file := range files {
		page := filepath.Base(file)
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			session := exampleSession(string(text))
			if session == "" && strings.ContainsAny(filepath.Ext(page), "18") {
				t.Fatalf("%s has no example that a reader can type", page)
			}
			stage, err := filepath.Abs(filepath.Join("testdata/examples", page+".sh"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(stage); err == nil {
				session = "$ sh -e " + stage + "\n" + session
			}
			play(t, session)
		})
	}
}

// exampleSession returns what a page has a reader type, a command a line with "$ " before it. A line that ends with a
// backslash goes on in the next.
func exampleSession(page string) string {
	_, examples, _ := strings.Cut(page, "\n.Sh EXAMPLES\n")
	examples, _, _ = strings.Cut(examples, "\n.Sh ")
	roff := strings.NewReplacer(`\(dq`, `"`, `\(aq`, `'`, `\(ti`, `~`, `\(ha`, `^`, `\e`, `\`, `\-`, `-`, `\&`, ``)
	var b strings.Builder
	goesOn := false
	for line := range strings.Lines(examples) {
		line = roff.Replace(strings.TrimPrefix(line, ".Dl "))
		if !goesOn && !strings.HasPrefix(line, "$ ") {
			continue
		}
		line, goesOn = strings.CutSuffix(strings.TrimSuffix(line, "\n"), `\`)
		b.WriteString(line)
		if !goesOn {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

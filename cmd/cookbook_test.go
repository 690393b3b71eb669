package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
)

// A cookbookStage is a folder with the pool and the files of the cookbook, which are made once.
type cookbookStage struct{ dir string }

// newCookbookStage runs the script that makes the stage.
func newCookbookStage(t *testing.T) cookbookStage {
	t.Helper()
	script, err := filepath.Abs("testdata/cookbook.sh")
	testenv.OK(t, err)
	s := cookbookStage{t.TempDir()}
	write(t, filepath.Join(s.dir, "fairspool.toml"), "UID_DOMAIN = \"example.org\"\nNETWORK_HOSTNAME = \"node1\"\n")
	cmdtest.Share(t, s.dir)
	s.run(t, s.dir, "sh -e "+script)
	return s
}

// try runs commands in a copy of the stage with more settings. Each command has to succeed.
func (s cookbookStage) try(t *testing.T, settings string, commands ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "stage")
	if out, err := exec.Command("cp", "-a", s.dir, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(dir, "fairspool.toml")
	text, err := os.ReadFile(file)
	testenv.OK(t, err)
	write(t, file, string(text)+settings)
	s.run(t, dir, commands...)
}

func (s cookbookStage) run(t *testing.T, dir string, commands ...string) {
	t.Helper()
	playOn(t, dir, "$ "+strings.Join(commands, "\n$ "), "FAIRSPOOL_NOW=1790000000", "FAIRSPOOL_CONFIG="+filepath.Join(dir, "fairspool.toml"))
}

// fences returns what stands in a text's blocks of a language.
func fences(text, language string) string {
	var b strings.Builder
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		b.WriteString(m[1])
	}
	return b.String()
}

// TestCookbook runs the commands of each question of docs/cookbook.md in a copy of one stage, after it has put the settings that the
// answer shows into the configuration. An answer has text of at most three lines, and a command.
func TestCookbook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/cookbook.md")
	testenv.OK(t, err)
	stage := newCookbookStage(t)
	questions := strings.Split(string(text), "\n### ")[1:]
	if want := fmt.Sprintf("\n%d questions", len(questions)); !strings.Contains(string(text), want) {
		t.Errorf("the page does not begin with %q", want)
	}
	for _, q := range questions {
		question, answer, _ := strings.Cut(q, "\n")
		t.Run(question, func(t *testing.T) {
			commands := strings.Split(strings.TrimSpace(fences(answer, "sh")), "\n")
			if commands[0] == "" {
				t.Fatal("there is no command")
			}
			if said, _, _ := strings.Cut(strings.TrimSpace(answer), "\n```"); strings.Count(strings.TrimSpace(said), "\n") > 2 {
				t.Errorf("the answer has more than three lines:\n%s", said)
			}
			stage.try(t, fences(answer, "toml"), commands...)
		})
	}
}

// TestMovingHere runs each command in the second column of the tables of docs/moving-here.md in a copy of the cookbook's stage, with the
// settings that the section shows.
func TestMovingHere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/moving-here.md")
	testenv.OK(t, err)
	stage := newCookbookStage(t)
	code := regexp.MustCompile("`([^`]+)`")
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		system, _, _ := strings.Cut(section, "\n")
		t.Run(system, func(t *testing.T) {
			_, table, _ := strings.Cut(section, " |\n|---|---|---|\n")
			table, _, _ = strings.Cut(table, "\n\n")
			rows := strings.Split(strings.TrimSpace(table), "\n")
			if len(rows) < 5 {
				t.Errorf("the table has %d rows, want more", len(rows))
			}
			for _, row := range rows {
				cells := strings.Split(strings.Trim(row, "|"), "|")
				if len(cells) != 3 {
					t.Errorf("%s: %d cells, want 3", row, len(cells))
					continue
				}
				var commands []string
				for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
					commands = append(commands, m[1])
				}
				if ours := strings.TrimSpace(cells[1]); len(commands) > 0 {
					stage.try(t, fences(section, "toml"), commands...)
				} else if ours != "-" {
					t.Errorf("%s: no command", row)
				}
			}
		})
	}
}

package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
)

// console is a session in a page.
var console = regexp.MustCompile("(?s)```console\n(.*?)```")

// TestReadme runs the session in README.md as a new user without configuration, and compares
// every line but for the machine's name and size; -update writes what the commands print into it.
func TestReadme(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	testenv.OK(t, err)
	size := regexp.MustCompile(`\d+ cpus?, [\d.]+ GiB`)
	comparePage(t, "../README.md", func(session string) string {
		u := newNewUser(t)
		var b strings.Builder
		for line := range strings.Lines(session) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				b.WriteString(line + size.ReplaceAllString(strings.ReplaceAll(u.run(command), host, "node1"), "8 cpus, 31.2 GiB"))
			}
		}
		return b.String()
	})
}

// TestTutorial runs the sessions in docs/tutorial.md, likewise, one after the other in one pool, at the times that they set.
func TestTutorial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "fairspool.toml"), "UID_DOMAIN = \"example.org\"\nNETWORK_HOSTNAME = \"node1\"\n")
	cmdtest.Share(t, dir)
	variables := []string{"FAIRSPOOL_NOW=1790000000", "FAIRSPOOL_CONFIG=" + filepath.Join(dir, "fairspool.toml")}
	comparePage(t, "../docs/tutorial.md", func(session string) string {
		var b strings.Builder
		for line := range strings.Lines(session) {
			if set, is := strings.CutPrefix(line, "$ export "); is {
				variables = append(variables, strings.TrimSpace(set))
				b.WriteString(line)
			} else if strings.HasPrefix(line, "$ ") {
				b.WriteString(playOn(t, dir, line, variables...))
			}
		}
		return b.String()
	})
	testenv.Until(t, "the removed jobs have left", func() bool {
		return playOn(t, dir, "$ qstat -af ClusterId", variables...) == "$ qstat -af ClusterId\n"
	})
}

// comparePage compares each session of a page with what it prints when it is played.
func comparePage(t *testing.T, file string, play func(session string) string) {
	t.Helper()
	text, err := os.ReadFile(file)
	testenv.OK(t, err)
	if !console.Match(text) {
		t.Fatalf("%s has no session", file)
	}
	played := console.ReplaceAllFunc(text, func(block []byte) []byte {
		session := string(console.FindSubmatch(block)[1])
		got := play(session)
		if got != session && !cmdtest.Updating() {
			t.Errorf("a session of %s prints\n%s\nnot\n%s", file, got, session)
		}
		return []byte("```console\n" + got + "```")
	})
	if cmdtest.Updating() && !bytes.Equal(played, text) {
		testenv.OK(t, os.WriteFile(file, played, 0o644))
	}
}

// playIn runs each line of a session that begins with "$ " in a folder, with a spool below
// it and some variables, and returns the session as it turned out.
func playIn(t *testing.T, dir, session string, variables ...string) string {
	t.Helper()
	cmdtest.Share(t, dir)
	return playOn(t, dir, session, variables...)
}

// playOn is playIn for a folder that the owners of jobs can write to already, and whose spool is there.
func playOn(t *testing.T, dir, session string, variables ...string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range strings.Split(session, "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		out, err := playCommand(t, dir, command, variables...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		b.WriteString(line + "\n" + string(out))
	}
	return b.String()
}

// playCommand returns the process that playOn runs for a command.
func playCommand(t *testing.T, dir, command string, variables ...string) *exec.Cmd {
	t.Helper()
	cmdtest.NeedUsers(t)
	path := strings.Join([]string{filepath.Join(dir, "bin"), binaries(t), os.Getenv("PATH")}, string(filepath.ListSeparator))
	c := exec.Command("sh", "-c", command)
	c.Dir = dir
	c.Env = append([]string{"PATH=" + path, "HOME=" + dir, "TZ=UTC", "FAIRSPOOL_CYCLE_ON_CHANGE=false", "FAIRSPOOL_DIR=" + filepath.Join(dir, "spool")}, variables...)
	return c
}

// TestReplayGuide runs the session in docs/replay.md with the files that the page shows, and holds its pictures to what is drawn.
func TestReplayGuide(t *testing.T) {
	t.Parallel()
	const page = "../docs/replay.md"
	text, err := os.ReadFile(page)
	testenv.OK(t, err)
	dir := t.TempDir()
	for name, kind := range map[string]string{"week.awk": "awk", "quotas.toml": "toml"} {
		_, shown, ok := strings.Cut(string(text), "`"+name+"`:\n\n```"+kind+"\n")
		if shown, _, _ = strings.Cut(shown, "```"); !ok {
			t.Fatalf("%s does not show %s", page, name)
		}
		write(t, filepath.Join(dir, name), shown)
	}
	comparePage(t, page, func(session string) string { return playIn(t, dir, session) })
	pictures := regexp.MustCompile(`\]\((replay/(\S+\.svg))\)`).FindAllStringSubmatch(string(text), -1)
	if len(pictures) != 3 {
		t.Errorf("%d pictures, want one for each question", len(pictures))
	}
	for _, m := range pictures {
		drawn, err := os.ReadFile(filepath.Join(dir, m[2]))
		testenv.OK(t, err)
		shown := "../docs/" + m[1]
		if updating() {
			write(t, shown, string(drawn))
		}
		if there, err := os.ReadFile(shown); err != nil || string(there) != string(drawn) {
			t.Errorf("%s is not what replay draws: %v", shown, err)
		}
	}
}

// TestLinks holds that what pages of documentation link to, and what manual pages name below docs, is there.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	path := regexp.MustCompile(`(?m)^\.Pa (docs/\S+)`)
	for pattern, names := range map[string]*regexp.Regexp{"../*.md": link, "../docs/*.md": link, "../man/*.[1-8]": path} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s = %v, %v, want some files", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			testenv.OK(t, err)
			dir := filepath.Dir(file)
			if names == path {
				dir = ".."
			}
			for _, m := range names.FindAllStringSubmatch(string(text), -1) {
				if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	}
}

package cmd

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
)

// TestReadme runs the session in README.md and compares every line; -update
// writes what the commands print into it.
func TestReadme(t *testing.T) {
	t.Parallel()
	const file = "../README.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```console\n(.*?)```")
	session := block.FindSubmatch(text)
	if session == nil {
		t.Fatal("README.md has no session")
	}
	got := play(t, string(session[1]))
	if got == string(session[1]) {
		return
	}
	if flag.Lookup("update").Value.String() == "true" {
		text = block.ReplaceAllLiteral(text, []byte("```console\n"+got+"```"))
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("README.md's session prints\n%s\nnot\n%s", got, session[1])
}

// play runs a session in a folder of its own, with the files that it shows, and
// returns it as it turned out.
func play(t *testing.T, session string) string {
	dir := t.TempDir()
	cmdtest.Share(t, dir)
	write(t, filepath.Join(dir, "fairspool.toml"), "UID_DOMAIN = \"example.org\"\nNETWORK_HOSTNAME = \"node1\"\n")
	// The session shows the file; here is what it shows.
	if _, shown, ok := strings.Cut(session, "$ cat square.sub\n"); ok {
		shown, _, _ = strings.Cut(shown, "$ ")
		write(t, filepath.Join(dir, "square.sub"), shown)
	}
	return playIn(t, dir, session, "FAIRSPOOL_NOW=1790000000", "FAIRSPOOL_CONFIG="+filepath.Join(dir, "fairspool.toml"))
}

// playIn runs each line of a session that begins with "$ " in a folder, with a spool below
// it and some variables, and returns the session as it turned out.
func playIn(t *testing.T, dir, session string, variables ...string) string {
	path := binaries(t) + string(filepath.ListSeparator) + cmdtest.Users(t)
	var b strings.Builder
	for _, line := range strings.Split(session, "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		c := exec.Command("sh", "-c", command)
		c.Dir = dir
		c.Env = append([]string{"PATH=" + path, "HOME=" + dir, "TZ=UTC", "FAIRSPOOL_CYCLE_ON_CHANGE=false", "FAIRSPOOL_DIR=" + filepath.Join(dir, "spool")}, variables...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		b.WriteString(line + "\n" + string(out))
	}
	return b.String()
}

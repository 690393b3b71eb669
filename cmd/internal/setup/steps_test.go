package setup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
)

// TestCommandLine holds which command lines are refused before anything is looked at.
func TestCommandLine(t *testing.T) {
	if _, err := os.Stat(configFile); err == nil {
		t.Skipf("%s is there, and may say where the spool is", configFile)
	}
	for _, args := range []string{
		"now", "-purge", "-account Root", "-account 1st", "-account a:b", "-account " + strings.Repeat("a", 33),
		"-dry-run -spool pool -prefix /usr/bin", "-dry-run -spool /var/my%20pool -prefix /usr/bin", "-dry-run -spool / -prefix /usr/bin",
		"-dry-run -prefix bin", "-dry-run -prefix /opt/a;b",
	} {
		cmdtest.Refuses(t, Command(), 2, strings.Fields(args)...)
	}
	cmdtest.Refuses(t, Command(), 1, "-dry-run")                                // the test stands beside no programs
	cmdtest.Refuses(t, Command(), 1, "-dry-run", "-prefix", "/nonexistent/bin") // nor is anything there
}

// TestTexts holds that nothing is left open in what is written, that each text begins with the mark by
// which -undo knows it, and that another place of the spool is told to the commands.
func TestTexts(t *testing.T) {
	p := planOf("fairspool", usualSpool, "/usr/bin", "")
	for _, f := range p.files() {
		if !strings.HasPrefix(f.text, mark+"\n") || strings.ContainsAny(f.text, "{}") {
			t.Errorf("%s: %q", f.path, f.text)
		}
	}
	if text := p.text("fairspool.toml"); !strings.Contains(text, "\n# SPOOL = \"/var/spool/fairspool\"\n") {
		t.Errorf("the configuration sets SPOOL to the usual place: %s", text)
	}
	p.spool = "/srv/pool"
	if text := p.text("fairspool.toml"); !strings.Contains(text, "\nSPOOL = \"/srv/pool\"\n") {
		t.Errorf("the configuration does not set SPOOL: %s", text)
	}
}

// looks holds a step to how it finds its thing.
func looks(t *testing.T, when string, s step, want state, fails bool) {
	t.Helper()
	got, err := s.look()
	var at *stepError
	if got != want || (err != nil) != fails || fails && (!errors.As(err, &at) || at.what != s.what) {
		t.Errorf("%s: %+v, %v, want %+v, an error: %t", when, got, err, want, fails)
	}
}

// does has a step done.
func does(t *testing.T, what string, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFileStep holds that a file is written anew only if fairspool-setup has written it before.
func TestFileStep(t *testing.T) {
	p := planOf("fairspool", usualSpool, "/usr/bin", "")
	path := filepath.Join(t.TempDir(), "etc", "unit")
	s := p.fileStep(file{path, mark + "\ntext\n"})
	looks(t, "nothing is there", s, state{}, false)
	does(t, "make", s.make)
	looks(t, "made", s, state{true, true, true}, false)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if !p.stale {
		t.Error("systemd is not to be told")
	}
	write(t, path, mark+"\nof an earlier version\n")
	looks(t, "of an earlier version", s, state{true, false, true}, false)
	does(t, "make", s.make)
	looks(t, "made anew", s, state{true, true, true}, false)
	write(t, path, "the administrator's\n")
	looks(t, "the administrator's", s, state{there: true}, true)
	does(t, "remove", s.remove)
	looks(t, "removed", s, state{}, false)
	if err := s.remove(); err == nil {
		t.Error("what is not there is removed")
	}
}

// TestFolderStep holds that a folder with something in it is not removed.
func TestFolderStep(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes folders of root's")
	}
	p := planOf("fairspool", usualSpool, "/usr/bin", "")
	path := filepath.Join(t.TempDir(), "fairspool")
	s := p.folder(path)
	looks(t, "nothing is there", s, state{}, false)
	does(t, "make", s.make)
	looks(t, "made", s, state{true, true, true}, false)
	if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeDir|0o755 {
		t.Errorf("the folder is %v, %v", info, err)
	}
	if why := s.keeps(); why != "" {
		t.Errorf("an empty folder stays: %s", why)
	}
	write(t, filepath.Join(path, "mine"), "")
	if why := s.keeps(); !strings.Contains(why, path+"/mine") {
		t.Errorf("a folder stays because of %q, want its file", why)
	}
	does(t, "remove", func() error { return os.Remove(path + "/mine") })
	does(t, "remove", s.remove)
	write(t, path, "")
	looks(t, "a file", s, state{there: true, ours: true}, true)
}

// TestSpoolStep holds that the spool is made where root alone may write, and in no place of another user's.
func TestSpoolStep(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes a spool of another account's")
	}
	p := planOf("fairspool", usualSpool, "/usr/bin", "")
	p.spool = filepath.Join(t.TempDir(), "pool")
	looks(t, "in a folder in which all may write", p.spoolStep(), state{}, true)
	if !p.spoolGoes() {
		t.Error("a spool that is not there stays")
	}
	write(t, p.spool, "")
	looks(t, "a folder above may be changed by all", p.spoolStep(), state{}, true)
}

// TestIsRoots holds what root may run.
func TestIsRoots(t *testing.T) {
	for path, good := range map[string]bool{"/": true, "/etc": true, "/etc/passwd": true, "/tmp": false, "/dev/null": false, "/nonexistent": false} {
		if err := isRoots(path); (err == nil) != good {
			t.Errorf("isRoots(%s) = %v, want it good: %t", path, err, good)
		}
	}
}

// TestEither holds that the second way is gone all the way, and only where there is not the first one.
func TestEither(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct {
		name          string
		first, second []string
		good, made    bool
	}{
		{"the first", []string{"true"}, []string{"touch", out}, true, false},
		{"the first fails", []string{"false"}, []string{"touch", out}, false, false},
		{"the second", []string{"no-such-program"}, []string{"touch", out}, true, true},
		{"the second fails", []string{"no-such-program"}, []string{"false"}, false, true},
		{"neither", []string{"no-such-program"}, []string{"none-either"}, false, true},
	} {
		err := either(c.first, []string{"true"}, c.second)
		if _, missing := os.Stat(out); (err == nil) != c.good || (missing == nil) != c.made {
			t.Errorf("%s: %v, want it good: %t, made: %t", c.name, err, c.good, c.made)
		}
	}
	if err := execute("/bin/sh", "-c", "echo why >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("the error of a command: %v, want what it says", err)
	}
}

// TestEntry holds that an account of a like name is not taken for another.
func TestEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "passwd")
	write(t, path, "root:x:0:0::/:/bin/sh\nfair:x:5:5:c:/:\nfairspool2:x:6:6::/:\n")
	if f, ok := entry(path, "fair"); !ok || f[2] != "5" {
		t.Errorf("fair is %q, %t", f, ok)
	}
	for _, name := range []string{"fairspool", "", "x"} {
		if f, ok := entry(path, name); ok {
			t.Errorf("%q is %q", name, f)
		}
	}
	if isCommented("root") {
		t.Error("root is an account that was made here")
	}
}

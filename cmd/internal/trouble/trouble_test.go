package trouble

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// newSpool returns a folder that passes for a spool.
func newSpool(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "VERSION"), nil, 0o600))
	return dir
}

// lines returns the lines of a log, without their times, which have to be those of now.
func lines(t *testing.T, path string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		at, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if then, err := time.Parse(time.RFC3339, at); err != nil || time.Since(then).Abs() > time.Hour {
			t.Errorf("%q is not dated: %v", line, err)
		}
		list = append(list, text)
	}
	return list
}

func equal(t *testing.T, what, path string, want ...string) {
	t.Helper()
	if got := lines(t, path); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%s: the log has %q, want %q", what, got, want)
	}
}

// TestAdd holds that an error is one line, and is not repeated while it goes on.
func TestAdd(t *testing.T) {
	path := filepath.Join(newSpool(t), "starter.log")
	l := Log{Path: path, About: "job 1.0, attempt 1"}
	for _, text := range []string{"a", "a", "b\nc", "a"} {
		l.Add(errors.New(text))
	}
	equal(t, "one process", path, "job 1.0, attempt 1: a", `job 1.0, attempt 1: b\nc`, "job 1.0, attempt 1: a")
	other := Log{Path: path}
	other.Add(errors.New("job 1.0, attempt 1: a"))
	if n := len(lines(t, path)); n != 4 {
		t.Errorf("another process that heeds no others makes %d lines of 3", n)
	}
}

// TestAgain holds that only one of several processes reports a common trouble, and reports it
// again after a time.
func TestAgain(t *testing.T) {
	path := filepath.Join(newSpool(t), "negotiate.log")
	tell := func(text string, again time.Duration) {
		l := Log{Path: path, Again: again}
		l.Add(errors.New(text))
	}
	tell("a", time.Hour)
	tell("a", time.Hour)
	tell("b", time.Hour)
	tell("a", time.Hour)
	equal(t, "within the hour", path, "a", "b")
	long := time.Now().UTC().Add(-2 * time.Hour).Format(time.RFC3339)
	testenv.OK(t, os.WriteFile(path, []byte(long+" a\nno time at all a\n"), 0o600))
	tell("a", time.Hour)
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), " a\n") != 3 {
		t.Errorf("after two hours the log is %q, %v, want the line again", text, err)
	}
	// Only the end of a long log is looked at.
	testenv.OK(t, os.WriteFile(path, []byte(time.Now().UTC().Format(time.RFC3339)+" a\n"+strings.Repeat("x", 4<<10)+"\n"), 0o600))
	tell("a", time.Hour)
	if text, _ := os.ReadFile(path); strings.Count(string(text), " a\n") != 2 {
		t.Error("a line that stands far behind is taken for a new one")
	}
}

// TestWrite holds that what is written in pieces becomes lines.
func TestWrite(t *testing.T) {
	path := filepath.Join(newSpool(t), "log")
	l := &Log{Path: path}
	for _, text := range []string{"on", "e\ntwo\nthr", "", "ee\n", "rest"} {
		if n, err := io.WriteString(l, text); n != len(text) || err != nil {
			t.Errorf("Write(%q) = %d, %v", text, n, err)
		}
	}
	equal(t, "pieces", path, "one", "two", "three")
}

// TestLast holds that the last line about something is found by a word.
func TestLast(t *testing.T) {
	path := filepath.Join(newSpool(t), "log")
	if line, _ := Last(path, "commands", "X "); line != "" {
		t.Errorf("Last of no log = %q", line)
	}
	l, other := &Log{Path: path, About: "commands"}, &Log{Path: path, About: "job 1.0"}
	for _, text := range []string{"a X 1", "b X 2", "c Y 3"} {
		l.Add(errors.New(text))
		other.Add(errors.New(text))
	}
	if line, at := Last(path, "commands", "X "); line != "b X 2" || time.Since(at).Abs() > time.Hour {
		t.Errorf("Last = %q, %v", line, at)
	}
}

// TestNoLog holds that an error which cannot be written is lost, and that no file is made in a spool that
// was removed.
func TestNoLog(t *testing.T) {
	gone := t.TempDir()
	l := Log{Path: filepath.Join(gone, "log")}
	l.Add(errors.New("a"))
	if names, _ := os.ReadDir(gone); len(names) > 0 {
		t.Errorf("%v is made where no spool is", names)
	}
	dir := newSpool(t)
	testenv.OK(t, os.Mkdir(filepath.Join(dir, "log"), 0o700))
	l = Log{Path: filepath.Join(dir, "log")}
	l.Add(errors.New("a"))
}

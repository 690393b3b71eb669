package cmdline

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplace holds that a file is written as a whole or not at all, whatever
// was there before.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "pool.dump")
	link := filepath.Join(dir, "link")
	if err := os.Symlink("pool.dump", link); err != nil {
		t.Fatal(err)
	}
	say := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			io.WriteString(w, text)
			return err
		}
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		write func(io.Writer) error
		err   error
		left  string
	}{
		{name, say("half", broken), broken, ""},
		{name, say("one", nil), nil, "one"},
		{name, say("half", broken), broken, "one"},
		{name, say("second", nil), nil, "second"},
		{link, say("third", nil), nil, "third"},
	} {
		n, err := Replace(c.name, 0o600, c.write)
		if !errors.Is(err, c.err) || err == nil && n != int64(len(c.left)) {
			t.Errorf("Replace(%s) = %d, %v, want %d, %v", c.name, n, err, len(c.left), c.err)
		}
		got, err := os.ReadFile(name)
		if c.left == "" != os.IsNotExist(err) || string(got) != c.left {
			t.Errorf("%s is then %q, %v, want %q", name, got, err, c.left)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v, %v", info, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v, want the file and the link only", entries, err)
	}
}

func TestReplaceRefuses(t *testing.T) {
	for name, want := range map[string]string{
		t.TempDir():                              "no regular file",
		"/dev/null":                              "no regular file",
		filepath.Join(t.TempDir(), "no", "such"): "no such file or directory",
	} {
		if _, err := Replace(name, 0o600, func(io.Writer) error { return nil }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Replace(%s) = %v, want %s", name, err, want)
		}
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode().IsRegular() {
		t.Errorf("/dev/null is now %v, %v", info, err)
	}
}

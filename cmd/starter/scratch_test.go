package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolderIsOurs holds that nothing is made or removed in a folder that somebody
// else may have put in place of ours.
func TestFolderIsOurs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, want string
		put        func(folder, elsewhere string) error
	}{
		{"a link", "not a folder", func(folder, elsewhere string) error { return os.Symlink(elsewhere, folder) }},
		{"a file", "not a folder", func(folder, _ string) error { return os.WriteFile(folder, nil, 0o600) }},
		{"a folder that others may write to", "others may write there", func(folder, _ string) error {
			if err := os.Mkdir(folder, 0o700); err != nil {
				return err
			}
			return os.Chmod(folder, 0o777)
		}},
	} {
		execute, elsewhere := t.TempDir(), t.TempDir()
		folder := filepath.Join(execute, "spool-1")
		mine := filepath.Join(elsewhere, "12.0.1")
		if err := os.Mkdir(mine, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := c.put(folder, elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := makeFolder(folder); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("makeFolder where %s is = %v, want %s", c.what, err, c.want)
		}
		if err := removeScratch(folder, "12.0.1"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("removeScratch where %s is = %v, want %s", c.what, err, c.want)
		}
		if _, err := os.Stat(mine); err != nil {
			t.Errorf("removeScratch where %s is removed what is not ours: %v", c.what, err)
		}
	}
	folder := filepath.Join(t.TempDir(), "spool-1")
	if err := removeScratch(folder, "12.0.1"); err != nil {
		t.Errorf("removeScratch without a folder = %v, want no error", err)
	}
	for range 2 {
		if err := makeFolder(folder); err != nil {
			t.Errorf("makeFolder = %v, want no error", err)
		}
	}
}

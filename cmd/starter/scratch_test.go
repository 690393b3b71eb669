package main

import (
	"os"
	"path/filepath"
	"testing"

	"fairspool/cmd/internal/cmdtest"
)

// TestFolderIsOurs holds that nothing is made or removed in a folder that somebody
// else may have put in place of ours.
func TestFolderIsOurs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		put  func(folder, elsewhere string) error
	}{
		{"a link", func(folder, elsewhere string) error { return os.Symlink(elsewhere, folder) }},
		{"a file", func(folder, _ string) error { return os.WriteFile(folder, nil, 0o600) }},
		{"a folder that others may write to", func(folder, _ string) error {
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
		for _, err := range []error{makeFolder(folder), removeScratch(folder, "12.0.1")} {
			if err == nil {
				t.Errorf("makeFolder and removeScratch where %s is: no error", c.what)
				continue
			}
			cmdtest.Printed(t, "starter (a scratch folder where "+c.what+" is)", 0, "", err.Error()+"\n")
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

package local

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"fairspool/internal/testenv"
)

// TestFolderIsOurs holds that nothing is made or removed in a folder that somebody
// else may have put in place of ours.
func TestFolderIsOurs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		put  func(folder, elsewhere string) error
		says string
	}{
		{"a link", func(folder, elsewhere string) error { return os.Symlink(elsewhere, folder) }, "not a folder: remove it"},
		{"a file", func(folder, _ string) error { return os.WriteFile(folder, nil, 0o600) }, "not a folder: remove it"},
		{"a folder that others may write to", func(folder, _ string) error {
			if err := os.Mkdir(folder, 0o700); err != nil {
				return err
			}
			return os.Chmod(folder, 0o777)
		}, "others may write there: check its contents, then chmod 700"},
	} {
		execute, elsewhere := t.TempDir(), t.TempDir()
		folder := filepath.Join(execute, "spool-1")
		mine := filepath.Join(elsewhere, "12.0.1")
		testenv.OK(t, os.Mkdir(mine, 0o700))
		testenv.OK(t, c.put(folder, elsewhere))
		for _, err := range []error{Folder{Path: folder}.Make(), Folder{Path: folder}.Remove("12.0.1")} {
			if want := folder + ": " + c.says; err == nil || err.Error() != want {
				t.Errorf("Make and Remove where %s is: %v, want %s", c.what, err, want)
			}
		}
		if _, err := os.Stat(mine); err != nil {
			t.Errorf("Remove where %s is removed what is not ours: %v", c.what, err)
		}
	}
	folder := Folder{Path: filepath.Join(t.TempDir(), "spool-1")}
	if err := folder.Remove("12.0.1"); err != nil {
		t.Errorf("Remove without a folder = %v, want no error", err)
	}
	for range 2 {
		if err := folder.Make(); err != nil {
			t.Errorf("Make = %v, want no error", err)
		}
	}
}

// TestFolderLetsThrough holds that users get through the folder, and through the one above it that is ours, be that
// reached by a link; another one above it is as its administrator made it.
func TestFolderLetsThrough(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run jobs as somebody else")
	}
	dir := t.TempDir()
	link, ours, elsewhere := filepath.Join(dir, "link"), filepath.Join(dir, "ours"), filepath.Join(dir, "elsewhere")
	for _, err := range []error{os.Mkdir(ours, 0o700), os.Symlink(ours, link), os.Mkdir(elsewhere, 0o700)} {
		testenv.OK(t, err)
	}
	for _, c := range []struct {
		folder Folder
		above  fs.FileMode
	}{{Folder{filepath.Join(link, "execute"), link}, 0o711}, {Folder{Path: filepath.Join(elsewhere, "spool-1")}, 0o700}} {
		for range 2 {
			if err := c.folder.Make(); err != nil {
				t.Errorf("%v.Make = %v, want none", c.folder, err)
			}
		}
		for path, want := range map[string]fs.FileMode{c.folder.Path: 0o711, filepath.Dir(c.folder.Path): c.above} {
			info, err := os.Stat(path)
			testenv.OK(t, err)
			if got := info.Mode().Perm(); got != want {
				t.Errorf("after %v.Make %s has mode %v, want %v", c.folder, path, got, want)
			}
		}
	}
}

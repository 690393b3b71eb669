package launch

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRemoveDeepTree removes a tree deeper than files may be open at once.
func TestRemoveDeepTree(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: 256, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	top := filepath.Join(t.TempDir(), "top")
	if err := os.Mkdir(top, 0o700); err != nil {
		t.Fatal(err)
	}
	// Made from the bottom up: no path is long.
	above := filepath.Dir(top)
	for range 2000 {
		wrap := filepath.Join(above, "wrap")
		if err := os.Mkdir(wrap, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(top, filepath.Join(wrap, "d")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(wrap, top); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveTree(top); err != nil {
		t.Errorf("RemoveTree of 2000 levels = %.200v, want no error", err)
	}
	if _, err := os.Lstat(top); !os.IsNotExist(err) {
		t.Errorf("RemoveTree of 2000 levels left it: %v", err)
	}
}

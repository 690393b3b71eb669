package launch

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// TestRemoveDeepTree removes a tree deeper than files may be open at once.
func TestRemoveDeepTree(t *testing.T) {
	var limit unix.Rlimit
	testenv.OK(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	few := unix.Rlimit{Cur: 256, Max: limit.Max}
	testenv.OK(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	top := filepath.Join(t.TempDir(), "top")
	testenv.OK(t, os.Mkdir(top, 0o700))
	// Made from the bottom up: no path is long.
	above := filepath.Dir(top)
	for range 2000 {
		wrap := filepath.Join(above, "wrap")
		testenv.OK(t, os.Mkdir(wrap, 0o700))
		testenv.OK(t, os.Rename(top, filepath.Join(wrap, "d")))
		testenv.OK(t, os.Rename(wrap, top))
	}
	if err := RemoveTree(top); err != nil {
		t.Errorf("RemoveTree of 2000 levels = %.200v, want no error", err)
	}
	if _, err := os.Lstat(top); !os.IsNotExist(err) {
		t.Errorf("RemoveTree of 2000 levels left it: %v", err)
	}
}

package asuser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// other returns a user that is not root and exists on about every machine.
func other(t *testing.T) (name string, uid uint32) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can take on the rights of others")
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Skipf("no user to be: %v", err)
	}
	n, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return u.Username, uint32(n)
}

// folder returns a folder with a mode, that all may look for.
func folder(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "asuser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

func touch(path string) error { return os.WriteFile(path, nil, 0o644) }

func owner(t *testing.T, path string) uint32 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}

func TestDo(t *testing.T) {
	name, uid := other(t)
	roots, all := folder(t, 0o755), folder(t, 0o777)
	err := Do(name, func() error { return touch(filepath.Join(roots, "log")) })
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Do of a file in a folder of root = %v, want permission denied", err)
	}
	if err := Do(name, func() error { return touch(filepath.Join(all, "log")) }); err != nil {
		t.Errorf("Do of a file in a folder for all = %v, want none", err)
	}
	if got := owner(t, filepath.Join(all, "log")); got != uid {
		t.Errorf("owner of the new file = %d, want %d", got, uid)
	}
	if err := touch(filepath.Join(roots, "log")); err != nil || owner(t, filepath.Join(roots, "log")) != 0 {
		t.Errorf("root's own file afterwards: %v, want root to have its rights", err)
	}
	secret := filepath.Join(roots, "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Do(name, func() error { _, err := os.ReadFile(secret); return err }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Do of reading root's file = %v, want permission denied", err)
	}
}

func TestDoJustRuns(t *testing.T) {
	want := errors.New("of fn")
	for _, name := range []string{"root", "", "no such user", "no\x00body"} {
		dir := t.TempDir()
		err := Do(name, func() error {
			if err := touch(filepath.Join(dir, "log")); err != nil {
				return err
			}
			return want
		})
		if err != want {
			t.Errorf("Do(%q) = %v, want the error of fn", name, err)
		}
	}
}

// A directory of users that does not answer makes nobody root.
func TestAfterFailure(t *testing.T) {
	if known, err := afterFailure(user.UnknownUserError("alice")); known || err != nil {
		t.Errorf("afterFailure(unknown) = %v, %v, want it unknown", known, err)
	}
	silent := fmt.Errorf("user: lookup username alice: %w", syscall.EIO)
	if known, err := afterFailure(silent); !known || !errors.Is(err, syscall.EIO) {
		t.Errorf("afterFailure(%v) = %v, %v, want that error", silent, known, err)
	}
}

// No thread of the process keeps the rights, whichever the runtime uses.
func TestRightsAreBack(t *testing.T) {
	name, _ := other(t)
	roots := folder(t, 0o700)
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			path := filepath.Join(roots, strconv.Itoa(i))
			if err := Do(name, func() error { return touch(path) }); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("Do = %v, want permission denied", err)
			}
			if err := touch(path); err != nil {
				t.Errorf("as root afterwards: %v, want none", err)
			}
		})
	}
	wait.Wait()
}

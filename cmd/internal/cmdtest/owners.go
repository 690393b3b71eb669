package cmdtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// OwnerID is the uid and the group of everybody whom Users makes known.
const OwnerID = 65534

// Users returns the PATH for commands that run jobs, or write logs, of users whom the machine
// does not know, as alice: where the test is root's they are found by it, with an account
// that is nobody's; only who is called a stranger is not. Others run all jobs as themselves,
// and the PATH is theirs.
func Users(t testing.TB) string {
	t.Helper()
	path, err := UsersIn(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// UsersIn is Users with the programs by which they are found in a folder, for all tests of a
// package.
func UsersIn(dir string) (path string, err error) {
	path = os.Getenv("PATH")
	if os.Geteuid() != 0 {
		return path, nil
	}
	id, err := exec.LookPath("id")
	if err != nil {
		return "", err
	}
	nobody := strconv.Itoa(OwnerID)
	for name, script := range map[string]string{
		"getent": `case "$1 $2" in *" stranger"*) exit 2 ;; "passwd "[a-z]*) echo "$2:x:` + nobody + `:` + nobody + `::/:/bin/sh" ;; *) exit 2 ;; esac`,
		"id":     `case "$1" in -G) echo ` + nobody + ` ;; *) exec ` + id + ` "$@" ;; esac`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			return "", err
		}
	}
	return dir + string(filepath.ListSeparator) + path, nil
}

// Share lets the jobs of these users get at a directory of the test, and write to what is in
// it so far. It does nothing where the test is not root's.
func Share(t testing.TB, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	if err := share(dir); err != nil {
		t.Fatal(err)
	}
}

func share(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		own := info.Mode().Perm() & 0o700
		return os.Chmod(path, own|own>>3|own>>6)
	})
	for above := filepath.Dir(dir); err == nil && below(above, os.TempDir()); above = filepath.Dir(above) {
		err = letThrough(above)
	}
	return err
}

// letThrough lets everybody get to what is in a directory, beside what they may do there.
func letThrough(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o011)
}

// below tells whether a path leads to something in a directory.
func below(path, dir string) bool {
	return strings.HasPrefix(path, filepath.Clean(dir)+string(filepath.Separator))
}

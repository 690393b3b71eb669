package cmdtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

// OwnerID is the uid and the group of everybody whom Users makes known.
const OwnerID = 65534

// Users makes users known whom the machine does not know, as alice, to the code of the test itself
// that runs jobs, or writes logs: where the test is root's they are found, with an account that is
// nobody's; only who is called a stranger is not, and who is called unreachable cannot be looked up.
// Others run all jobs as themselves.
func Users(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	if err := UsersIn(dir); err != nil {
		t.Fatal(err)
	}
	before := asuser.Folders
	t.Cleanup(func() { asuser.Folders = before })
	LookIn(dir)
}

// LookIn has users looked up by the programs that UsersIn has put into a folder.
func LookIn(dir string) { asuser.Folders = append([]string{dir}, asuser.Folders...) }

// UsersIn puts the programs by which the users of Users are found into a folder.
func UsersIn(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	id, err := os.ReadFile(whereIs("id"))
	if err != nil {
		return err
	}
	nobody := strconv.Itoa(OwnerID)
	for name, text := range map[string]string{
		"getent": `#!/bin/sh
case "$1 $2" in
*" stranger"*) exit 2 ;;
*" unreachable"*) exit 1 ;;
"passwd "[a-z]*) echo "$2:x:` + nobody + `:` + nobody + `::/:/bin/sh" ;;
*) exit 2 ;;
esac
`,
		"id": `#!/bin/sh
case "$1 $2" in "-G "[a-z]*) echo ` + nobody + ` ;; *) exec ` + filepath.Join(dir, "real", "id") + ` "$@" ;; esac
`,
		"real/id": string(id),
	} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			return err
		}
	}
	for folder := dir; below(folder, os.TempDir()); folder = filepath.Dir(folder) {
		if err := letThrough(folder); err != nil {
			return err
		}
	}
	return nil
}

func whereIs(program string) string {
	path, _ := asuser.Find(program)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// machine names the folder of UsersIn in the environment of the tests that UsersOfMachine has begun
// anew.
const machine = "FAIRSPOOL_TEST_USERS"

// UsersOfMachine makes the users of Users known to all programs that the tests of a package start:
// root's tests begin anew in a mount namespace where getent(1) and id(1) know them. Done has to be
// called at the end. Where root may not make one, NeedUsers skips.
func UsersOfMachine() (done func(), err error) {
	dir := os.Getenv(machine)
	if os.Geteuid() != 0 || dir != "" {
		os.Unsetenv(machine)
		return func() { os.RemoveAll(dir) }, nil
	}
	if dir, err = os.MkdirTemp("", "users"); err != nil {
		return nil, err
	}
	if err = UsersIn(dir); err == nil {
		err = beginAnew(dir)
	}
	os.RemoveAll(dir)
	noUsers = err
	return func() {}, nil
}

// noUsers is why the machine has no users of tests; nil: it has them.
var noUsers error

// NeedUsers skips a test if UsersOfMachine could not make its users known.
func NeedUsers(t testing.TB) {
	t.Helper()
	if noUsers != nil {
		t.Skipf("there are no users for programs of root's: %v", noUsers)
	}
}

// beginAnew executes this program once more, where the programs in a folder are the machine's.
func beginAnew(dir string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	for _, name := range []string{"getent", "id"} {
		if err == nil {
			err = unix.Mount(filepath.Join(dir, name), whereIs(name), "", unix.MS_BIND, "")
		}
	}
	if err != nil {
		return os.NewSyscallError("mount", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return unix.Exec(self, os.Args, append(os.Environ(), machine+"="+dir))
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

// below reports whether a path leads to something in a directory.
func below(path, dir string) bool {
	return strings.HasPrefix(path, filepath.Clean(dir)+string(filepath.Separator))
}

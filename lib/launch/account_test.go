package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/asuser"
)

// otherAccount returns an account that is not root's, and a folder of root's through which
// it gets to what is its own.
func otherAccount(t *testing.T) (a Account, folder string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a job as somebody else")
	}
	folder, err := os.MkdirTemp("", "launch")
	testenv.OK(t, err)
	t.Cleanup(func() { RemoveTree(folder) })
	testenv.OK(t, os.Chmod(folder, 0o711))
	return Account{Name: "somebody", Home: "/nowhere", UID: 65534, GID: 65533, Groups: []int{65533, 54321}}, folder
}

// givenTo makes a directory that belongs to an account.
func givenTo(t *testing.T, a Account, path string) string {
	t.Helper()
	testenv.OK(t, makeFor(a, path))
	return path
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	testenv.OK(t, err)
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

func TestAccountOf(t *testing.T) {
	me := CurrentAccount()
	if me.UID != os.Getuid() || me.Name == "" || me.Home == "" || me.Other() {
		t.Errorf("CurrentAccount = %+v, want that of this process", me)
	}
	if os.Geteuid() != 0 {
		if a, err := AccountOf("root", "nobody"); err != nil || a.Name != me.Name {
			t.Errorf("AccountOf(root) of somebody else = %+v, %v, want that one's own", a, err)
		}
		t.Skip("who is not root runs jobs only as itself")
	}
	if a, err := AccountOf("root", "nobody"); err != nil || a.UID != 0 || a.Other() {
		t.Errorf("AccountOf(root) = %+v, %v, want root", a, err)
	}
	if a, err := AccountOf("nobody", ""); err != nil || a.Name != "nobody" || a.UID == 0 || !a.Other() || !slices.Contains(a.Groups, a.GID) {
		t.Errorf("AccountOf(nobody) = %+v, %v, want nobody with its group", a, err)
	}
	for _, owner := range []string{"", "no such user", "0", "-x", "no\x00body"} {
		a, err := AccountOf(owner, "")
		want := fmt.Sprintf("owner %q: this machine knows no such user, and NOBODY_SLOT_USER names none to run its jobs", owner)
		var refused *StartError
		if !errors.As(err, &refused) || refused.Reason != want || refused.Passing {
			t.Errorf("AccountOf(%q) = %+v, %v, want %s", owner, a, err, want)
		}
	}
}

// Who is not known may have somebody else run the jobs, but not root, by whatever name.
func TestAccountOfNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("who is not root runs jobs only as itself")
	}
	users(t, `case "$2" in toor) echo toor:x:0:0::/root:/bin/sh;; odd) exit 1;; *) exit 2;; esac`)
	if a, err := AccountOf("no such user", "nobody"); err != nil || a.Name != "nobody" || a.UID == 0 || !a.Other() {
		t.Errorf("AccountOf = %+v, %v, want nobody", a, err)
	}
	if a, err := AccountOf("root", "nobody"); err != nil || a.UID != 0 {
		t.Errorf("AccountOf(root) = %+v, %v, want root", a, err)
	}
	for nobody, want := range map[string]string{
		"root":  `NOBODY_SLOT_USER: "root" has root's rights, which are for root's own jobs`,
		"toor":  `NOBODY_SLOT_USER: "toor" has root's rights, which are for root's own jobs`,
		"none":  `NOBODY_SLOT_USER: this machine knows no user "none"`,
		"odd":   `NOBODY_SLOT_USER: odd: getent passwd odd: exit status 1`,
		"65534": `NOBODY_SLOT_USER: this machine knows no user "65534"`,
	} {
		a, err := AccountOf("no such user", nobody)
		var refused *StartError
		if !errors.As(err, &refused) || refused.Reason != want || refused.Passing != (nobody == "odd") {
			t.Errorf("AccountOf with nobody = %q is %+v, %v, want %s", nobody, a, err, want)
		}
	}
}

// users makes others of getent(1), and of id(1), by which all are of group 0.
func users(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{"getent": script, "id": "echo 0"} {
		testenv.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	before := asuser.Folders
	t.Cleanup(func() { asuser.Folders = before })
	asuser.Folders = append([]string{dir}, before...)
}

// A directory of users that fails is no reason to hold the job, and none to run it.
func TestAccountOfNobodyKnows(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("who is not root runs jobs only as itself")
	}
	users(t, "exit 1")
	a, err := AccountOf("walter", "nobody")
	var refused *StartError
	if !errors.As(err, &refused) || !refused.Passing {
		t.Errorf("AccountOf = %+v, %v, want an error that passes", a, err)
	}
}

func TestRunsAsItsOwner(t *testing.T) {
	a, folder := otherAccount(t)
	job := shellIn(givenTo(t, a, filepath.Join(folder, "iwd")), `id -u; id -g; id -G; grep ^CapEff /proc/self/status; cat secret; touch made`)
	job.Account = a
	testenv.OK(t, os.WriteFile(filepath.Join(job.Dir, "secret"), []byte("secret\n"), 0o600))
	start(t, job, nil).Wait()
	if got, want := contents(t, job.Out), "65534\n65533\n65533 54321\nCapEff:\t0000000000000000\n"; got != want {
		t.Errorf("the job is %q, want %q", got, want)
	}
	if got := contents(t, job.Err); !strings.Contains(got, "Permission denied") {
		t.Errorf("reading root's file: %q, want permission denied", got)
	}
	for _, name := range []string{job.Out, job.Err, filepath.Join(job.Dir, "made")} {
		if got := ownerOf(t, name); got != a.UID {
			t.Errorf("%s belongs to %d, want %d", name, got, a.UID)
		}
	}
}

// What the owner may not do, root does not do for it.
func TestStartForbidden(t *testing.T) {
	a, folder := otherAccount(t)
	own := givenTo(t, a, filepath.Join(folder, "own"))
	roots := filepath.Join(folder, "roots")
	testenv.OK(t, os.Mkdir(roots, 0o700))
	file := func(name string, mode fs.FileMode) string {
		path := filepath.Join(folder, name)
		testenv.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n"), mode))
		testenv.OK(t, os.Chmod(path, mode))
		return path
	}
	secret, mine := file("secret", 0o600), file("mine", 0o700)
	testenv.OK(t, os.Symlink(secret, filepath.Join(own, "link")))
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   string
	}{
		{"directory", func(j *Job) { j.Dir = roots }, "working directory " + roots + ": permission denied"},
		{"executable", func(j *Job) { j.Cmd = mine }, "executable " + mine + ": permission denied"},
		{"input", func(j *Job) { j.In = secret }, "input " + secret + ": permission denied"},
		{"output", func(j *Job) { j.Out = secret }, "output " + secret + ": permission denied"},
		{"output by a link", func(j *Job) { j.Out = own + "/link" }, "output " + own + "/link: permission denied"},
		{"a new error file", func(j *Job) { j.Err = roots + "/new" }, "error " + roots + "/new: permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := shellIn(own, "exit 0")
			job.Account = a
			c.change(&job)
			p, err := Start(job, nil, nil)
			if err == nil {
				p.Wait()
			}
			var refused *StartError
			if !errors.As(err, &refused) || refused.Reason != c.want || refused.Passing {
				t.Errorf("Start = %v, want %s", err, c.want)
			}
		})
	}
	if got := contents(t, secret); got != "#!/bin/sh\n" {
		t.Errorf("root's file now holds %q, want it untouched", got)
	}
}

// benchOf is a bench for the jobs of an account.
func benchOf(t *testing.T) (b bench, a Account) {
	t.Helper()
	a, folder := otherAccount(t)
	b = bench{T: t, iwd: filepath.Join(folder, "iwd"), execute: filepath.Join(folder, "execute"), staging: filepath.Join(folder, "execute"), account: a}
	givenTo(t, a, b.iwd)
	for _, dir := range []string{b.execute, filepath.Join(folder, "staging")} {
		testenv.OK(t, os.Mkdir(dir, 0o711))
	}
	return b, a
}

// bothWaysAs is bothWays for the jobs of an account.
func bothWaysAs(t *testing.T, test func(t *testing.T, b bench, a Account)) {
	t.Run("here", func(t *testing.T) {
		b, a := benchOf(t)
		test(t, b, a)
	})
	t.Run("apart", func(t *testing.T) {
		b, a := benchOf(t)
		b.staging, b.apart = filepath.Join(filepath.Dir(b.execute), "staging"), true
		test(t, b, a)
	})
}

func TestTransferAsItsOwner(t *testing.T) { bothWaysAs(t, testTransferAsItsOwner) }

func testTransferAsItsOwner(t *testing.T, b bench, a Account) {
	b.write(b.iwd, "in", "I", 0o644)
	b.write(b.iwd, "roots", "R", 0o600)
	at := b.attempt("TransferInput", `"in"`, "WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`)
	for range 2 { // the second finds what the first has left
		at.place()
		for _, name := range []string{"", "in", jobNote, machineNote} {
			if got := ownerOf(t, filepath.Join(b.scratch(), name)); got != a.UID {
				t.Errorf("in the scratch directory %q belongs to %d, want %d", name, got, a.UID)
			}
		}
		a.As(func() error { b.write(b.scratch(), "out", "O", 0o644); return nil })
		if err := at.back(t.Context(), Placed{}, Rest); err != nil {
			t.Fatalf("Keep: %v", err)
		}
		if got := ownerOf(t, at.job.Transfer.Kept); got != a.UID {
			t.Errorf("what is kept belongs to %d, want %d", got, a.UID)
		}
	}
	placed := at.place()
	if err := at.back(t.Context(), placed, Output); err != nil {
		t.Fatalf("Store: %v", err)
	}
	if got := ownerOf(t, filepath.Join(b.iwd, "out")); got != a.UID {
		t.Errorf("the output belongs to %d, want %d", got, a.UID)
	}
	for _, dir := range []string{b.scratch(), at.job.Transfer.Kept} {
		if err := RemoveTree(dir); err != nil {
			t.Errorf("RemoveTree: %v", err)
		}
	}
	_, err := b.attempt("TransferInput", `"roots"`).tryPlace(context.Background())
	if want := "input " + b.iwd + "/roots: permission denied"; err == nil || err.Error() != want {
		t.Errorf("Place of a file of root's = %v, want %s", err, want)
	}
}

// A job has its output written where it may write, and nowhere else, whatever links it
// makes.
func TestStoreForbiddenToItsOwner(t *testing.T) { bothWaysAs(t, testStoreForbiddenToItsOwner) }

func testStoreForbiddenToItsOwner(t *testing.T, b bench, a Account) {
	secret := filepath.Join(b.execute, "secret")
	testenv.OK(t, os.WriteFile(secret, []byte("S"), 0o600))
	for _, c := range []struct{ name, remap, want string }{
		{"a file of root's", "out = " + secret, "output " + secret + ": permission denied"},
		{"a folder of root's", "out = " + b.execute + "/new", "output " + b.execute + "/new: permission denied"},
	} {
		at := b.attempt("ShouldTransferFiles", `"YES"`, "TransferOutputRemaps", `"`+c.remap+`"`)
		placed := at.place()
		a.As(func() error { b.write(b.scratch(), "out", "O", 0o644); return nil })
		if err := at.back(t.Context(), placed, Output); err == nil || err.Error() != c.want {
			t.Errorf("%s: Store = %v, want %s", c.name, err, c.want)
		}
	}
	// A secret is not given away either.
	at := b.attempt("TransferOutput", `"out"`)
	placed := at.place()
	a.As(func() error { return os.Symlink(secret, filepath.Join(b.scratch(), "out")) })
	if err := at.back(t.Context(), placed, Output); err == nil {
		t.Errorf("Store of a link to a file of root's = %v, want an error", err)
	}
	if _, err := os.Lstat(filepath.Join(b.iwd, "out")); err == nil {
		t.Error("root's file was copied for the user")
	}
	if got := contents(t, secret); got != "S" {
		t.Errorf("root's file now holds %q, want it untouched", got)
	}
}

// A scratch directory that its owner cannot get at holds the job.
func TestPlaceOutOfReach(t *testing.T) {
	a, folder := otherAccount(t)
	testenv.OK(t, os.Chmod(folder, 0o700))
	job := shellIn("/", "exit 0")
	job.Account, job.Scratch = a, filepath.Join(folder, "1.0.1")
	_, err := job.Place(context.Background())
	var refused *StartError
	if want := "scratch directory " + job.Scratch + ": permission denied"; !errors.As(err, &refused) || refused.Reason != want || refused.Passing {
		t.Errorf("Place = %v, want %s", err, want)
	}
}

// While root removes a user's tree the user swaps a directory in it for a link to a
// folder of root's, all the time: nothing there is lost.
func TestRemoveTreeOfAnother(t *testing.T) {
	a, folder := otherAccount(t)
	victim := filepath.Join(folder, "victim")
	testenv.OK(t, os.Mkdir(victim, 0o755))
	const files = 50
	for i := range files {
		testenv.OK(t, os.WriteFile(filepath.Join(victim, fmt.Sprint(i)), nil, 0o644))
	}
	for range 20 {
		tree := givenTo(t, a, filepath.Join(folder, "tree"))
		dir, link := filepath.Join(tree, "d"), filepath.Join(tree, "l")
		err := a.As(func() error {
			var errs []error
			for i := range 10 {
				below := filepath.Join(dir, fmt.Sprint(i))
				errs = append(errs, os.MkdirAll(below, 0o755), os.WriteFile(filepath.Join(below, "x"), nil, 0o644), os.Chmod(below, 0o500))
			}
			return errors.Join(append(errs, os.Symlink(victim, link))...)
		})
		testenv.OK(t, err)
		swap := func() error {
			return unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
		}
		if err := swap(); err != nil {
			t.Skipf("this file system swaps no two names: %v", err)
		}
		stopped := make(chan struct{})
		go func() { // until one of the two is removed
			defer close(stopped)
			for swap() == nil {
			}
		}()
		testenv.Until(t, "the tree is removed", func() bool { return RemoveTree(tree) == nil })
		<-stopped
		if entries, _ := os.ReadDir(victim); len(entries) != files {
			t.Fatalf("root's folder has %d files left, want %d", len(entries), files)
		}
		if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o755 {
			t.Fatalf("root's folder has the mode %v, %v, want 0755 as before", info.Mode().Perm(), err)
		}
	}
}

// A tree of another user that is deeper than files may be open at once.
func TestRemoveDeepTreeOfAnother(t *testing.T) {
	a, folder := otherAccount(t)
	tree := givenTo(t, a, filepath.Join(folder, "tree"))
	err := a.As(func() error {
		dir, err := os.OpenRoot(tree)
		for range 600 {
			if err != nil {
				return err
			}
			next := (*os.Root)(nil)
			if err = dir.Mkdir("d", 0o700); err == nil {
				next, err = dir.OpenRoot("d")
			}
			dir.Close()
			dir = next
		}
		return err
	})
	testenv.OK(t, err)
	var limit syscall.Rlimit
	testenv.OK(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	few := syscall.Rlimit{Cur: 256, Max: limit.Max}
	testenv.OK(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	if err := RemoveTree(tree); err != nil {
		t.Errorf("RemoveTree of 600 levels = %.200v, want none", err)
	}
}

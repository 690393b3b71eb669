package asuser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// other returns a user that is not root and exists on about every machine.
func other(t *testing.T) (name string, uid uint32) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can take on the rights of others")
	}
	u, known, err := LookUp("nobody")
	if !known || err != nil {
		t.Skipf("no user to be: %v", err)
	}
	return u.Name, uint32(u.UID)
}

// folder returns a folder with a mode, that all may look for.
func folder(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "asuser")
	testenv.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	testenv.OK(t, os.Chmod(dir, mode))
	return dir
}

func touch(path string) error { return os.WriteFile(path, nil, 0o644) }

func owner(t *testing.T, path string) uint32 {
	t.Helper()
	info, err := os.Stat(path)
	testenv.OK(t, err)
	return info.Sys().(*syscall.Stat_t).Uid
}

func TestDo(t *testing.T) {
	name, uid := other(t)
	roots, all := folder(t, 0o755), folder(t, 0o777)
	err := Do(name, "", func() error { return touch(filepath.Join(roots, "log")) })
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Do of a file in a folder of root = %v, want permission denied", err)
	}
	if err := Do(name, "", func() error { return touch(filepath.Join(all, "log")) }); err != nil {
		t.Errorf("Do of a file in a folder for all = %v, want none", err)
	}
	if got := owner(t, filepath.Join(all, "log")); got != uid {
		t.Errorf("owner of the new file = %d, want %d", got, uid)
	}
	if err := touch(filepath.Join(roots, "log")); err != nil || owner(t, filepath.Join(roots, "log")) != 0 {
		t.Errorf("root's own file afterwards: %v, want root to have its rights", err)
	}
	secret := filepath.Join(roots, "secret")
	testenv.OK(t, os.WriteFile(secret, nil, 0o600))
	if err := Do(name, "", func() error { _, err := os.ReadFile(secret); return err }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Do of reading root's file = %v, want permission denied", err)
	}
}

// What goes by the effective id or by capabilities, and not by the id for files, is not
// root's either: a log of the user's could set a setting of the kernel otherwise.
func TestDoIsNotRoot(t *testing.T) {
	name, uid := other(t)
	err := Do(name, "", func() error {
		status, err := os.ReadFile("/proc/thread-self/status")
		if err != nil {
			return err
		}
		for _, want := range []string{"CapEff:\t0000000000000000\n", fmt.Sprintf("Uid:\t0\t%d\t0\t%[1]d\n", uid)} {
			if !strings.Contains(string(status), want) {
				t.Errorf("status of the thread = %s, want %q in it", status, want)
			}
		}
		f, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0) // and nothing is written
		if err == nil {
			f.Close()
		}
		return err
	})
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, unix.EROFS) {
		t.Errorf("Do of opening a setting of the kernel = %v, want permission denied", err)
	}
}

func TestDoJustRuns(t *testing.T) {
	want := errors.New("of fn")
	for _, name := range []string{"root", ""} {
		dir := t.TempDir()
		err := Do(name, "", func() error {
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

// For somebody whom the machine does not know nothing is done as root.
func TestDoForUnknown(t *testing.T) {
	standIn, uid := other(t)
	all := folder(t, 0o777)
	for _, name := range []string{"no such user", "no\x00body"} {
		for _, c := range []struct {
			standIn string
			runs    bool
		}{{"", false}, {"root", false}, {"nor such one", false}, {standIn, true}} {
			path := filepath.Join(all, "log")
			err := Do(name, c.standIn, func() error { return touch(path) })
			if c.runs {
				if err != nil || owner(t, path) != uid {
					t.Errorf("Do(%q, %q) = %v, want a file of %[2]s", name, c.standIn, err)
				}
				continue
			}
			want := "rights of " + name + ": this machine knows no such user"
			if _, there := os.Stat(path); err == nil || err.Error() != want || !errors.Is(there, fs.ErrNotExist) {
				t.Errorf("Do(%q, %q) = %v, want %s and no file", name, c.standIn, err, want)
			}
		}
		os.Remove(filepath.Join(all, "log"))
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
			if err := Do(name, "", func() error { return touch(path) }); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("Do = %v, want permission denied", err)
			}
			if err := touch(path); err != nil {
				t.Errorf("as root afterwards: %v, want none", err)
			}
		})
	}
	wait.Wait()
}

// The limits of a user's process can be lowered also by a root who may not raise any.
func TestDoToProcesses(t *testing.T) {
	name, _ := other(t)
	u, _, err := LookUp(name)
	testenv.OK(t, err)
	p := exec.Command("sleep", "60")
	p.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}, Pdeathsig: syscall.SIGKILL,
	}
	runtime.LockOSThread() // the process dies with the thread
	defer runtime.UnlockOSThread()
	testenv.OK(t, p.Start())
	defer func() { p.Process.Kill(); p.Wait() }()
	want := unix.Rlimit{Cur: 11, Max: 12}
	if err := u.DoToProcesses(func() error { return unix.Prlimit(p.Process.Pid, unix.RLIMIT_NOFILE, &want, nil) }); err != nil {
		t.Errorf("DoToProcesses of prlimit = %v, want none", err)
	}
	var got unix.Rlimit
	if err := u.DoToProcesses(func() error { return unix.Prlimit(p.Process.Pid, unix.RLIMIT_NOFILE, nil, &got) }); err != nil || got != want {
		t.Errorf("limit = %v, %v, want %v", got, err, want)
	}
	awaitNoThread(t, u)
}

// awaitNoThread waits until no thread has the user's real id: those that had it are thrown
// away a while after their work is done.
func awaitNoThread(t *testing.T, u User) {
	t.Helper()
	uid := fmt.Sprintf("\nUid:\t%d\t", u.UID)
	has := func(path string) bool {
		b, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(b), uid)
	}
	testenv.Until(t, fmt.Sprintf("no thread has the real id %d", u.UID), func() bool {
		threads, err := filepath.Glob("/proc/self/task/*/status")
		if err != nil || len(threads) == 0 {
			t.Fatalf("threads of the process = %q, %v, want some", threads, err)
		}
		return !slices.ContainsFunc(threads, has)
	})
}

// TestFirstThread: the thread that stands for the whole process is never the user's. Many
// at a time see to it that some goroutine begins there.
func TestFirstThread(t *testing.T) {
	name, _ := other(t)
	u, _, err := LookUp(name)
	testenv.OK(t, err)
	for as, do := range map[string]func(func() error) error{"Do": u.Do, "DoToProcesses": u.DoToProcesses} {
		for range 50 {
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					var on int
					if err := do(func() error { on = unix.Gettid(); return nil }); err != nil || on == os.Getpid() {
						t.Errorf("%s = %v on thread %d of process %d, want nil on another one", as, err, on, os.Getpid())
					}
				})
			}
			all.Wait()
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", os.Getpid()))
	if err != nil || !strings.Contains(string(status), "\nUid:\t0\t0\t0\t0\n") {
		t.Errorf("after 2000 turns the first thread has %q, %v, want root's ids", status, err)
	}
}

// served names, in the environment, the folder in which this test's program serves an account.
const served = "ASUSER_TEST_SERVED"

var (
	daemon = User{Name: "daemon", UID: 901, GID: 902, Groups: []int{902, 903}}
	alice  = User{Name: "alice", UID: 1501, GID: 1501, Groups: []int{1501}}
)

// TestServe holds that a process that serves an account has its rights on all threads, those of root
// and of users on threads of their own alone, and that what it starts is the account's alone.
func TestServe(t *testing.T) {
	if dir := os.Getenv(served); dir != "" {
		serve(t, dir)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can serve an account")
	}
	c := exec.Command(os.Args[0], "-test.run=^TestServe$", "-test.v")
	c.Env = append(os.Environ(), served+"="+folder(t, 0o777))
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func serve(t *testing.T, dir string) {
	for _, u := range []User{{Name: "root"}, alice, {Name: "many", UID: 1000}} {
		if err := Serve(u, 1000); err == nil {
			t.Fatalf("Serve(%+v) = nil, want an error", u)
		}
	}
	testenv.OK(t, Serve(daemon, 1000))
	ids := func() string {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		status, err := os.ReadFile("/proc/thread-self/status")
		var got []string
		for line := range strings.Lines(string(status)) {
			if name, rest, _ := strings.Cut(line, ":"); name == "Uid" || name == "Gid" || name == "Groups" {
				got = append(got, strings.Join(strings.Fields(rest), " "))
			}
		}
		return fmt.Sprint(strings.Join(got, ", "), err)
	}
	const account = "0 901 0 901, 0 902 0 902, 902 903<nil>"
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if got := ids(); got != account {
				t.Errorf("ids = %s, want %s", got, account)
			}
			if err := Root(func() {
				if got := ids(); !strings.HasPrefix(got, "0 0 0 0, 0 0 0 0, ") {
					t.Errorf("ids as root = %s, want root's", got)
				}
			}); err != nil {
				t.Error(err)
			}
			err := alice.Do(func() error {
				if got, want := ids(), "0 1501 0 1501, 0 1501 0 1501, 1501<nil>"; got != want {
					t.Errorf("ids as alice = %s, want %s", got, want)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			if got := ids(); got != account {
				t.Errorf("ids afterwards = %s, want %s", got, account)
			}
		})
	}
	all.Wait()
	for _, u := range []User{{Name: "root"}, {Name: "bin", UID: 2, GID: 2}} {
		if err := u.Do(func() error { t.Errorf("something was done as %s", u.Name); return nil }); err == nil {
			t.Errorf("Do as %s = nil, want an error", u.Name)
		}
	}
	if err := daemon.Do(func() error { return touch(filepath.Join(dir, "daemons")) }); err != nil || owner(t, filepath.Join(dir, "daemons")) != 901 {
		t.Errorf("Do as the account = %v, want a file of its own", err)
	}
	if _, err := os.ReadFile("/etc/shadow"); !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading what is root's = %v, want permission denied", err)
	}
	t.Setenv("SECRET", "x")
	var out strings.Builder
	c := exec.Command("/bin/sh", "-c", "sed -n 's/^[UG]id:\t//p' /proc/$$/status; env | grep -v '^PWD=\\|^_=\\|^SHLVL=\\|^OLDPWD='")
	c.Stdout = &out
	err := Start(c)
	if err == nil {
		err = c.Wait()
	}
	want := "901\t901\t901\t901\n902\t902\t902\t902\n"
	if got := out.String(); err != nil || !strings.HasPrefix(got, want) || strings.Contains(got, "SECRET") || !strings.Contains(got, "USER=daemon\n") {
		t.Errorf("a program that was started says %q, %v, want %q and who it is", got, err, want)
	}
	outsider(t)
}

// outsider holds that neither the account nor a user can send signals to the process, or trace it.
func outsider(t *testing.T) {
	for _, u := range []User{daemon, alice} {
		c := exec.Command("/bin/sh", "-c", fmt.Sprintf("kill -0 %d || cat /proc/%[1]d/environ /proc/%[1]d/maps", os.Getpid()))
		c.SysProcAttr = &syscall.SysProcAttr{Credential: u.Credential()}
		var err error
		if e := Root(func() { err = c.Run() }); e != nil || err == nil {
			t.Errorf("%s may send signals to the process, or look into it: %v, %v", u.Name, e, err)
		}
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); n != 0 || err != nil {
		t.Errorf("the process is dumpable: %d, %v", n, err)
	}
}

package asuser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

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
	if err := Serve(daemon, 1000); err != nil {
		t.Fatal(err)
	}
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

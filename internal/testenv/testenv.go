// Package testenv is what tests of several packages need of the machine: temporary folders
// in memory, or on disk where syncing is tested; the commands, built once; the one bounded
// wait for a condition; and draws that are the same every time.
//
// It knows nothing of jobs or spools.
package testenv

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// memory is where Linux keeps a file system in memory, and room is how much of it has to be
// free, in bytes, for the temporary folders of a package's tests.
const (
	memory = "/dev/shm"
	room   = 2 << 30
)

// disk is where temporary folders would be but for Run.
var disk = os.TempDir()

// Run runs a package's tests, as m.Run does, with all temporary folders in memory: their
// spools sync at every change, which is waited for where a disk is under them. A machine
// without enough such memory, or that runs no programs there, has them where they always are.
// Laws draw what they drew the last time, unless -rapid.seed says otherwise. Commands start no
// cycles by themselves: a test that is about that says so. Garbage is collected less often: a
// fifth to a third of the tests' time went there. TestMain passes the status that Run returns to
// os.Exit.
func Run(m *testing.M) (status int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed != nil && seed.Value.String() == "0" {
		if err := seed.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	if dir, err := inMemory(); err == nil {
		defer os.RemoveAll(dir)
		os.Setenv("TMPDIR", dir)
	}
	os.Setenv("FAIRSPOOL_CYCLE_ON_CHANGE", "false")
	defer removeCommands()
	return m.Run()
}

// inMemory makes a folder in memory.
func inMemory() (dir string, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(memory, &fs); err != nil {
		return "", os.NewSyscallError("statfs", err)
	}
	if fs.Type != unix.TMPFS_MAGIC || fs.Flags&unix.ST_NOEXEC != 0 || fs.Bavail*uint64(fs.Bsize) < room {
		return "", os.ErrNotExist
	}
	if dir, err = os.MkdirTemp(memory, "fairspool"); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711) // jobs of other users get to theirs
}

// OnDisk returns a folder for the rest of a test that is not in memory: for tests of what
// syncing, a device or a file system does.
func OnDisk(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(disk, filepath.Base(t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Longest bounds every wait of a test for a condition: no machine is so slow, and a test that
// waits so long has found a fault.
const Longest = 3 * time.Minute

// OK ends a test, of package testing or rapid, with an error unless it is nil.
func OK(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Until waits until a condition is met that other processes or goroutines bring about, and
// fails the test when that takes longer than Longest. what says in the failure what was
// waited for.
func Until(t testing.TB, what string, met func() bool) {
	t.Helper()
	if !Await(met) {
		t.Fatalf("after %v it is still not so that %s", Longest, what)
	}
}

// Await waits until a condition is met, and reports whether that took no longer than Longest.
func Await(met func() bool) bool {
	const least, most = 200 * time.Microsecond, 20 * time.Millisecond
	begun := time.Now()
	for pause := least; !met(); pause = min(pause*5/4, most) {
		if time.Since(begun) > Longest {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// CommandsBuilt names a folder with the commands as the code now stands, which make test
// builds for the tests of all packages.
const CommandsBuilt = "FAIRSPOOL_COMMANDS"

var built struct {
	once sync.Once
	dir  string
	own  bool // whether dir is to be removed
	err  error
}

// Commands returns a folder with all commands of fairspool, built no more than once.
func Commands(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir = os.Getenv(CommandsBuilt); built.dir == "" {
			built.dir, built.err = build()
			built.own = true
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

// build builds all commands into a new folder.
func build() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "fairspool-commands"); err != nil {
		return "", err
	}
	c := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "fairspool/cmd/...")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
}

// removeCommands removes what Commands has built.
func removeCommands() {
	if built.own {
		os.RemoveAll(built.dir)
	}
}

// Opened watches a file and returns a function that waits until some process opens it from
// now on, be it for reading.
func Opened(t testing.TB, path string) (wait func()) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err == nil {
		t.Cleanup(func() { unix.Close(fd) })
		_, err = unix.InotifyAddWatch(fd, path, unix.IN_OPEN)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("inotify: %s: %w", path, err))
	}
	return func() {
		t.Helper()
		Until(t, path+" is opened", func() bool {
			n, err := unix.Read(fd, make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1))
			if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
				t.Fatal(os.NewSyscallError("read", err))
			}
			return n > 0
		})
	}
}

// UntilWaiting waits until a process waits for the lock on a file of a spool, which another process
// has: it has the file open for writing, as readers never have.
func UntilWaiting(t testing.TB, pid int, path string) {
	t.Helper()
	Until(t, fmt.Sprintf("process %d waits for %s", pid, path), func() bool { return opensForWriting(pid, path) })
}

// opensForWriting reports whether a process has a file open for writing.
func opensForWriting(pid int, path string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || to != path {
			continue
		}
		info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, filepath.Base(link)))
		_, rest, _ := strings.Cut(string(info), "flags:\t")
		text, _, _ := strings.Cut(rest, "\n")
		if flags, err := strconv.ParseUint(text, 8, 64); err == nil && flags&unix.O_ACCMODE == unix.O_RDWR {
			return true
		}
	}
	return false
}

// Soak returns how long a test of make soak is to go on, and the seed from which all follows
// that it draws. It skips the test but where make soak runs it.
func Soak(t testing.TB) (length time.Duration, seed uint64) {
	t.Helper()
	text := os.Getenv("FAIRSPOOL_SOAK")
	if text == "" {
		t.Skip("long, or random by nature: make soak runs it")
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("FAIRSPOOL_SOAK: %v", err)
	}
	if seed, err = strconv.ParseUint(os.Getenv("FAIRSPOOL_SEED"), 10, 64); err != nil {
		t.Fatalf("FAIRSPOOL_SEED: %v", err)
	}
	return length, seed
}

// SoakWhole is Soak for a test that takes minutes whatever it is given: it skips the test unless that is a minute at least, as with
// SOAK=1h.
func SoakWhole(t testing.TB) (seed uint64) {
	t.Helper()
	length, seed := Soak(t)
	if length < time.Minute {
		t.Skipf("SKIPPED, NOTHING IS TESTED: takes minutes, and has %v: make soak SOAK=1h runs it", length)
	}
	return seed
}

// WriteProgram writes a program that everybody may execute. No process is started meanwhile: it would have
// the file open for writing, and nobody could execute it until that is over.
func WriteProgram(t testing.TB, path string, text []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := errors.Join(os.WriteFile(path, text, 0o755), os.Chmod(path, 0o755))
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}

// Bubblewrap returns the path of busybox, of which tests make images. It fails if busybox is missing or bubblewrap runs no container here.
func Bubblewrap() (busybox string, err error) {
	if busybox, err = exec.LookPath("busybox"); err != nil {
		return "", err
	}
	if err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "/bin/true").Run(); err != nil {
		return "", fmt.Errorf("bubblewrap runs no container here: %w", err)
	}
	return busybox, nil
}

// Package testenv is what tests of several packages need of the machine: temporary folders
// in memory, or on disk where syncing is tested; the commands, built once; the one bounded
// wait for a condition; and draws that are the same every time.
//
// It knows nothing of jobs or spools.
package testenv

import (
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

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

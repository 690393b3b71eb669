package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A job holds the lock of its claim, and cannot write to that file in the spool.
func TestJobCannotWriteToItsLock(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`exec 2>&1; echo x >&3 && echo written; flock -n 3 && echo held; flock -u 3; flock -n 3 && wc -c <&3`)
	p.starter(0, 1, "-wait")
	if got, want := p.history(id, "ExitCode"), "ExitCode=0"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	if got, want := p.read("out"), "held\n0\n"; !strings.HasSuffix(got, want) || strings.Contains(got, "written") {
		t.Errorf("the job says %q, want that it could not write, and %q", got, want)
	}
}

// Where a file that is open for reading takes no flock, as on NFS, the other one does.
func TestFlockForWriting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	l, err := takeCharge(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.remove()
	stands, err := os.OpenFile(path, unix.O_PATH, 0) // takes none either
	if err != nil {
		t.Fatal(err)
	}
	defer stands.Close()
	l.reader, l.held = stands, stands
	if err := l.flock(); err != nil || l.held != l.file {
		t.Fatalf("flock = %v, want none, and of the file that is open for writing", err)
	}
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK {
		t.Errorf("flock of another one = %v, want it taken", err)
	}
}

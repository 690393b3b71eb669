package spool

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/spool/internal/files"
	"fairspool/spool/internal/reserve"
)

// smallDisk is a layer on which all files of a folder together may have so many bytes.
type smallDisk struct {
	files.Disk
	dir         string
	size        int64
	quota       bool // what is full is not the disk but a quota
	noAllocates bool
}

func (d *smallDisk) Open(name string, flag int, perm fs.FileMode) (files.File, error) {
	f, err := d.Disk.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return smallDiskFile{f, d}, nil
}

// used returns how many bytes the files have.
func (d *smallDisk) used() (n int64) {
	filepath.WalkDir(d.dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// grow returns an error where a file is to be larger than there is room for.
func (d *smallDisk) grow(f files.File, to int64) error {
	size, err := f.Size()
	switch {
	case err != nil || to <= size || d.used()+to-size <= d.size:
		return err
	case d.quota:
		return syscall.EDQUOT
	}
	return syscall.ENOSPC
}

type smallDiskFile struct {
	files.File
	d *smallDisk
}

func (f smallDiskFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.d.grow(f.File, off+int64(len(b))); err != nil {
		n, _ := f.File.WriteAt(b[:len(b)/2], off) // a part of it has room
		return n, err
	}
	return f.File.WriteAt(b, off)
}

func (f smallDiskFile) Allocate(size int64) error {
	if f.d.noAllocates {
		return unix.EOPNOTSUPP
	}
	if err := f.d.grow(f.File, size); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

const testReserve = 1 << 20

// sizeOf returns the size of a file of the spool; 0 where it is not there.
func (d *smallDisk) sizeOf(name string) int64 {
	info, err := os.Stat(filepath.Join(d.dir, name))
	if err != nil {
		return 0
	}
	return info.Size()
}

// urgent returns an operation that may have the reserve.
func urgent(o operation) operation {
	do := o.do
	o.do = func(tx *Tx) error { tx.UseReserve(); return do(tx) }
	return o
}

// does lets a new process do an operation on the disk.
func (d *smallDisk) does(o operation) error {
	s, err := open(d.dir, Options{Program: "test", UIDDomain: "x", Reserve: testReserve}, d)
	if err != nil {
		return err
	}
	defer s.Close()
	return o.on(s)
}

// TestReserve holds that on a full disk what may have the reserve is done, that all else says
// that the disk is full, and what to do, that little of the reserve is lost, and that it is made
// again when there is room.
func TestReserve(t *testing.T) {
	t.Parallel()
	submit, remove := operations[0], urgent(operations[4])
	fold := operation{name: "fold", run: func(s *Spool) error { _, err := s.Fold(1, nil); return err }}
	for _, c := range []struct {
		name string
		disk smallDisk
	}{
		{"disk", smallDisk{}}, {"quota", smallDisk{quota: true}}, {"written", smallDisk{noAllocates: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := c.disk
			d.dir, d.size = fixture(t), 1<<40
			if err := d.does(operations[0]); err != nil || d.sizeOf(reserveName) != testReserve {
				t.Fatalf("the first write: %v, and the reserve has %d bytes, want %d", err, d.sizeOf(reserveName), testReserve)
			}
			d.size = d.used()
			before := dump(t, d.dir)
			err := d.does(submit)
			if !IsFull(err) || !strings.HasSuffix(err.Error(), "nothing was changed: make room on the disk; qdel and qhold still work") {
				t.Errorf("submit on a full disk = %v, want that it is full, and what to do", err)
			}
			if after := dump(t, d.dir); after != before || d.sizeOf(reserveName) != testReserve {
				t.Errorf("submit that was refused left %d bytes of the reserve and: %s", d.sizeOf(reserveName), firstDifference(after, before))
			}
			if err := d.does(remove); err != nil {
				t.Errorf("remove on a full disk = %v, want it done", err)
			}
			if lost := testReserve - d.sizeOf(reserveName); lost == 0 || lost > 2*reserve.Grain {
				t.Errorf("a small change took %d bytes of the reserve, want no more than was used", lost)
			}
			removed := dump(t, d.dir)
			if err := d.does(fold); err != nil {
				t.Errorf("fold on a full disk = %v, want it done", err)
			}
			if got := dump(t, d.dir); got != removed {
				t.Errorf("the fold on a full disk: %s", firstDifference(got, removed))
			}
			d.size = 1 << 40
			if err := d.does(submit); err != nil || d.sizeOf(reserveName) != testReserve {
				t.Errorf("with room: %v, and the reserve has %d bytes, want %d", err, d.sizeOf(reserveName), testReserve)
			}
			isSound(t, d.dir)
		})
	}
}

// TestReserveTooSmall holds that a change for which the reserve does not do changes nothing, and
// that the reserve is as it was.
func TestReserveTooSmall(t *testing.T) {
	t.Parallel()
	d := &smallDisk{dir: fixture(t), size: 1 << 40}
	if err := d.does(operations[0]); err != nil {
		t.Fatal(err)
	}
	d.size = d.used()
	before := dump(t, d.dir)
	err := d.does(urgent(operation{do: func(tx *Tx) error {
		tx.Op("mark")
		tx.PutMark("x", strings.Repeat("x", testReserve+1))
		return nil
	}}))
	if !IsFull(err) || !strings.Contains(err.Error(), "the reserve is too small: nothing was changed") {
		t.Errorf("more than the reserve = %v, want that it is too small", err)
	}
	if after := dump(t, d.dir); after != before || d.sizeOf(reserveName) != testReserve {
		t.Errorf("it left %d bytes of the reserve and: %s", d.sizeOf(reserveName), firstDifference(after, before))
	}
	isSound(t, d.dir)
}

// TestFullAtEachStep has the disk full at each step of changes that may have the reserve: they
// are done all the same, but where a sync fails, after which nothing or all of it is there.
func TestFullAtEachStep(t *testing.T) {
	t.Parallel()
	for _, o := range []operation{operations[4], operations[5]} {
		base := fixture(t)
		d := &smallDisk{dir: base, size: 1 << 40}
		if err := d.does(operations[2]); err != nil {
			t.Fatal(err)
		}
		before := dump(t, base)
		other := copyDir(t, base)
		if err := attempt(other, files.Disk{}, o.do); err != nil {
			t.Fatal(err)
		}
		after := dump(t, other)
		for at := 1; ; at++ {
			dir := copyDir(t, base)
			layer := newFaulty()
			s, err := open(dir, Options{Program: "test", UIDDomain: "x", Reserve: testReserve}, layer)
			if err != nil {
				t.Fatal(err)
			}
			layer.arm(fault{at: at, once: syscall.ENOSPC, torn: 50})
			err = urgent(o).on(s)
			s.Close()
			if !layer.fired {
				break
			}
			op := layer.steps[at-1]
			want := after
			if mayFail := op.op == "sync" || op.op == "syncdir" || op.op == "lock" || op.file == reserveName; err != nil && mayFail {
				want = before
			} else if err != nil {
				t.Errorf("%s, full at %v: %v, want it done with the reserve", o.name, op, err)
			}
			if got := dump(t, dir); got != want {
				t.Errorf("%s, full at %v: %v: %s", o.name, op, err, firstDifference(got, want))
			}
		}
	}
}

// TestSparseReserve holds that a reserve without room on the disk, as cp(1) makes it, is given room.
func TestSparseReserve(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	f, err := os.Create(filepath.Join(dir, reserveName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(testReserve); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x", Reserve: testReserve})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if held, size := reserve.Held(s.path(reserveName)); held != 0 || size != testReserve {
		t.Fatalf("a sparse reserve has room for %d of %d bytes", held, size)
	}
	if err := operations[0].on(s); err != nil {
		t.Fatal(err)
	}
	if held, _ := reserve.Held(s.path(reserveName)); held != testReserve {
		t.Errorf("the reserve has room for %d bytes, want %d", held, testReserve)
	}
}

// isSound holds that a check finds no damage.
func isSound(t *testing.T, dir string) {
	t.Helper()
	sound, err := Check(dir, Options{Program: "test"}, func(f Finding) {
		if f.Damaged {
			t.Errorf("%s: %s", f.File, f.What)
		}
	})
	if err != nil || !sound {
		t.Errorf("Check = %v, %v, want sound", sound, err)
	}
}

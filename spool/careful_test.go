package spool

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/lockline"
)

// TestUnreadableIsNotAbsent holds that a transaction whose queue cannot be read
// fails with that, whatever its function makes of the empty queue it sees.
func TestUnreadableIsNotAbsent(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	s, err := open(dir, Options{Program: "test", UIDDomain: "x"}, &failingReads{})
	if err != nil {
		t.Fatal(err)
	}
	absent := errors.New("no such job")
	err = s.Update(func(tx *Tx) error {
		if _, ok := tx.Job(pool.JobID{Cluster: 1}); !ok {
			return absent
		}
		return nil
	})
	if !errors.Is(err, syscall.EIO) || errors.Is(err, absent) {
		t.Errorf("Update = %v, want an I/O error", err)
	}
	var damage *DamageError
	if errors.As(err, &damage) {
		t.Errorf("Update = %v: an I/O error is no damage", err)
	}
}

// failingReads cannot read the head of the journal.
type failingReads struct{ files.Disk }

func (failingReads) Open(name string, flag int, perm os.FileMode) (files.File, error) {
	f, err := files.Disk{}.Open(name, flag, perm)
	if err == nil && strings.Contains(name, "journal.") {
		f = failingFile{f}
	}
	return f, err
}

type failingFile struct{ files.File }

func (f failingFile) ReadAt(b []byte, off int64) (int, error) {
	if off == 0 {
		return 0, syscall.EIO
	}
	return f.File.ReadAt(b, off)
}

// TestLostVersion holds that a spool without its VERSION is not taken for an
// empty directory, whether or not its journal was folded.
func TestLostVersion(t *testing.T) {
	t.Parallel()
	for _, folded := range []bool{false, true} {
		dir := fixture(t)
		if folded {
			foldAll(t, dir)
		}
		if err := os.Remove(filepath.Join(dir, "VERSION")); err != nil {
			t.Fatal(err)
		}
		want := listing(t, dir)
		if _, err := Open(dir, Options{UIDDomain: "x"}); err == nil || !strings.Contains(err.Error(), "restore VERSION") {
			t.Errorf("folded %v: Open = %v, want a refusal", folded, err)
		}
		if got := listing(t, dir); got != want {
			t.Errorf("folded %v: the files were %s\nand are %s", folded, want, got)
		}
	}
}

// listing returns the names and contents of all files.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			text, _ := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %q\n", path, text)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestOnlyReadable holds that nothing is committed that could not be read
// again.
func TestOnlyReadable(t *testing.T) {
	t.Parallel()
	one := classad.Literal(classad.Int(1))
	for name, do := range map[string]func(*Tx){
		"procs the wrong way round": func(tx *Tx) { tx.SetRange(pool.Procs{Cluster: 1, First: 5, Last: 3}, "A", one) },
		"a claim without a state":   func(tx *Tx) { tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: 1}}) },
		"a claim of a part of nothing": func(tx *Tx) {
			tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: 1}, State: pool.Matched, Piece: pool.Piece{Takes: "Cpus=1"}})
		},
		"no job's claim":            func(tx *Tx) { tx.DropClaim(pool.JobID{}) },
		"more procs than there are": func(tx *Tx) { tx.AddCluster(classad.New(), []NewRun{{Count: math.MaxInt}}) },
		"a huge proc":               func(tx *Tx) { tx.DropClaim(pool.JobID{Cluster: 1, Proc: 1 << 40}) },
	} {
		dir := fixture(t)
		if err := attempt(dir, files.Disk{}, func(tx *Tx) error { tx.Op("x"); do(tx); return nil }); err == nil {
			t.Errorf("%s: committed", name)
		}
		dump(t, dir)
	}
	dir := fixture(t)
	s, err := Open(dir, Options{UIDDomain: "x", Now: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(operations[0].do); err == nil {
		t.Error("the year 10000: committed")
	}
	dump(t, dir)
}

// TestOlderCopy holds that a process that has read more than there is, because
// somebody put back an older copy, goes by what is there.
func TestOlderCopy(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	journal, lock := filepath.Join(dir, "journal.1"), filepath.Join(dir, "lock")
	old, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err == nil {
		err = s.Update(operations[2].do)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(journal, old, 0o600), os.Truncate(lock, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(operations[3].do); err != nil {
		t.Fatal(err)
	}
	want := copyDir(t, dir)
	if err := errors.Join(os.WriteFile(filepath.Join(want, "journal.1"), old, 0o600), os.Truncate(filepath.Join(want, "lock"), 0)); err != nil {
		t.Fatal(err)
	}
	if err := attempt(want, files.Disk{}, operations[3].do); err != nil {
		t.Fatal(err)
	}
	if got, want := dump(t, dir), dump(t, want); got != want {
		t.Errorf("the spool holds %s\nwant %s", got, want)
	}
}

// TestPhantom lets a reader see a transaction that its writer then takes back,
// and a shorter one take its place: the reader notices.
func TestPhantom(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	reader, err := Open(dir, Options{UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(dir, "journal.1")
	good, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	phantom, _ := framed(Transaction{Seq: 3, User: "a", Program: "b", Op: "c"}, []byte("N 2 0-0\nC 2 Long = \""+strings.Repeat("x", 500)+"\"\n"), 0, 3)
	if err := os.WriteFile(journal, append(append([]byte{}, good...), phantom...), 0o600); err != nil {
		t.Fatal(err)
	}
	jobs := func() (n int) {
		if err := reader.View(func(v *View) error { n = len(v.Clusters()); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := jobs(); n != 2 {
		t.Fatalf("%d clusters, want 2: the reader has to see the transaction for this test to say anything", n)
	}
	if err := os.WriteFile(journal, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := jobs(); n != 1 {
		t.Errorf("%d clusters after it was taken back, want 1", n)
	}
	if err := os.WriteFile(journal, append(append([]byte{}, good...), phantom...), 0o600); err != nil {
		t.Fatal(err)
	}
	jobs()
	if err := os.WriteFile(journal, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error { tx.Op("x"); tx.DropSlot("s"); return nil }); err != nil {
		t.Fatal(err)
	}
	if n := jobs(); n != 1 {
		t.Errorf("%d clusters after a shorter transaction took its place, want 1", n)
	}
}

// TestPhantomOfTheSameLength lets a reader see a transaction that its writer
// then takes back, and one of the same length and a further one take its place:
// the reader notices, and so does what it changes next.
func TestPhantomOfTheSameLength(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	reader, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	before := map[string][]byte{}
	for _, name := range []string{"journal.1", "lock"} {
		if before[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	id := pool.JobID{Cluster: 1}
	set := func(n int64) {
		t.Helper()
		if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
			tx.Op("prio")
			tx.Set(id, "JobPrio", classad.Literal(classad.Int(n)))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	prio := func(v *View) string {
		r, _ := v.Run(id)
		e, _ := r.Ad.Lookup("JobPrio")
		return e.String()
	}
	set(1)
	if err := reader.View(func(v *View) error { prio(v); return nil }); err != nil {
		t.Fatal(err)
	}
	for name, b := range before { // as after a sync that failed
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set(2)
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error { tx.Op("x"); tx.DropSlot("s"); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := reader.View(func(v *View) error {
		if got := prio(v); got != "2" {
			t.Errorf("JobPrio = %s in a View, want 2", got)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestRemovedLock holds that a writer does not count a lock on a file that
// somebody has removed meanwhile.
func TestRemovedLock(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	path := filepath.Join(dir, "lock")
	l, err := acquire(files.Disk{}, path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if ours, err := leadsTo(path, l); ours || err != nil {
		t.Errorf("leadsTo a file that was replaced = %v, %v, want false", ours, err)
	}
}

// TestNested holds that a transaction inside a transaction is refused instead
// of waiting for itself, and that nothing changes a View under its reader: what
// a fold sweeps away would look like damage to it.
func TestNested(t *testing.T) {
	t.Parallel()
	s, err := Open(fixture(t), Options{Program: "test", UIDDomain: "x", LockWait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(func(*Tx) error { return s.Update(operations[0].do) }); !errors.Is(err, errNested) {
		t.Errorf("Update in Update = %v, want a refusal", err)
	}
	if err := s.Update(func(*Tx) error { return s.View(func(*View) error { return nil }) }); !errors.Is(err, errNested) {
		t.Errorf("View in Update = %v, want a refusal", err)
	}
	if err := s.View(func(*View) error { return s.Update(operations[0].do) }); !errors.Is(err, errNested) {
		t.Errorf("Update in View = %v, want a refusal", err)
	}
	if err := s.View(func(*View) error { _, err := s.Fold(1, nil); return err }); !errors.Is(err, errNested) {
		t.Errorf("Fold in View = %v, want a refusal", err)
	}
	if err := s.Update(operations[0].do); err != nil {
		t.Errorf("Update after all that: %v", err)
	}
}

// TestRefusedLeavesHistory holds that the ads of jobs that did not leave after
// all do not stay in the history.
func TestRefusedLeavesHistory(t *testing.T) {
	t.Parallel()
	base := fixture(t)
	for at := 1; ; at++ {
		dir := copyDir(t, base)
		layer := newFaulty()
		layer.at, layer.once, layer.torn = at, syscall.ENOSPC, 50
		err := attempt(dir, layer, operations[5].do)
		if !layer.fired {
			return
		}
		if err == nil {
			continue // it failed where it does not matter
		}
		for _, month := range []string{"2025-12", "2026-01"} {
			text, _ := os.ReadFile(filepath.Join(dir, "history", month+".ads"))
			before, _ := os.ReadFile(filepath.Join(base, "history", month+".ads"))
			if string(text) != string(before) {
				t.Errorf("refused at operation %d: %s holds %d bytes, want %d", at, month, len(text), len(before))
			}
		}
	}
}

// TestWithout holds that a piece is taken out of a list, wherever it is, and that the
// shorter of what stands before and behind is moved.
func TestWithout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int(), 0, 20).Draw(t, "list")
		from := rapid.IntRange(0, len(list)).Draw(t, "from")
		to := rapid.IntRange(from, len(list)).Draw(t, "to")
		want := slices.Concat(list[:from], list[to:])
		old, begin := slices.Clone(list), 0
		got := without(old, from, to)
		if !slices.Equal(got, want) {
			t.Errorf("without(%v, %d, %d) = %v, want %v", list, from, to, got, want)
		}
		if from < len(list)-to {
			begin = to - from // what stands before is moved
		}
		if len(got) > 0 && &got[0] != &old[begin] {
			t.Errorf("without(%v, %d, %d) moves the longer part", list, from, to)
		}
	})
}

// TestLeaveRange holds that procs that leave together leave as they would one
// by one.
func TestLeaveRange(t *testing.T) {
	t.Parallel()
	base := fixture(t)
	change := func(tx *Tx) {
		tx.Op("remove")
		tx.Set(pool.JobID{Cluster: 1, Proc: 4}, "Own", classad.Literal(classad.String("a\nb")))
		tx.Set(pool.JobID{Cluster: 1, Proc: 4}, "Zebra", classad.Literal(classad.Int(4)))
	}
	together, singly := copyDir(t, base), copyDir(t, base)
	if err := attempt(together, files.Disk{}, func(tx *Tx) error {
		change(tx)
		tx.LeaveRange(pool.Procs{Cluster: 1, First: 2, Last: 8}, noon)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := attempt(singly, files.Disk{}, func(tx *Tx) error {
		change(tx)
		for p := 2; p <= 8; p++ {
			tx.Leave(pool.JobID{Cluster: 1, Proc: p}, noon)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := dump(t, together), dump(t, singly); got != want {
		t.Errorf("together: %s\nwant %s", got, want)
	}
	if err := attempt(base, files.Disk{}, func(tx *Tx) error {
		tx.Op("remove")
		tx.LeaveRange(pool.Procs{Cluster: 1, First: 5, Last: 50}, noon)
		return nil
	}); err == nil {
		t.Error("procs that are not there left")
	}
}

// TestUncertain holds that a refused removal whose journal could not be cut
// back turns out whole if it turns out to be there, the history included.
func TestUncertain(t *testing.T) {
	t.Parallel()
	base := fixture(t)
	whole := copyDir(t, base)
	if err := attempt(whole, files.Disk{}, operations[4].do); err != nil {
		t.Fatal(err)
	}
	dir := copyDir(t, base)
	if err := attempt(dir, stubbornJournal{}, operations[4].do); !errors.Is(err, syscall.EIO) || !errors.Is(err, files.ErrUncertain) {
		t.Errorf("Update = %v, want an I/O error, and that it is uncertain", err)
	}
	if got, want := dump(t, dir), dump(t, whole); got != want {
		t.Errorf("the spool holds %s\nwant %s", got, want)
	}
}

// stubbornJournal can be written, but neither synced nor cut back.
type stubbornJournal struct{ files.Disk }

func (stubbornJournal) Open(name string, flag int, perm os.FileMode) (files.File, error) {
	f, err := files.Disk{}.Open(name, flag, perm)
	if err == nil && strings.Contains(name, "journal.") {
		f = stubbornFile{f}
	}
	return f, err
}

type stubbornFile struct{ files.File }

func (stubbornFile) Sync() error          { return syscall.EIO }
func (stubbornFile) Truncate(int64) error { return syscall.EIO }

// TestLeftLock makes a spool where nothing but the lock file of a removed one is:
// what that acknowledges is not of the new spool.
func TestLeftLock(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	foldAll(t, dir)
	if err := attempt(dir, files.Disk{}, operations[0].do); err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile(filepath.Join(dir, "lock"))
	if err != nil || len(lock) != 2*lockline.Size {
		t.Fatalf("lock = %q, %v", lock, err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lock"), lock, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := attempt(dir, files.Disk{}, operations[0].do); err != nil {
		t.Fatal(err)
	}
	dump(t, dir)
}

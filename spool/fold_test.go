package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

// TestFold holds that folding changes nothing of what a spool holds, wherever
// in a sequence of operations it happens, and that what is done afterwards is
// done on top of it.
func TestFold(t *testing.T) {
	t.Parallel()
	plain := fixture(t)
	before, holds := []image{imageOf(t, plain)}, []string{dump(t, plain)}
	for _, op := range operations {
		if err := op.in(plain, files.Disk{}); err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
		before, holds = append(before, imageOf(t, plain)), append(holds, dump(t, plain))
	}
	for at, first := range operations {
		t.Run("before "+first.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if err := before[at].write(root); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(root, filepath.Base(plain))
			if got := foldAll(t, dir); got != holds[at] {
				t.Fatalf("folded: %s\nwant %s", got, holds[at])
			}
			for i, op := range operations[at:] {
				if err := op.in(dir, files.Disk{}); err != nil {
					t.Fatalf("%s: %v", op.name, err)
				}
				if got := dump(t, dir); got != holds[at+i+1] {
					t.Fatalf("after %s: %s\nwant %s", op.name, got, holds[at+i+1])
				}
			}
		})
	}
}

// TestClaimSeq holds that a claim has the number of the transaction that last
// put it, in the eyes of who put it as in everybody else's.
func TestClaimSeq(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := pool.JobID{Cluster: 1}
	var seq uint64
	for _, state := range []pool.ClaimState{pool.Matched, pool.RunningClaim} {
		if err := s.Update(func(tx *Tx) error {
			tx.Op("test")
			c, _ := tx.Claim(id)
			c.Job, c.Slot, c.State = id, "slot1", state
			tx.PutClaim(c)
			seq = tx.Seq()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.View(func(v *View) error {
			if c, ok := v.Claim(id); !ok || c.Seq != seq {
				t.Errorf("Claim(%v) has Seq %d, want %d", id, c.Seq, seq)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		foldAll(t, dir)
	}
}

// foldAll folds and returns what the spool holds then.
func foldAll(t testing.TB, dir string) string {
	t.Helper()
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Fold(1, nil); err != nil {
		t.Fatalf("Fold: %v", err)
	}
	return dump(t, dir)
}

// TestFoldTouchesLittle holds that segments that the journal does not speak of
// are not written again, and that jobs that left leave no file behind.
func TestFoldTouchesLittle(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	update := func(do func(tx *Tx)) {
		t.Helper()
		if err := s.Update(func(tx *Tx) error { tx.Op("test"); do(tx); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	long := jobAd("alice")
	long.SetString("Long", strings.Repeat("x", 20_000))
	update(func(tx *Tx) {
		for range 600 {
			tx.AddCluster(long, []NewRun{{Count: 2}})
		}
	})
	fold := func() Folding {
		t.Helper()
		got, err := s.Fold(1, nil)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := fold()
	if first.Written < 3 || first.Kept != 0 {
		t.Fatalf("the first fold wrote %d segments and kept %d, want all of some 12 MB in pieces of %d", first.Written, first.Kept, segmentSize)
	}
	update(func(tx *Tx) { tx.Set(pool.JobID{Cluster: 300}, "JobPrio", classad.Literal(classad.Int(1))) })
	if got := fold(); got.Written != 1 || got.Kept != first.Written-1 {
		t.Errorf("after a change of one job, %d segments were written and %d kept, want 1 and %d", got.Written, got.Kept, first.Written-1)
	}
	if again := fold(); again.Folded != 0 || again.Written != 0 {
		t.Errorf("with nothing to fold, Fold = %+v", again)
	}
	update(func(tx *Tx) {
		for id := 1; id <= 601; id++ {
			if id != 400 {
				c, _ := tx.Cluster(id)
				tx.LeaveRange(pool.Procs{Cluster: id, First: 0, Last: c.Runs[len(c.Runs)-1].Last}, noon)
			}
		}
	})
	fold()
	names, err := filepath.Glob(filepath.Join(dir, "jobs", "*"))
	if err != nil || len(names) != 1 || !strings.Contains(names[0], "/400-400.") {
		t.Errorf("with one job left, jobs/ holds %v, want one file for cluster 400", names)
	}
}

// TestReaderKeepsGeneration holds that a reader which began before a fold, or
// before several, reads on what it began with, and that its files go when it
// has gone.
func TestReaderKeepsGeneration(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	foldAll(t, dir)
	want := dump(t, dir)
	reader, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.View(func(v *View) error {
		for range 3 {
			if err := attempt(dir, files.Disk{}, operations[2].do); err != nil {
				return err
			}
			foldAll(t, dir)
		}
		if v.Len() != 11 {
			return fmt.Errorf("%d jobs, want the 11 that were there", v.Len())
		}
		run, ok := v.Run(pool.JobID{Cluster: 1})
		if _, has := run.Ad.Lookup("JobPrio"); !ok || has {
			return errors.New("the reader sees what was done after it began")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if dump(t, dir) == want {
		t.Error("the changes are not there")
	}
	reader.Close()
	foldAll(t, dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "index.") || strings.HasPrefix(e.Name(), "journal.") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d indexes and journals are left, want one of each: %v", n, entries)
	}
}

// TestFoldLeavesNoPin holds that the generation before goes at once where nobody
// else reads it, whatever the Spool has read itself and also when the fold has to
// look for the journal's end.
func TestFoldLeavesNoPin(t *testing.T) {
	t.Parallel()
	for _, forgetsEnd := range []bool{false, true} {
		dir := fixture(t)
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err == nil {
			err = s.View(func(v *View) error { v.Len(); return nil })
		}
		if err == nil && forgetsEnd {
			err = os.Remove(filepath.Join(dir, "lock"))
		}
		if err == nil {
			_, err = s.Fold(1, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if st, err := s.Stat(); err != nil || len(st.Older) > 0 {
			t.Errorf("with the end forgotten %v: generations %v are left, %v, want none", forgetsEnd, st.Older, err)
		}
		s.Close()
	}
}

// TestFoldLeavesOthersFiles holds that what a person puts beside the segments
// is neither removed nor in the way.
func TestFoldLeavesOthersFiles(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	notes := filepath.Join(dir, "jobs", "old", "notes.txt")
	err := os.Mkdir(filepath.Dir(notes), 0o700)
	for _, name := range []string{notes, filepath.Join(dir, "jobs", "notes.txt")} {
		if err == nil {
			err = os.WriteFile(name, []byte("mine"), 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	foldAll(t, dir)
	for _, name := range []string{notes, filepath.Join(dir, "jobs", "notes.txt")} {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("after a fold: %v", err)
		}
	}
}

// TestFoldAmongWriters lets writers go on while the journal is folded again
// and again: nothing is lost.
func TestFoldAmongWriters(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	const least, leastFolds = 200, 5
	var folds atomic.Int32
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x", LockWait: longWait})
		for err == nil {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			var f Folding
			if f, err = s.Fold(1, nil); f.Folded > 0 {
				folds.Add(1)
			}
		}
		stopped <- err
	}()
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x", LockWait: longWait})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; (n < least || folds.Load() < leastFolds) && len(stopped) == 0; n++ {
		if err := s.Update(func(tx *Tx) error {
			tx.Op("count")
			r, _ := tx.Submitter("carol@x")
			r.ResourcesUsed++
			tx.PutSubmitter(r)
			tx.AddCluster(jobAd("dave"), []NewRun{{Count: 3}})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if err := s.View(func(v *View) error {
		if r, _ := v.Submitter("carol@x"); r.ResourcesUsed != n || v.Len() != 11+3*n {
			t.Errorf("counted %d, %d jobs, want %d and %d", r.ResourcesUsed, v.Len(), n, 11+3*n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// fullDisk has no room for an index any more.
type fullDisk struct{ files.Disk }

type fullFile struct{ files.File }

func (fullDisk) Open(name string, flag int, perm os.FileMode) (files.File, error) {
	f, err := files.Disk{}.Open(name, flag, perm)
	if err == nil && strings.HasPrefix(filepath.Base(name), "index.") && flag&os.O_CREATE != 0 {
		return fullFile{f}, nil
	}
	return f, err
}

func (fullFile) WriteAt([]byte, int64) (int, error) { return 0, syscall.ENOSPC }

// TestFoldOnFullDisk holds that a fold for which there is no room gives back what
// it took: writers need it more.
func TestFoldOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	list := func() (names []string) {
		t.Helper()
		for _, pattern := range []string{"*.[0-9]", "jobs/*", "slots/*"} {
			got, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, got...)
		}
		return names
	}
	before, holds := list(), dump(t, dir)
	s, err := open(dir, Options{Program: "test", UIDDomain: "x"}, fullDisk{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Fold(1, nil); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Fold = %v, want %v", err, syscall.ENOSPC)
	}
	if got := list(); !slices.Equal(got, before) {
		t.Errorf("%v are left, want %v", got, before)
	}
	if got := dump(t, dir); got != holds {
		t.Errorf("the spool holds %s\nwant %s", got, holds)
	}
}

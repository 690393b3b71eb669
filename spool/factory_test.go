package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

// wholeDigest is a digest of three blocks, the last of them short.
var wholeDigest = []byte(strings.Repeat("a line of the digest\n", 2*digestBlock/21+1000))

// factories is a spool in which cluster 1 is a factory with a digest of three
// blocks, and cluster 2 is none.
func factories(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "spool")
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
		tx.Op("submit")
		tx.AddFactory(Factory{Cluster: tx.NextCluster(), Owner: "alice", Next: 2, Jobs: 50, Offset: 7}, wholeDigest)
		tx.AddCluster(jobAd("alice"), []NewRun{{Count: 2}})
		tx.AddCluster(jobAd("bob"), []NewRun{{Count: 1}})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// viewed views a spool anew.
func viewed(t testing.TB, dir string, fn func(v *View) error) {
	t.Helper()
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.View(fn); err != nil {
		t.Fatal(err)
	}
}

// TestFactory holds that a factory and its digest read as they were given, in
// their own transaction and later, and that changes of it last.
func TestFactory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	want := Factory{Cluster: 1, Owner: "alice", Next: 1, Jobs: 9, MaxMaterialize: 5, MaxIdle: 3, Offset: 4, Paused: "a \"b\"\n"}
	same := func(v *View) error {
		f, ok := v.Factory(1)
		if all := v.Factories(); !ok || f != want || !slices.Equal(all, []Factory{want}) {
			return fmt.Errorf("Factory(1) = %+v, %v, Factories() = %+v, want %+v", f, ok, all, want)
		}
		if text, err := digestOf(v, 1); err != nil || string(text) != "one\ntwo\n" {
			return fmt.Errorf("Digest(1) = %q, %v", text, err)
		}
		if _, err := v.Digest(2); err == nil {
			return errors.New("there is a digest of no factory")
		}
		return nil
	}
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
		tx.Op("submit")
		tx.AddCluster(jobAd("alice"), []NewRun{{Count: 1}})
		tx.AddFactory(want, []byte("one\ntwo\n"))
		return same(&tx.View)
	}); err != nil {
		t.Fatal(err)
	}
	viewed(t, dir, same)
	want.Next, want.Offset, want.Paused = 2, 8, ""
	for range 2 { // the second one changes nothing
		if err := attempt(dir, files.Disk{}, func(tx *Tx) error { tx.Op("materialize"); tx.PutFactory(want); return same(&tx.View) }); err != nil {
			t.Fatal(err)
		}
	}
	viewed(t, dir, func(v *View) error {
		if v.Seq() != 2 {
			return fmt.Errorf("transaction %d, want 2: a change of nothing costs nothing", v.Seq())
		}
		return same(v)
	})
	foldAll(t, dir)
	viewed(t, dir, same)
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error { tx.Op("remove"); tx.DropFactory(1); return nil }); err != nil {
		t.Fatal(err)
	}
	viewed(t, dir, func(v *View) error {
		if _, ok := v.Factory(1); ok || len(v.Factories()) > 0 || v.Len() != 1 {
			return errors.New("the factory is still there, or its jobs are not")
		}
		return nil
	})
}

// TestFactoryRefusals holds that what cannot be is refused and changes nothing.
func TestFactoryRefusals(t *testing.T) {
	t.Parallel()
	grow := func(cluster, first int, runs ...NewRun) func(*Tx) {
		return func(tx *Tx) { tx.Grow(cluster, jobAd("alice"), first, runs) }
	}
	add := func(f Factory) func(*Tx) {
		return func(tx *Tx) {
			tx.AddCluster(jobAd("alice"), []NewRun{{Count: 1}})
			tx.AddFactory(f, nil)
		}
	}
	dir := factories(t)
	before := dump(t, dir)
	for _, c := range []struct {
		name, want string
		do         func(*Tx)
	}{
		{"an old cluster", "only a new cluster", add(Factory{Cluster: 2})},
		{"a cluster that is not made", "without the cluster", add(Factory{Cluster: 4})},
		{"no cluster", "not a cluster's number", add(Factory{})},
		{"too far", "cannot be the next one", add(Factory{Cluster: 3, Next: 2, Jobs: 1})},
		{"below zero", "below 0", add(Factory{Cluster: 3, MaxIdle: -1})},
		{"a bad offset", "below 0", add(Factory{Cluster: 3, Offset: -1})},
		{"twice", "it has a factory", func(tx *Tx) { add(Factory{Cluster: 3})(tx); tx.AddFactory(Factory{Cluster: 3}, nil) }},
		{"a change of none", "it has no factory", func(tx *Tx) { tx.PutFactory(Factory{Cluster: 2}) }},
		{"a bad change", "cannot be the next one", func(tx *Tx) { tx.PutFactory(Factory{Cluster: 1, Next: -1}) }},
		{"a new number", "never given out", grow(3, 0, NewRun{Count: 1})},
		{"number 0", "never given out", grow(0, 0, NewRun{Count: 1})},
		{"procs that are there", "there already", grow(1, 1, NewRun{Count: 1})},
		{"nothing to add", "no procs", grow(1, 2)},
		{"a proc below zero", "below zero", grow(2, -1, NewRun{Count: 1})},
	} {
		err := attempt(dir, files.Disk{}, func(tx *Tx) error { tx.Op("try"); c.do(tx); return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want that it says %q", c.name, err, c.want)
		}
		if after := dump(t, dir); after != before {
			t.Errorf("%s: it was refused and changed\n%s\nto\n%s", c.name, before, after)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "factories", "*")); len(files) != 1 {
			t.Errorf("%s: the digests are %q, want that of cluster 1", c.name, files)
		}
	}
}

// TestGrow holds that a cluster that grows, and one that is put in again, is the
// same to a reader who saw it happen and to those who come later, wherever the
// journal was folded in between; and that the index says of it what is right.
func TestGrow(t *testing.T) {
	t.Parallel()
	steps := []func(*Tx){
		func(tx *Tx) {
			tx.AddCluster(jobAd("alice"), []NewRun{{Count: 3}})
			tx.AddCluster(jobAd("dave"), []NewRun{{Count: 2}})
		},
		func(tx *Tx) {
			one := classad.New()
			one.SetInt("JobPrio", 3)
			tx.Grow(1, jobAd("nobody"), 3, []NewRun{{Count: 2, Ad: one}, {Count: 1}})
		},
		func(tx *Tx) { tx.LeaveRange(pool.Procs{Cluster: 1, First: 0, Last: 5}, noon) },
		func(tx *Tx) {
			ad := classad.New()
			ad.SetString("Owner", "bob")
			tx.Grow(1, ad, 6, []NewRun{{Count: 4}})
		},
		func(tx *Tx) { tx.Grow(1, jobAd("nobody"), 12, []NewRun{{Count: 1}}) },
	}
	want := []string{ // owner, procs and attributes of cluster 1; how many jobs
		"alice [0-2] 6 5", "alice [0-2 3-4 5-5] 6 8", "2", "bob [6-9] 2 6", "bob [6-9 12-12] 2 7",
	}
	for folds := range 1 << len(steps) {
		dir := filepath.Join(t.TempDir(), "spool")
		live, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range steps {
			if err := live.Update(func(tx *Tx) error { tx.Op("grow"); step(tx); return nil }); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			check := func(v *View) error { return grown(v, want[i]) }
			if err := live.View(check); err != nil {
				t.Errorf("folds %b, step %d, live: %v", folds, i, err)
			}
			viewed(t, dir, check)
			if folds&(1<<i) == 0 {
				continue
			}
			foldAll(t, dir)
			viewed(t, dir, check)
		}
	}
}

// grown compares cluster 1 with what it should be.
func grown(v *View, want string) error {
	got := fmt.Sprint(v.Len())
	if c, ok := v.Cluster(1); ok {
		owner, _ := c.Ad.EvalString(&classad.Context{}, "Owner")
		var runs []string
		for _, r := range c.Runs {
			runs = append(runs, fmt.Sprintf("%d-%d", r.First, r.Last))
		}
		got = fmt.Sprintf("%s %v %d %d", owner, runs, len(c.Ad.OwnNames()), v.Len())
		if mine := v.Belonging([]string{owner}); len(mine) == 0 || mine[0].ID != 1 {
			return fmt.Errorf("of %s's clusters %v the first is not 1", owner, mine)
		}
		if e := clusterEntry(c); e.owner != fmt.Sprintf("%q", owner) || e.jobs != c.jobs() {
			return fmt.Errorf("the index has %+v", e)
		}
	}
	if got != want {
		return fmt.Errorf("cluster 1 is %s, want %s", got, want)
	}
	return nil
}

// TestMissingDigests holds that the folder for digests is made anew for a spool's first factory.
func TestMissingDigests(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	if err := attempt(dir, files.Disk{}, func(*Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "factories")); err != nil {
		t.Fatal(err)
	}
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
		tx.AddFactory(Factory{Cluster: tx.NextCluster(), Jobs: 1}, nil)
		tx.Op("submit")
		tx.AddCluster(jobAd("alice"), []NewRun{{Count: 1}})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if report, sound := checkOf(t, dir); !sound {
		t.Error(report)
	}
}

// TestDigestOffset holds that a digest can be read from any place, as a reader of
// the whole text would have it.
func TestDigestOffset(t *testing.T) {
	t.Parallel()
	viewed(t, factories(t), func(v *View) error {
		d, err := v.Digest(1)
		if err != nil {
			return err
		}
		defer d.Close()
		size := int64(len(wholeDigest))
		for _, at := range []int64{size - 5, 0, 3, digestBlock - 2, 2 * digestBlock, size, size + 9} {
			if got, err := d.Seek(at, io.SeekStart); err != nil || got != at {
				return fmt.Errorf("Seek(%d) = %d, %v", at, got, err)
			}
			want := wholeDigest[min(at, size):min(at+10, size)]
			got, err := io.ReadAll(io.LimitReader(d, 10))
			if err != nil || !bytes.Equal(got, want) {
				return fmt.Errorf("from %d: %q, %v, want %q", at, got, err, want)
			}
		}
		if at, err := d.Seek(-4, io.SeekEnd); err != nil || at != size-4 {
			return fmt.Errorf("Seek from the end = %d, %v", at, err)
		}
		if at, err := d.Seek(1, io.SeekCurrent); err != nil || at != size-3 {
			return fmt.Errorf("Seek from here = %d, %v", at, err)
		}
		if _, err := d.Seek(-1, io.SeekStart); err == nil {
			return errors.New("Seek before the beginning = nil, want an error")
		}
		return nil
	})
}

// TestDigestDamage holds that damage to a digest is met by whoever reads that
// block, is found by a check, and makes salvage leave out that factory.
func TestDigestDamage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(file string) error
		opens  bool
		line   int
		want   string
	}{
		{"a byte", func(file string) error {
			b := bytes.Clone(wholeDigest)
			b[digestBlock+5] ^= 1
			return os.WriteFile(file, b, 0o600)
		}, true, 1 + bytes.Count(wholeDigest[:digestBlock], newline), "the checksum of its block 2"},
		{"the end is missing", func(file string) error { return os.Truncate(file, digestBlock) }, false, 1, "bytes instead of"},
		{"more at the end", func(file string) error { return os.WriteFile(file, append(bytes.Clone(wholeDigest), 'x'), 0o600) }, false, 1, "bytes instead of"},
		{"missing", os.Remove, false, 1, "the file is missing"},
	} {
		dir := factories(t)
		file := filepath.Join(dir, "factories", "1")
		if err := c.damage(file); err != nil {
			t.Fatal(err)
		}
		viewed(t, dir, func(v *View) error {
			d, err := v.Digest(1)
			if c.opens != (err == nil) {
				t.Fatalf("%s: Digest = %v", c.name, err)
			}
			if err == nil {
				defer d.Close()
				if b, err := io.ReadAll(io.LimitReader(d, digestBlock)); err != nil || len(b) != digestBlock {
					t.Errorf("%s: the sound block reads %d bytes, %v", c.name, len(b), err)
				}
				if _, err := d.Read(make([]byte, 1)); !isDamage(err) {
					t.Errorf("%s: reading on = %v, want damage", c.name, err)
				}
			}
			var damage *DamageError
			if _, readErr := digestOf(v, 1); !errors.As(readErr, &damage) || damage.Line != c.line || !strings.Contains(damage.Why, c.want) {
				t.Errorf("%s: %v, want damage on line %d that says %q", c.name, readErr, c.line, c.want)
			}
			return nil
		})
		if got := matches(findings(t, dir), "!"); len(got) != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: the check finds %q, want %q", c.name, got, c.want)
		}
		to, told, _, s := salvaged(t, dir)
		if s.Factories != 0 || s.Lost != 1 || s.Jobs != 3 || !strings.Contains(told, "the factory of cluster 1 is lost: its procs from 2 on") {
			t.Errorf("%s: salvaged %+v: %s", c.name, s, told)
		}
		if report, sound := checkOf(t, to); !sound {
			t.Errorf("%s: salvaged: %s", c.name, report)
		}
	}
}

// TestDigestDumped holds that a dump carries digests, and that one whose digest is
// not that of its factory is refused.
func TestDigestDumped(t *testing.T) {
	t.Parallel()
	text := dumped(t, factories(t))
	to := filepath.Join(t.TempDir(), "to")
	if made, err := Restore(to, strings.NewReader(text), Options{UIDDomain: "x"}, nil); err != nil || made.Factories != 1 {
		t.Fatalf("Restore = %+v, %v", made, err)
	}
	viewed(t, to, func(v *View) error {
		if got, err := digestOf(v, 1); err != nil || !bytes.Equal(got, wholeDigest) {
			t.Errorf("the digest has %d bytes, %v, want the %d that it had", len(got), err, len(wholeDigest))
		}
		return nil
	})
	begin := strings.Index(text, "MyType = \"Digest\"")
	next := begin + strings.Index(text[begin:], "\n\n") + 2
	for name, bad := range map[string]string{
		"a block is missing":      text[:begin] + text[next:],
		"a block is there twice":  text[:next] + text[begin:],
		"a block reads otherwise": text[:begin] + strings.Replace(text[begin:], "a line", "A line", 1),
		"no factory before it":    strings.Replace(text, "MyType = \"Factory\"", "MyType = \"Mark\"\nName = \"a\"\nText = \"b\"\n\nMyType = \"Factory\"", 1)[:begin],
		"of another":              text[:begin] + strings.Replace(text[begin:], "Cluster = 1", "Cluster = 2", 1),
	} {
		if _, err := Restore(filepath.Join(t.TempDir(), "bad"), strings.NewReader(bad), Options{UIDDomain: "x"}, nil); !errors.As(err, new(*DumpError)) {
			t.Errorf("%s: Restore = %v, want that it is no dump", name, err)
		}
	}
}

// TestDigestSweep holds that the digest of a dropped factory goes with the next
// fold, unless somebody reads a generation that speaks of it, and with it what a
// dead writer left; and that nothing else goes.
func TestDigestSweep(t *testing.T) {
	t.Parallel()
	dir := factories(t)
	foldAll(t, dir)
	for _, name := range []string{"7", "2", "note", "08"} { // of dead writers, and of others
		if err := os.WriteFile(filepath.Join(dir, "factories", name), []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := findings(t, dir)
	if got := matches(list, "factories/7: "+leftOver); len(got) != 1 || len(matches(list, "!")) > 0 {
		t.Errorf("the check tells of factories/7 %q:\n%s", got, strings.Join(list, "\n"))
	}
	digests := func(when string, want ...string) {
		t.Helper()
		var got []string
		files, _ := os.ReadDir(filepath.Join(dir, "factories"))
		for _, f := range files {
			got = append(got, f.Name())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s the digests are %q, want %q", when, got, want)
		}
	}
	viewed(t, dir, func(v *View) error {
		if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
			tx.Op("remove")
			tx.DropFactory(1)
			tx.Leave(pool.JobID{Cluster: 2}, noon)
			return nil
		}); err != nil {
			return err
		}
		foldAll(t, dir)
		digests("while it is read", "08", "1", "note")
		got, err := digestOf(v, 1)
		if err != nil || !bytes.Equal(got, wholeDigest) {
			return fmt.Errorf("the digest has %d bytes, %w", len(got), err)
		}
		return nil
	})
	foldAll(t, dir)
	digests("afterwards", "08", "note")
}

// TestStoppedDigestSweep lets a fold that removes digests go wrong at every step from the
// first removal of one on, and holds that one that nothing disturbs removes them all. Up to
// there it is the fold of TestStoppedWriter.
func TestStoppedDigestSweep(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	dir := fixture(t)
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error { tx.Op("remove"); tx.DropFactory(1); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "factories", "2"), []byte("of a dead writer"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.base = imageOf(t, dir)
	fold := operation{name: "fold", same: true, run: func(s *Spool) error { _, err := s.Fold(1, nil); return err }}
	p.pointsFrom(fold, func(s step) bool { return s.op == "remove" && strings.HasPrefix(s.file, "spool/factories/") })
	foldAll(t, dir)
	if files, _ := os.ReadDir(filepath.Join(dir, "factories")); len(files) > 0 {
		t.Errorf("the fold left %v", files)
	}
}

// TestStoppedOverOrphan does the same for the submission of a factory whose digest
// gets the name of one that a dead writer left.
func TestStoppedOverOrphan(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	dir := fixture(t)
	if err := os.WriteFile(filepath.Join(dir, "factories", "2"), []byte("of a dead writer, and long: "+strings.Repeat("x", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.base = imageOf(t, dir)
	i := slices.IndexFunc(operations, func(o operation) bool { return o.name == "submit a factory" })
	p.everyPoint(operations[i])
}

// TestDigestsAmongWriters lets writers add and drop factories while others fold:
// the digest of every factory that is there reads, and no other stays.
func TestDigestsAmongWriters(t *testing.T) {
	t.Parallel()
	dir := factories(t)
	const writers, rounds = 4, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			s, err := Open(dir, Options{Program: "test", UIDDomain: "x", LockWait: longWait})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for n := range rounds {
				err := s.Update(func(tx *Tx) error {
					tx.Op("submit")
					id := tx.AddCluster(jobAd("alice"), []NewRun{{Count: 1}})
					tx.AddFactory(Factory{Cluster: id, Owner: fmt.Sprint(id), Next: 1, Jobs: 2}, fmt.Appendf(nil, "digest of %d", id))
					if id%2 == 0 {
						tx.DropFactory(id - 1)
					}
					return nil
				})
				if _, e := s.Fold(1, nil); err == nil && !errors.Is(e, ErrFolding) {
					err = e
				}
				if err != nil {
					t.Errorf("writer %d, round %d: %v", w, n, err)
					return
				}
			}
		})
	}
	all.Wait()
	foldAll(t, dir)
	viewed(t, dir, func(v *View) error {
		var want []int
		for _, f := range v.Factories() {
			want = append(want, f.Cluster)
			if text, err := digestOf(v, f.Cluster); f.Cluster > 1 && (err != nil || string(text) != "digest of "+f.Owner) {
				return fmt.Errorf("the digest of %d is %q, %v", f.Cluster, text, err)
			}
		}
		got, err := v.spool.digestFiles()
		if err != nil || len(want) < writers*rounds/2 || !slices.Equal(got, want) {
			return fmt.Errorf("digests of %v, %v, want %v", got, err, want)
		}
		return nil
	})
	if report, sound := checkOf(t, dir); !sound {
		t.Error(report)
	}
}

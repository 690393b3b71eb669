package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// wholeDigest is a digest of three blocks, the last of them short.
var wholeDigest = []byte(strings.Repeat("a line of the digest\n", 2*digestBlock/21+1000))

// factories is a spool in which cluster 1 is a factory with a digest of three
// blocks, and cluster 2 is none.
func factories(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "spool")
	if err := attempt(dir, disk{}, func(tx *Tx) error {
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
	if err := attempt(dir, disk{}, func(tx *Tx) error {
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
		if err := attempt(dir, disk{}, func(tx *Tx) error { tx.Op("materialize"); tx.PutFactory(want); return same(&tx.View) }); err != nil {
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
	if err := attempt(dir, disk{}, func(tx *Tx) error { tx.Op("remove"); tx.DropFactory(1); return nil }); err != nil {
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
		err := attempt(dir, disk{}, func(tx *Tx) error { tx.Op("try"); c.do(tx); return nil })
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

// TestSpoolWithoutFactories holds that a spool that never had a factory keeps the
// format of before, also without a folder for digests, and gets the new one with
// its first factory.
func TestSpoolWithoutFactories(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	submit := func(tx *Tx) error { tx.Op("submit"); tx.AddCluster(jobAd("alice"), []NewRun{{Count: 1}}); return nil }
	formatIs := func(want int) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, "VERSION"))
		if err != nil || !strings.Contains(string(b), fmt.Sprintf("\nformat %d\n", want)) {
			t.Errorf("VERSION is %q, %v, want format %d", b, err, want)
		}
		if report, sound := checkOf(t, dir); !sound {
			t.Errorf("format %d: %s", want, report)
		}
	}
	if err := attempt(dir, disk{}, submit); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "factories")); err != nil {
		t.Fatal(err)
	}
	foldAll(t, dir)
	formatIs(format)
	if err := attempt(dir, disk{}, func(tx *Tx) error {
		tx.AddFactory(Factory{Cluster: tx.NextCluster(), Jobs: 1}, nil)
		return submit(tx)
	}); err != nil {
		t.Fatal(err)
	}
	formatIs(factoryFormat)
	foldAll(t, dir)
	formatIs(factoryFormat)
	dir = restored(t, dumped(t, dir))
	formatIs(factoryFormat)
}

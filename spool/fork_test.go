package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// shownIn returns all that the present view of a spool shows but the history, in every way that it is
// asked for.
func shownIn(t testing.TB, s *Spool) string {
	t.Helper()
	var b strings.Builder
	err := s.View(func(v *View) error {
		if err := showTo(&b, v); err != nil {
			return err
		}
		names := v.SlotNames()
		slices.Sort(names)
		fmt.Fprintln(&b, v.Seq(), names)
		for _, c := range v.Clusters() {
			owner, bytes := c.Charged()
			fmt.Fprintln(&b, c.ID, owner, bytes, v.Owner(owner))
			for _, r := range c.Runs {
				fmt.Fprintln(&b, r.Procs, r.Seq, r.Ad.Flat().Format(classad.StyleSpool))
			}
		}
		pieces := v.Pieces()
		for i := range pieces.Len() {
			some, err := pieces.Reader().Read(i, func(int) bool { return true })
			if err != nil {
				return err
			}
			for _, c := range some {
				fmt.Fprint(&b, c.ID, " ")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// changeOf returns a change that is the same for the same number: one of the table of what writers do, or
// a random one of the queue.
func changeOf(n int) func(*Tx) error {
	if o := operations[n%len(operations)]; n%3 > 0 && o.do != nil {
		return o.do
	}
	return func(tx *Tx) error {
		rapid.Custom(func(t *rapid.T) bool {
			changeQueue(t, tx)
			return true
		}).Example(n)
		for _, c := range tx.Clusters() {
			tx.SetCommon(c.ID, "Common", classad.Literal(classad.Int(int64(n))))
			break
		}
		for _, name := range tx.SlotNames() {
			s, _ := tx.Advertised(name)
			ad := classad.New()
			if s.Ad != nil {
				ad = s.Ad.Clone()
			}
			ad.SetInt("Changed", int64(n))
			if name != "hand" { // which a fork alone may change
				tx.PutSlot(name, ad)
			}
		}
		return nil
	}
}

// openFor opens a spool in one draw of a law.
func openFor(t *rapid.T, dir string) *Spool {
	s, err := Open(dir, Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestForkLaw holds that a fork shows what the view shows, and after transactions what the spool shows
// after the same ones; that neither the view nor a byte of the spool is changed by them; and that a
// fork of a fork is one like others.
func TestForkLaw(t *testing.T) {
	t.Parallel()
	base := fixture(t)
	if err := os.WriteFile(filepath.Join(base, "slots.d", "hand.ads"), []byte("Name = \"hand\"\nCpus = 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir := copyDir(t, base)
		open := func() *Spool { return openFor(rt, dir) }
		s := open()
		defer s.Close()
		number := rapid.IntRange(0, 1000)
		for _, n := range rapid.SliceOfN(number, 0, 4).Draw(rt, "before") {
			s.Update(changeOf(n)) // not all of the table goes together
			if n%4 == 0 {
				if _, err := s.Fold(1, nil); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if rapid.Bool().Draw(rt, "fresh") {
			s.Close()
			s = open()
		}
		before, err := readImage(dir)
		if err != nil {
			rt.Fatal(err)
		}
		numbers := rapid.SliceOfN(number, 1, 4).Draw(rt, "transactions")
		var shows []string // after each of them
		if err := s.View(func(v *View) error {
			fork := v.Fork()
			for _, n := range numbers {
				if n%2 == 0 {
					if err := fork.View(func(v *View) error { fork = v.Fork(); return nil }); err != nil {
						return err
					}
				}
				if fork.Update(changeOf(n)) != nil {
					break
				}
				shows = append(shows, shownIn(t, fork))
			}
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		after, err := readImage(dir)
		if err != nil || after.sum() != before.sum() {
			rt.Fatalf("a fork has changed the spool: %v", err)
		}
		now := shownIn(t, s)
		if again := shownIn(t, open()); now != again {
			rt.Fatalf("a fork has changed the view: %s", firstDifference(now, again))
		}
		if err := s.View(func(v *View) error {
			if got := shownIn(t, v.Fork()); got != now {
				rt.Fatalf("a fork shows %s", firstDifference(got, now))
			}
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		for i, want := range shows {
			if err := s.Update(changeOf(numbers[i])); err != nil {
				rt.Fatalf("transaction %d: %v, and none in a fork", i, err)
			}
			if got := shownIn(t, s); got != want {
				rt.Fatalf("after transaction %d a fork shows %s", i, firstDifference(want, got))
			}
		}
		if len(shows) < len(numbers) && s.Update(changeOf(numbers[len(shows)])) == nil {
			rt.Fatalf("transaction %d is refused in a fork alone", len(shows))
		}
	})
}

// The transactions of a fork see no more than the view.
func TestForkShowsNoMore(t *testing.T) {
	t.Parallel()
	s, err := Open(fixture(t), Options{Program: "test", Sight: func(string) Sight { return Outline }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := pool.JobID{Cluster: 1}
	if err := s.View(func(v *View) error {
		fork := v.Fork()
		if err := fork.Update(func(tx *Tx) error {
			tx.Op("test")
			tx.Set(id, "JobPrio", classad.Literal(classad.Int(7)))
			if ad, ok := tx.Job(id); !ok || ad.Has(pool.AttrCmd) || !ad.Has("JobPrio") {
				t.Errorf("a job in a transaction of a fork is %v, %v, want it without %s", ad, ok, pool.AttrCmd)
			}
			tx.Leave(pool.JobID{Cluster: 1, Proc: 1}, noon)
			return nil
		}); err != nil {
			return err
		}
		return fork.View(func(v *View) error {
			if ad, ok := v.Job(id); !ok || ad.Has(pool.AttrCmd) || v.Len() != 10 {
				t.Errorf("a job of a fork is %v, %v, of %d, want it without %s, of 10", ad, ok, v.Len(), pool.AttrCmd)
			}
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
}

// A fork writes nothing, and changes slots that are written by hand.
func TestFork(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	s, err := Open(dir, Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.WriteFile(filepath.Join(dir, "slots.d", "hand.ads"), []byte("Name = \"hand\"\nCpus = 4\n\nName = \"hand\"\nCpus = 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.View(func(v *View) error {
		fork := v.Fork()
		for what, do := range map[string]func() error{
			"a fold":       func() error { _, err := fork.Fold(1, nil); return err },
			"an archive":   func() error { _, err := fork.Archive("2026-01", "", false); return err },
			"a cycle":      func() error { return fork.Negotiating(0, func() error { return nil }) },
			"a report":     func() error { return fork.SetReport(strings.NewReader(`{"Cycle": 1}`)) },
			"a new domain": func() error { return fork.RenameDomain("y", func(*Tx) error { return nil }) },
		} {
			if err := do(); !errors.Is(err, errFork) {
				t.Errorf("%s of a fork: %v, want %v", what, err, errFork)
			}
		}
		if err := fork.View(func(*View) error { return nil }); !errors.Is(err, errFork) {
			t.Errorf("a fork that was closed: %v, want %v", err, errFork)
		}
		fork = v.Fork()
		n, err := fork.NextCluster()
		if err != nil || n != v.NextCluster() {
			t.Errorf("the next cluster of a fork is %d, %v, want %d", n, err, v.NextCluster())
		}
		return fork.Update(func(tx *Tx) error {
			tx.Op("test")
			s, _ := tx.Advertised("hand")
			if s.Source == "" {
				t.Errorf("a slot written by hand has no source in a fork")
			}
			if n, _ := s.Ad.EvalInt(&classad.Context{}, pool.AttrCpus); n != 4 {
				t.Errorf("of two ads of one slot written by hand a fork has that with Cpus = %d, want the first", n)
			}
			tx.DropSlot("hand")
			if list, bad := tx.Slots(); len(list)+len(bad) > 0 {
				t.Errorf("without its one slot a fork has %v, %v", list, bad)
			}
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
}

package spool

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestChangesSinceLaw holds that no cluster changes, comes or goes unnoticed, whoever changes it: this process, another one, a fold, or
// nobody but a fork.
func TestChangesSinceLaw(t *testing.T) {
	t.Parallel()
	base := fixture(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir := copyDir(t, base)
		open := func() *Spool { return openFor(rt, dir) }
		s, other := open(), open()
		defer s.Close()
		defer other.Close()
		look := func(s *Spool, then Changes) (texts map[int]string, list []int, now Changes, known bool) {
			texts = map[int]string{}
			if err := s.View(func(v *View) error {
				for _, c := range v.Clusters() {
					texts[c.ID] = string(clusterBlock(nil, c))
				}
				list, now, known = ChangesSince(v, then)
				return nil
			}); err != nil {
				rt.Fatal(err)
			}
			return texts, list, now, known
		}
		if rapid.Bool().Draw(rt, "fork") {
			s.View(func(v *View) error { s = v.Fork(); return nil })
		}
		before, _, then, _ := look(s, Changes{})
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 8).Draw(rt, "transactions") {
			by := s
			if s.forked == nil && i%3 == 1 {
				by = other
			}
			failed := by.Update(changeOf(n)) != nil
			if s.forked != nil && failed {
				return
			}
			if s.forked == nil && i%4 == 3 {
				if _, err := other.Fold(1, nil); err != nil {
					rt.Fatal(err)
				}
			}
			after, list, now, known := look(s, then)
			if !slices.IsSorted(list) {
				rt.Fatalf("not ascending: %v", list)
			}
			for _, texts := range []map[int]string{before, after} {
				for id := range texts {
					if known && before[id] != after[id] && !slices.Contains(list, id) {
						rt.Fatalf("cluster %d was\n%s\nis\n%s\nand is not among %v", id, before[id], after[id], list)
					}
				}
			}
			if s.forked != nil && !known {
				rt.Fatal("a fork does not know its changes")
			}
			before, then = after, now
		}
	})
}

// What was forgotten is not known.
func TestChangesSinceMany(t *testing.T) {
	t.Parallel()
	s := InMemory("example.org")
	var old, late Changes
	view := func(do func(v *View)) {
		t.Helper()
		if err := s.View(func(v *View) error { do(v); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	view(func(v *View) {
		var known bool
		if _, old, known = ChangesSince(v, Changes{}); known {
			t.Error("the changes since no moment are known")
		}
	})
	if err := s.Update(func(tx *Tx) error {
		for n := range mostLogged + 1 {
			tx.loaded.jobs.touch(n)
			if n == mostLogged-1 {
				_, late, _ = ChangesSince(&tx.View, Changes{})
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	view(func(v *View) {
		if list, _, known := ChangesSince(v, old); known {
			t.Errorf("%d changes are known", len(list))
		}
		if list, _, known := ChangesSince(v, late); !known || strings.Trim(fmt.Sprint(list), "[]") != fmt.Sprint(mostLogged) {
			t.Errorf("the last change is not known: %v, %v", list, known)
		}
	})
}

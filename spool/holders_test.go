package spool

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

func TestFlocked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		pid   int
		inode uint64
		ok    bool
	}{
		{"4: FLOCK  ADVISORY  WRITE 14152 00:1b:24398950 0 EOF", 14152, 24398950, true},
		{"1: FLOCK  ADVISORY  READ 13777 00:1b:24398440 0 EOF", 0, 0, false},
		{"5: POSIX  ADVISORY  WRITE 14152 00:1b:24398950 0 EOF", 0, 0, false},
		{"4: -> FLOCK  ADVISORY  WRITE 14152 00:1b:24398950 0 EOF", 0, 0, false}, // it waits
		{"4: FLOCK  ADVISORY  WRITE x 00:1b:24398950 0 EOF", 0, 24398950, false},
		{"4: FLOCK", 0, 0, false},
		{"", 0, 0, false},
	} {
		pid, inode, ok := flocked(c.line)
		if ok != c.ok || ok && (pid != c.pid || inode != c.inode) {
			t.Errorf("flocked(%q) = %d, %d, %v, want %d, %d, %v", c.line, pid, inode, ok, c.pid, c.inode, c.ok)
		}
	}
}

// TestHolders holds that who has a lock is found, with what its first line says, and is not once it
// has let go.
func TestHolders(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := time.Now().Add(-time.Second)
	var during []Holder
	err = s.Negotiating(0, func() (err error) {
		testenv.Until(t, "the holder is seen", func() bool { during, err = s.Holders(); return err != nil || len(during) > 0 })
		return err
	})
	if err != nil || len(during) != 1 || during[0].Lock != "negotiate.lock" || during[0].PID != os.Getpid() ||
		during[0].Program != "test" || during[0].Since.Before(before) || during[0].Stopped {
		t.Errorf("Holders during a cycle = %+v, %v, want this process with negotiate.lock", during, err)
	}
	if after, err := s.Holders(); err != nil || len(after) != 0 {
		t.Errorf("Holders after it = %+v, %v, want none", after, err)
	}
}

func TestServed(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	served := func() time.Time {
		all, err := s.Served()
		if err != nil {
			t.Fatal(err)
		}
		return all["node/1"]
	}
	if at := served(); !at.IsZero() {
		t.Errorf("a machine without a starter was served at %v", at)
	}
	for range 2 {
		if err := s.NoteServed("Node/1"); err != nil {
			t.Fatal(err)
		}
		if at := served(); time.Since(at).Abs() > time.Minute {
			t.Errorf("served at %v, want now", at)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(s.path("watch.node%2F1.lock"), old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlotNames holds that the names are those of Slots, wherever the slots stand: in segments, in
// the journal, changed and withdrawn there, made already, or written by hand.
func TestSlotNames(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(tx *Tx, name string) {
		ad := classad.New()
		ad.SetString(pool.AttrName, name)
		tx.PutSlot(name, ad)
	}
	update := func(fn func(tx *Tx)) {
		if err := s.Update(func(tx *Tx) error { tx.Op("slots"); fn(tx); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	update(func(tx *Tx) {
		for _, name := range []string{"a", "b", "c", "d"} {
			put(tx, name)
		}
	})
	if _, err := s.Fold(0, nil); err != nil {
		t.Fatal(err)
	}
	update(func(tx *Tx) { put(tx, "e"); put(tx, "f"); tx.DropSlot("b") })
	update(func(tx *Tx) { tx.DropSlot("e"); put(tx, "g s"); put(tx, "b") })
	update(func(tx *Tx) { tx.DropSlot("c") })
	hand := "Name = \"a\"\n\nName = \"h\"\n"
	if err := os.MkdirAll(s.path("slots.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.path("slots.d"), "x.ads"), []byte(hand), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []bool{true, false} { // what is read in the first is made in the second
		if fresh {
			s.forget()
		}
		var names, want []string
		if err := s.View(func(v *View) error {
			names = v.SlotNames()
			slots, _ := v.Slots()
			for _, x := range slots {
				want = append(want, x.Name)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		slices.Sort(want)
		if len(want) != 6 || !slices.Equal(names, want) {
			t.Errorf("SlotNames = %q, want %q", names, want)
		}
	}
}

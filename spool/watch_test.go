package spool

import (
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// TestWatch holds that a watch sees what a view sees, whatever happens to its
// claim and to others, and reads only what is new.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	writer, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	layer := newFaulty()
	reader, err := open(dir, Options{Program: "test", UIDDomain: "x"}, layer)
	if err != nil {
		t.Fatal(err)
	}
	id := pool.JobID{Cluster: 1, Proc: 1}
	w, err := reader.Watch(id, classad.New(), "JobPrio", "PeriodicHold")
	if err != nil {
		t.Fatal(err)
	}
	if w.Changed(); w.Changed() {
		t.Error("Changed() = true twice, want it once")
	}
	rapid.Check(t, func(t *rapid.T) {
		changed := false
		if err := writer.Update(func(tx *Tx) error {
			tx.Op("play")
			for range rapid.IntRange(1, 4).Draw(t, "changes") {
				job := pool.JobID{Cluster: 1, Proc: rapid.SampledFrom([]int{1, 10, 2}).Draw(t, "proc")}
				if rapid.Bool().Draw(t, "set") {
					name := rapid.SampledFrom([]string{"JobPrio", "PERIODICHOLD", "Args"}).Draw(t, "name")
					tx.Set(job, name, classad.Literal(classad.Int(rapid.Int64().Draw(t, "value"))))
					changed = changed || job == id && name != "Args"
					continue
				}
				if rapid.Bool().Draw(t, "drop") {
					tx.DropClaim(job)
					continue
				}
				tx.PutClaim(pool.Claim{Job: job, Attempt: 1, Slot: "1.1", State: pool.ClaimState(rapid.IntRange(1, 4).Draw(t, "state"))})
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		got, there, err := w.Claim()
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Changed(); got != changed {
			t.Fatalf("Changed() = %v, want %v", got, changed)
		}
		if err := writer.View(func(v *View) error {
			want, ok := v.Claim(id)
			if there != ok || ok && got != want {
				t.Fatalf("Claim() = %+v, %v; a view has %+v, %v", got, there, want, ok)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	before := layer.read
	if _, _, err := w.Claim(); err != nil {
		t.Fatal(err)
	}
	if n := layer.read - before; n > 512 {
		t.Errorf("a look at nothing new read %d bytes, want at most 512", n)
	}
}

// TestWatchMachine holds that a watch of a machine has the claims that a view has,
// whatever happens to these, to others and to slots, also when the journal is folded; and
// that it reads only what is new.
func TestWatchMachine(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	writer, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	layer := newFaulty()
	reader, err := open(dir, Options{Program: "test", UIDDomain: "x"}, layer)
	if err != nil {
		t.Fatal(err)
	}
	w, err := reader.WatchMachine("Node1")
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := w.Look(); !changed || err != nil {
		t.Errorf("the first Look() = %v, %v, want true", changed, err)
	}
	if w.SlotsChanged(); w.SlotsChanged() {
		t.Error("SlotsChanged() = true twice, want it once")
	}
	rapid.Check(t, func(t *rapid.T) {
		before := hereOf(t, writer)
		slots := false
		if err := writer.Update(func(tx *Tx) error {
			tx.Op("play")
			for range rapid.IntRange(1, 4).Draw(t, "changes") {
				job := pool.JobID{Cluster: 1, Proc: rapid.SampledFrom([]int{1, 10, 2}).Draw(t, "proc")}
				switch rapid.IntRange(0, 3).Draw(t, "what") {
				case 0:
					tx.DropClaim(job)
				case 1:
					tx.Set(job, "JobPrio", classad.Literal(classad.Int(rapid.Int64().Draw(t, "value"))))
				case 2:
					ad := classad.New()
					ad.SetInt("Cpus", rapid.Int64().Draw(t, "cpus"))
					was, _ := tx.Advertised("slot9@node1")
					tx.PutSlot("slot9@node1", ad)
					slots = slots || was.Ad == nil || was.Ad.Format(classad.StyleSpool) != ad.Format(classad.StyleSpool)
				default:
					tx.PutClaim(pool.Claim{
						Job: job, Attempt: 1, Slot: "1.1", Machine: rapid.SampledFrom([]string{"node1", "NODE1", "node2"}).Draw(t, "machine"),
						State: pool.ClaimState(rapid.IntRange(1, 4).Draw(t, "state")),
					})
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		folded := rapid.IntRange(0, 20).Draw(t, "fold") == 0
		if folded {
			if _, err := writer.Fold(0, nil); err != nil {
				t.Fatal(err)
			}
		}
		changed, err := w.Look()
		if err != nil {
			t.Fatal(err)
		}
		want := hereOf(t, writer)
		if !equalClaims(w.Claims(), want) {
			t.Fatalf("Claims() = %+v, want %+v", w.Claims(), want)
		}
		if !changed && !equalClaims(before, want) {
			t.Fatalf("Look() = false, but the claims were %+v and are %+v", before, want)
		}
		if got := w.SlotsChanged(); got != (slots || folded) {
			t.Fatalf("SlotsChanged() = %v, want %v", got, slots || folded)
		}
	})
	before := layer.read
	if changed, err := w.Look(); changed || err != nil {
		t.Fatalf("Look() at nothing new = %v, %v, want false", changed, err)
	}
	if n := layer.read - before; n > 512 {
		t.Errorf("a look at nothing new read %d bytes, want at most 512", n)
	}
}

// hereOf returns the claims of node1 as a view has them.
func hereOf(t *rapid.T, s *Spool) (here []pool.Followed) {
	if err := s.View(func(v *View) error {
		for _, c := range v.Claims() {
			if c.Machine == "node1" || c.Machine == "NODE1" {
				here = append(here, c.Followed())
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return here
}

func equalClaims(a, b []pool.Followed) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Two of a process or of several cannot watch over one machine.
func TestWatching(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	first, err := Open(dir, Options{Program: "first", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := Open(dir, Options{Program: "second", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	run := func() error { ran++; return nil }
	if err := first.Watching("node1", func() error {
		if err := second.Watching("Node1", run); err == nil || ran != 0 {
			t.Errorf("a second Watching of a machine = %v, ran %d times, want that one watches already", err, ran)
		}
		return second.Watching("node/2", run)
	}); err != nil {
		t.Fatal(err)
	}
	if err := second.Watching("Node1", run); err != nil || ran != 2 {
		t.Errorf("Watching when the other has ended = %v, ran %d times, want 2", err, ran)
	}
}

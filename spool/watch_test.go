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

package lifecycle

import (
	"slices"
	"testing"
	"time"

	"fairspool/lib/pool"
	"fairspool/spool"
)

// maintain makes a maintenance of the bench's slots an hour from noon, for an hour.
func maintain(tx *spool.Tx) pool.Maintenance {
	return ReserveForMaintenance(tx, pool.Maintenance{Start: noon.Add(time.Hour), End: noon.Add(2 * time.Hour), Constraint: `Machine == "HERE"`, By: "root", Reason: `new "disks"`}, noon)
}

// TestMaintenance holds that cycles match only what ends before a maintenance, and everything when that is over.
func TestMaintenance(t *testing.T) {
	b := newBench(t)
	b.submit("alice", 1, "AllowedExecuteDuration = 3600")
	during := func(tx *spool.Tx) error { maintain(tx); return nil }
	if made := b.negotiate(noon, during); len(made) != 0 {
		t.Errorf("a cycle during which the slots are reserved matches %v, want nothing", made)
	}
	if made := b.negotiate(noon, nil); len(made) != 1 || made[0].Job.Cluster != 2 {
		t.Errorf("a cycle before the maintenance matches %v, want the job that ends in time", made)
	}
	if made := b.negotiate(noon.Add(90*time.Minute), nil); len(made) != 0 {
		t.Errorf("a cycle in the maintenance matches %v, want nothing", made)
	}
	if made := b.negotiate(noon.Add(2*time.Hour), nil); len(made) != 2 {
		t.Errorf("a cycle behind the maintenance matches %v, want both slots", made)
	}
}

// TestMaintenances holds that maintenances have numbers of their own, are read as they were made, can be cancelled, and are
// forgotten when a new one is made and they are over.
func TestMaintenances(t *testing.T) {
	b := newBench(t)
	numbers := func() (list []int) {
		b.view(func(v *spool.View) {
			for _, m := range Maintenances(v) {
				list = append(list, m.ID)
			}
		})
		return list
	}
	b.update(func(tx *spool.Tx) error {
		first := maintain(tx)
		if got := Maintenances(&tx.View); !slices.Equal(got, []pool.Maintenance{first}) {
			t.Errorf("the maintenance %+v reads as %+v", first, got)
		}
		maintain(tx)
		return nil
	})
	b.update(func(tx *spool.Tx) error {
		if !CancelMaintenance(tx, 1) || CancelMaintenance(tx, 1) {
			t.Error("CancelMaintenance twice, want true and then false")
		}
		return nil
	})
	if got := numbers(); !slices.Equal(got, []int{2}) {
		t.Errorf("there are maintenances %v, want 2", got)
	}
	b.update(func(tx *spool.Tx) error {
		ReserveForMaintenance(tx, pool.Maintenance{Start: noon.Add(3 * time.Hour), End: noon.Add(4 * time.Hour), Constraint: "true"}, noon.Add(2*time.Hour))
		return nil
	})
	if got := numbers(); !slices.Equal(got, []int{3}) {
		t.Errorf("there are maintenances %v, want 3", got)
	}
	b.update(func(tx *spool.Tx) error {
		for _, text := range []string{"", "1", "1 2", `1 2 "a"`, `x 2 "a" "b" "c"`, `1 2 "a" "b" c`} {
			tx.Op("test")
			tx.PutMark("maintenance 9", text)
			if list := Maintenances(&tx.View); len(list) != 1 {
				t.Errorf("the mark %q is read as %+v", text, list)
			}
		}
		return nil
	})
}

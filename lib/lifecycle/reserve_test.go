package lifecycle

import (
	"slices"
	"testing"

	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// TestReservationsKept holds that a plan's reservations are those of the next
// snapshot, told by its clock, and that the same ones again change nothing.
func TestReservationsKept(t *testing.T) {
	b := newBench(t)
	one := pool.Reservation{Slot: "slot1@here", Job: first, Submitter: "alice@example.org", Since: noon.Unix()}
	plan := &negotiator.Plan{Reservations: []negotiator.Reserved{{Reservation: one}}}
	apply := func(plan *negotiator.Plan) (seq uint64, kept []pool.Reservation) {
		b.update(func(tx *spool.Tx) error {
			Match(tx, plan, Snapshot{}, noon, params)
			return nil
		})
		b.view(func(v *spool.View) {
			seq, kept = v.Seq(), TakeSnapshot(v, b.s.Domain(), nil, policy.Beside{}).Pool.Reservations
		})
		return seq, kept
	}
	seq, kept := apply(plan)
	if !slices.Equal(kept, []pool.Reservation{one}) {
		t.Errorf("reservations = %v, want %v", kept, one)
	}
	if again, _ := apply(plan); again != seq {
		t.Errorf("the same plan again is transaction %d, want none after %d", again, seq)
	}
	if _, kept := apply(&negotiator.Plan{}); len(kept) > 0 {
		t.Errorf("without reservations in the plan, %v are kept", kept)
	}
}

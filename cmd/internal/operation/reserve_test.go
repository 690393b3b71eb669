package operation

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func TestParseReservations(t *testing.T) {
	good := pool.Reservation{Slot: "slot1@n", Job: pool.JobID{Cluster: 12}, Submitter: "a@x", Since: 60}
	const line = `"slot1@n" 12.0 "a@x" 60` + "\n"
	for _, c := range []struct {
		text string
		want []pool.Reservation
		err  string
	}{
		{"", nil, ""},
		{line, []pool.Reservation{good}, ""},
		{"junk\n" + line, []pool.Reservation{good}, `mark reservations: "junk\n": want a slot, job, submitter and time`},
		{"`slot1@n` 12.0 \"a@x\" 60\n", nil, "mark reservations: \"`slot1@n` 12.0 \\\"a@x\\\" 60\\n\": want a slot, job, submitter and time"},
		{`"slot1@n" 12 "a@x" 60`, nil, `mark reservations: "\"slot1@n\" 12 \"a@x\" 60": "12": not a job id: want cluster.proc, like 12.0`},
		{`"slot1@n" 12.0 "a@x" x`, nil, `mark reservations: "\"slot1@n\" 12.0 \"a@x\" x": "x": want seconds since 1970`},
		{`"slot1@n" 12.0 "a@x"`, nil, `mark reservations: "\"slot1@n\" 12.0 \"a@x\"": want a slot, job, submitter and time`},
	} {
		got, err := parseReservations(c.text)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !slices.Equal(got, c.want) || text != c.err {
			t.Errorf("parseReservations(%q) = %v, %q, want %v, %q", c.text, got, text, c.want, c.err)
		}
	}
}

// TestReservationsLaw holds that reservations survive being written down, by slot.
func TestReservationsLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes"))
		})
		list := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) pool.Reservation {
			return pool.Reservation{
				Slot: text.Draw(t, "slot"), Job: pool.JobID{Cluster: rapid.IntRange(1, 9).Draw(t, "cluster"), Proc: rapid.IntRange(0, 9).Draw(t, "proc")},
				Submitter: text.Draw(t, "submitter"), Since: rapid.Int64().Draw(t, "since"),
			}
		}), 0, 4, func(r pool.Reservation) string { return r.Slot }).Draw(t, "list")
		got, err := parseReservations(formatReservations(list))
		slices.SortFunc(list, pool.Reservation.Compare)
		if err != nil || !slices.Equal(got, list) {
			t.Fatalf("parseReservations(%q) = %v, %v, want %v", formatReservations(list), got, err, list)
		}
	})
}

func FuzzParseReservations(f *testing.F) {
	f.Add("\"slot1@n\" 12.0 \"a@x\" 60\n")
	f.Add("\"a\\xff\" 1.0 \"\" -1\nx\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, _ := parseReservations(text)
		again, err := parseReservations(formatReservations(list))
		if err != nil || !slices.Equal(again, list) {
			t.Errorf("parseReservations(%q) = %v, and of that %v, %v", text, list, again, err)
		}
	})
}

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
	if _, kept := apply(&negotiator.Plan{}); kept != nil {
		t.Errorf("without reservations in the plan, %v are kept", kept)
	}
}

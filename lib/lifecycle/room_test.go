package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

const divided = "slot3@there"

// newDivided is a bench with a partitionable slot of 4 cores beside its slots.
func newDivided(t *testing.T) bench {
	t.Helper()
	b := newBench(t)
	b.update(func(tx *spool.Tx) error { return divide(tx, 4) })
	return b
}

// divide advertises the partitionable slot with so many cores.
func divide(tx *spool.Tx, cores int) error {
	tx.Op("advertise")
	ad, err := classad.ParseAd(fmt.Sprintf(`[ Name = %q; Machine = "there"; PartitionableSlot = true; Cpus = %d; Memory = 1024 ]`, divided, cores))
	tx.PutSlot(divided, ad)
	return err
}

// piece is a match of proc n with a piece of the slot.
func piece(n int, slot string, takes pool.Resources) negotiator.Match {
	return negotiator.Match{
		Job: pool.JobID{Cluster: 1, Proc: n}, Submitter: "alice@example.org", Slot: slot, Weight: accountant.Weight(takes.Of("Cpus")) * accountant.One,
		Piece: pool.Piece{Of: divided, Takes: takes}, Limits: "sw.x:2",
	}
}

// made applies matches to what was seen before something happened in between, and
// returns the slots that came about.
func (b bench) made(between func(*spool.Tx), matches ...negotiator.Match) (slots []string) {
	b.t.Helper()
	var seen Snapshot
	b.view(func(v *spool.View) { seen = TakeSnapshot(v, b.s.Domain(), nil, policy.Beside{}) })
	if between != nil {
		b.update(func(tx *spool.Tx) error {
			tx.Op("between")
			between(tx)
			return nil
		})
	}
	b.update(func(tx *spool.Tx) error {
		for _, m := range Match(tx, &negotiator.Plan{Matches: matches}, seen, noon, params) {
			slots = append(slots, m.Slot)
		}
		return nil
	})
	return slots
}

// TestPieces holds that pieces of a slot become claims as far as there is room.
func TestPieces(t *testing.T) {
	whole := piece(3, divided, "")
	whole.Piece = pool.Piece{}
	for _, c := range []struct {
		what    string
		matches []negotiator.Match
		want    []string
	}{
		{"all of it", []negotiator.Match{piece(0, "slot3_1@there", "Cpus=1 Memory=512"), piece(1, "slot3_2@there", "Cpus=3 Memory=512")}, []string{"slot3_1@there", "slot3_2@there"}},
		{"more than it has", []negotiator.Match{piece(0, "slot3_1@there", "Cpus=3"), piece(1, "slot3_2@there", "Cpus=2"), piece(2, "slot3_3@there", "Cpus=1")}, []string{"slot3_1@there", "slot3_3@there"}},
		{"what it has not", []negotiator.Match{piece(0, "slot3_1@there", "Cpus=1 GPUs=1")}, nil},
		{"a name twice", []negotiator.Match{piece(0, "slot3_1@there", "Cpus=1"), piece(1, "slot3_1@there", "Cpus=1")}, []string{"slot3_1@there"}},
		{"the name of a slot", []negotiator.Match{piece(0, "slot1@here", "Cpus=1")}, nil},
		{"the whole after a piece", []negotiator.Match{piece(0, "slot3_1@there", "Cpus=1"), whole}, []string{"slot3_1@there"}},
		{"a piece after the whole", []negotiator.Match{whole, piece(0, "slot3_1@there", "Cpus=1")}, []string{divided}},
	} {
		if got := newDivided(t).made(nil, c.matches...); !slices.Equal(got, c.want) {
			t.Errorf("%s: matches on %q, want %q", c.what, got, c.want)
		}
	}
}

// TestPieceClaim follows the claim of a piece and its charge.
func TestPieceClaim(t *testing.T) {
	b := newDivided(t)
	m := piece(0, "slot3_1@there", "Cpus=3 Memory=128")
	b.made(nil, m)
	b.view(func(v *spool.View) {
		c, _ := v.Claim(m.Job)
		if c.Slot != m.Slot || c.Piece != m.Piece || c.Limits != m.Limits || c.Machine != "there" || c.Weight != 3*accountant.One {
			t.Errorf("the claim is %+v, want that of %+v on there", c, m)
		}
	})
	if got := b.alice(noon.Add(time.Hour)); got.InUse != 3*accountant.One || got.ResourcesUsed != 1 {
		t.Errorf("alice is charged %v for %d slots, want 3 for 1", got.InUse, got.ResourcesUsed)
	}
	b.update(func(tx *spool.Tx) error {
		tx.Op("start")
		tx.PutBackoff(pool.Backoff{Slot: divided, Failures: 1, Until: noon})
		return Begin(tx, m.Job, 1, noon, 1, "", params)
	})
	b.view(func(v *spool.View) {
		if left := v.Backoffs(); len(left) > 0 {
			t.Errorf("after the start of a piece, %v is left alone", left)
		}
	})
	if got := b.attribute(m.Job, pool.AttrRemoteHost); got != `"slot3_1@there"` {
		t.Errorf("RemoteHost = %s, want slot3_1@there", got)
	}
	b.update(func(tx *spool.Tx) error {
		return Finish(tx, m.Job, 1, noon.Add(time.Hour), pool.Ending{}, params)
	})
	if got := b.alice(noon.Add(time.Hour)); got.InUse != 0 || got.Weighted.Millis != 3*time.Hour.Milliseconds() {
		t.Errorf("after an hour alice is charged %v, has used %d, want 0 and 3 hours", got.InUse, got.Weighted.Millis)
	}
}

// TestPieceMeanwhile holds that a piece is no match any more if the slot changed, or
// if somebody else took of it, between the cycle and its application.
func TestPieceMeanwhile(t *testing.T) {
	other := func(slot string, takes pool.Resources) func(*spool.Tx) {
		return func(tx *spool.Tx) {
			c := pool.Claim{Job: pool.JobID{Cluster: 1, Proc: 3}, Attempt: 1, Slot: slot, Machine: "there", State: pool.Matched, MatchedAt: noon}
			c.Piece = pool.Piece{Of: divided, Takes: takes}
			tx.PutClaim(c)
		}
	}
	for _, c := range []struct {
		what    string
		between func(*spool.Tx)
		want    bool
	}{
		{"nothing", func(*spool.Tx) {}, true},
		{"the slot is another", func(tx *spool.Tx) { tx.PutSlot(divided, classad.New()) }, false},
		{"the slot is gone", func(tx *spool.Tx) { tx.DropSlot(divided) }, false},
		{"another piece that leaves room", other("slot3_2@there", "Cpus=2"), true},
		{"another piece that does not", other("slot3_2@there", "Cpus=3"), false},
		{"the same name", other("slot3_1@there", "Cpus=1"), false},
		{"a slot of that name", func(tx *spool.Tx) { tx.PutSlot("slot3_1@there", classad.New()) }, false},
	} {
		b := newDivided(t)
		if got := b.made(c.between, piece(0, "slot3_1@there", "Cpus=2")); (len(got) == 1) != c.want {
			t.Errorf("%s: matches on %q, want a match: %v", c.what, got, c.want)
		}
	}
}

// TestPieceGivenUp holds that the slot whose piece nobody took up is left alone.
func TestPieceGivenUp(t *testing.T) {
	b := newDivided(t)
	m := piece(0, "slot3_1@there", "Cpus=1")
	b.made(nil, m)
	b.update(func(tx *spool.Tx) error {
		c, _ := tx.Claim(m.Job)
		rest := pool.Backoff{Slot: divided, Failures: 1, Until: noon.Add(time.Hour)}
		Match(tx, &negotiator.Plan{GiveUp: []pool.Claim{c}, Backoffs: []pool.Backoff{rest}}, Snapshot{}, noon, params)
		if got := tx.Backoffs(); !slices.Equal(got, []pool.Backoff{rest}) {
			t.Errorf("backoffs = %v, want %v", got, rest)
		}
		return nil
	})
}

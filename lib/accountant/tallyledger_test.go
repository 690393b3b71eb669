package accountant

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTalliesAgree holds tallies to the records: begun and ended by whatever
// clock, a user's processor time is the submitter's slot time, equivalents of a
// slot's weight come to its weighted time, and the total is the sum of all, to the
// thousandth of a millisecond.
func TestTalliesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := tallied(1000*day, MaxDepth) // so long that nothing is too old
		type claim struct {
			charge Charge
			from   time.Time
		}
		b, held := newShelf(), []claim{}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			at := start.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "at")) * time.Millisecond)
			if len(held) == 0 || rapid.Bool().Draw(t, "begin") {
				user := rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "user")
				w := Weight(rapid.Int64Range(1, 5000).Draw(t, "weight"))
				c := Charge{Submitter: user + "@x", Weight: w, By: Credentials{User: user, Cpus: 1, PE: w.Float()}}
				held = append(held, claim{c, c.Begin(b, at, p)})
				continue
			}
			c := held[0]
			held = held[1:]
			if rapid.Bool().Draw(t, "void") {
				c.charge.GiveBack(b, c.from, at, p)
			} else {
				c.charge.End(b, c.from, at, p)
			}
		}
		end, sum := start.Add(10*day*100), Window{}
		used := func(k Key) (u Window) {
			y, _ := b.Tally(k)
			for _, w := range y.AsOf(end, p).Windows {
				u = u.plus(w)
			}
			return u
		}
		for _, user := range []string{"alice", "bob"} {
			r, _ := b.Submitter(user + "@x")
			r = r.AsOf(end, p)
			want := Window{Dedicated: r.Slots, Equivalent: r.Weighted}
			if got := used(Key{KindUser, user}); got != want {
				t.Errorf("processor time of %s = %+v, want the slot time %+v", user, got, want)
			}
			sum = sum.plus(want)
		}
		if got := used(Key{KindTotal, TotalName}); got != sum {
			t.Errorf("processor time of all = %+v, want the sum %+v", got, sum)
		}
	})
}

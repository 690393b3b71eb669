package why

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
)

// What is said of the contenders for a slot is what counting says: who holds the most, how many
// come before a submitter, and what others than a submitter took.
func TestContenders(t *testing.T) {
	names := []string{"alice@x", "bob@x", "carol@x", "dave@x", "erin@x", "nice-user.frank@x"}
	rapid.Check(t, func(rt *rapid.T) {
		var all []contender
		for i, name := range names[:rapid.IntRange(1, len(names)).Draw(rt, "submitters")] {
			s := &deal.Submitter{Name: name, Nice: i%4 == 3, EUP: rapid.SampledFrom([]float64{1, 2, 3}).Draw(rt, "EUP")}
			all = append(all, contender{who: i, Submitter: s, slots: rapid.IntRange(0, 3).Draw(rt, "slots"), got: rapid.IntRange(0, 2).Draw(rt, "got")})
		}
		f := newField(slices.Clone(all), len(all))
		holders := slices.DeleteFunc(slices.Clone(all), func(x contender) bool { return x.slots == 0 })
		slices.SortFunc(holders, func(a, b contender) int { return cmp.Or(cmp.Compare(b.slots, a.slots), cmp.Compare(a.Name, b.Name)) })
		if n := min(len(holders), mostHolders); len(f.holders) != n || f.moreHolders != len(holders)-n {
			rt.Fatalf("holders are %v and %d more, want %v", f.holders, f.moreHolders, holders)
		}
		for i, h := range f.holders {
			if h != (negotiator.SlotHolder{Submitter: holders[i].Name, Slots: holders[i].slots, New: holders[i].got}) {
				rt.Fatalf("holder %d is %v, want %v", i, h, holders[i])
			}
		}
		for _, x := range all {
			before, sum, takers, most := 0, 0, 0, contender{got: math.MinInt}
			for _, o := range all {
				if inTurn(o.Submitter, x.Submitter) < 0 {
					before++
				}
				if o.who == x.who || o.got == 0 {
					continue
				}
				sum += o.got
				takers++
				if o.got > most.got || o.got == most.got && o.Name < most.Name {
					most = o
				}
			}
			gotSum, gotTakers, first := f.takers(x.Submitter, func(x *contender) int { return x.got })
			if got := f.before(x.Submitter); got != before || gotSum != sum || gotTakers != takers || takers > 0 && first.Submitter != most.Submitter {
				rt.Fatalf("of %s: %d before, %d took %d, first %v; want %d, %d, %d, %s", x.Name, got, gotTakers, gotSum, first, before, takers, sum, most.Name)
			}
		}
	})
}

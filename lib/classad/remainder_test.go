package classad

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestCopiesReadAlike keeps a copy that was given attributes, old ones and new,
// where programs that have met the others look.
func TestCopiesReadAlike(t *testing.T) {
	slot := firstOfPool(t, 1)[0]
	rest := slot.Clone()
	for _, name := range []string{"Cpus", "Memory", "Disk", "SlotWeight", "ChildCpus", "MY"} {
		rest.SetInt(name, 1)
	}
	if slot.table() != rest.table() {
		t.Errorf("a copy with attributes set reads by another table, want that of the ad it was copied from")
	}
	if slot.Has("SlotWeight") || slot.shadowsScopes() || !rest.shadowsScopes() {
		t.Errorf("the copy's new attributes: SlotWeight in the original = %v, scopes shadowed there = %v and in the copy = %v, want false, false, true",
			slot.Has("SlotWeight"), slot.shadowsScopes(), rest.shadowsScopes())
	}
}

// TestCopiesAreApart sets attributes of copies of copies and compares them with
// ads that never had anything in common.
func TestCopiesAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared, alone := []*Ad{New()}, []*Ad{New()}
		set := func(i int, name string, n int64) {
			shared[i].SetInt(name, n)
			alone[i].SetInt(name, n)
		}
		for i := range 12 {
			set(0, fmt.Sprintf("Old%d", i), int64(i))
		}
		for step := range rapid.IntRange(0, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, len(shared)-1).Draw(t, "ad")
			name := rapid.SampledFrom([]string{"Old1", "old5", "A", "B", "C", "D", "E", "F", "G", "Rank", "Requirements", "My"}).Draw(t, "name")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				shared, alone = append(shared, shared[i].Clone()), append(alone, alone[i].Flat().apart())
			case 1:
				shared[i].Delete(name)
				alone[i].Delete(name)
			default:
				set(i, name, int64(step))
			}
		}
		for i := range shared {
			checkAlike(t, shared[i], alone[i])
		}
	})
}

// apart returns an ad that shares no shape with a.
func (a *Ad) apart() *Ad {
	out := New()
	for _, e := range a.entries() {
		out.Set(e.name, e.expr)
	}
	return out
}

func checkAlike(t *rapid.T, got, want *Ad) {
	if got.String() != want.String() || got.Len() != want.Len() || got.shadowsScopes() != want.shadowsScopes() {
		t.Fatalf("copy = %v, want %v", got, want)
	}
	for i := range wanted {
		g, w := got.want(i), want.want(i)
		if (g == nil) != (w == nil) || g != nil && g.Value != w.Value {
			t.Fatalf("%s of the copy %v = %v, want %v", wanted[i].name, got, g, w)
		}
	}
}

// BenchmarkRemainder is what is left of a slot when a piece of it is taken.
func BenchmarkRemainder(b *testing.B) {
	slot := readPool(b, poolText(b), NewInterner())[0]
	b.ReportAllocs()
	for b.Loop() {
		rest := slot.Clone()
		for _, name := range []string{"Cpus", "Memory", "Disk", "SlotWeight"} {
			rest.SetInt(name, 1)
		}
	}
}

package selection

import (
	"fairspool/lib/pool"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Of any rows those are met that have a proc in the span, each once.
func TestRowsMeet(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var named rows
		proc := rapid.IntRange(0, 40)
		for i := range rapid.IntRange(0, 20).Draw(r, "rows") {
			first := proc.Draw(r, "first")
			named.add(row{pool.Procs{Cluster: 1, First: first, Last: first + rapid.IntRange(0, 12).Draw(r, "more")}, rapid.IntRange(1, 9).Draw(r, "step"), fmt.Sprint(i)})
		}
		first := proc.Draw(r, "span")
		last := first + rapid.IntRange(0, 12).Draw(r, "width")
		var want []string
		for _, p := range named.all() {
			for n := p.First; n <= p.Last; n += p.step {
				if n >= first && n <= last {
					want = append(want, p.word)
					break
				}
			}
		}
		named.arrange()
		var got []string
		named.meet(pool.Procs{Cluster: 1, First: first, Last: last}, func(p row) { got = append(got, p.word) })
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			r.Errorf("meet(%d, %d) of %v = %v, want %v", first, last, named.list, got, want)
		}
	})
}

// What many name in steps is held once.
func TestPiecesOnce(t *testing.T) {
	var stepped []row
	for i := range 100 {
		stepped = append(stepped, row{pool.Procs{Cluster: 1, First: i % 2 * 3, Last: 9}, 3, fmt.Sprint(i)})
	}
	var got []int
	for _, p := range pieces(pool.Procs{Cluster: 1, First: 2, Last: 7}, nil, stepped) {
		got = append(got, p.First)
	}
	if want := []int{3, 6}; !slices.Equal(got, want) {
		t.Errorf("pieces of 2-7 = %v, want %v", got, want)
	}
}

// BenchmarkNaming asks of each second job of a cluster, named one by one, which of
// the names it has: it costs no look at the others.
func BenchmarkNaming(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var args []string
			for p := range n {
				args = append(args, fmt.Sprintf("1.%d", 2*p))
			}
			names, err := Parse(args)
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for i := range b.N {
				id := pool.JobID{Cluster: 1, Proc: 2 * (i % n)}
				var got int
				names.procs[1].meet(pool.Only(id), func(row) { got++ })
				if got != 1 {
					b.Fatalf("job %v has %d names, want 1", id, got)
				}
			}
		})
	}
}

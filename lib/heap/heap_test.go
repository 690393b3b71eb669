package heap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type number int

func (a *number) Before(b *number) bool { return *a < *b }

// TestHeap has a heap give back what a sorted list has, while values come and grow.
func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 50 {
		var list []number
		for range n {
			list = append(list, number(r.IntN(20)))
		}
		h := Heap[number, *number](slices.Clone(list))
		h.Heapify()
		for step := range 3 * n {
			slices.Sort(list)
			switch {
			case step%3 == 0:
				x := number(r.IntN(20))
				list = append(list, x)
				h.Push(x)
			case step%3 == 1:
				by := number(r.IntN(10))
				list[0] += by
				h[0] += by
				h.Fix()
			default:
				if got := h.Pop(); got != list[0] {
					t.Fatalf("Pop = %d, want %d", got, list[0])
				}
				list = list[1:]
			}
		}
		slices.Sort(list)
		for _, want := range list {
			if got := h.Pop(); got != want {
				t.Fatalf("Pop = %d, want %d", got, want)
			}
		}
		if len(h) > 0 {
			t.Errorf("%d values are left", len(h))
		}
	}
}

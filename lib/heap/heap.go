// Package heap keeps the best of many in front. It selects instead of sorting, since most
// elements of a heap are never needed.
package heap

// Heap is a heap with the best in front. Values that stand in order are a heap as they stand.
type Heap[T any, P Better[T]] []T

// Better is a type with an order.
type Better[T any] interface {
	*T
	Before(*T) bool
}

// Heapify makes a heap of values in any order.
func (l Heap[T, P]) Heapify() {
	for i := len(l)/2 - 1; i >= 0; i-- {
		l.down(i)
	}
}

// Fix moves the first value, which may have become worse, to its place.
func (l Heap[T, P]) Fix() { l.down(0) }

// down moves the i-th, which may have become worse, to its place.
func (l Heap[T, P]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(l) {
			return
		}
		if child+1 < len(l) && P(&l[child+1]).Before(&l[child]) {
			child++
		}
		if !P(&l[child]).Before(&l[i]) {
			return
		}
		l[i], l[child] = l[child], l[i]
		i = child
	}
}

// Push adds a value.
func (l *Heap[T, P]) Push(x T) {
	*l = append(*l, x)
	for i := len(*l) - 1; i > 0; {
		parent := (i - 1) / 2
		if !P(&(*l)[i]).Before(&(*l)[parent]) {
			return
		}
		(*l)[i], (*l)[parent] = (*l)[parent], (*l)[i]
		i = parent
	}
}

// Pop removes and returns the best.
func (l *Heap[T, P]) Pop() T {
	best, last := (*l)[0], len(*l)-1
	(*l)[0] = (*l)[last]
	*l = (*l)[:last]
	l.down(0)
	return best
}

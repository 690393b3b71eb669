package negotiator

// heap is a heap with the best in front: selection, since most of what is in one
// is never asked for.
type heap[T any, P better[T]] []T

// better is what has an order.
type better[T any] interface {
	*T
	before(*T) bool
}

// heapify makes a heap of what is in any order.
func (l heap[T, P]) heapify() {
	for i := len(l)/2 - 1; i >= 0; i-- {
		l.down(i)
	}
}

// down moves the i-th, which may have become worse, to its place.
func (l heap[T, P]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(l) {
			return
		}
		if child+1 < len(l) && P(&l[child+1]).before(&l[child]) {
			child++
		}
		if !P(&l[child]).before(&l[i]) {
			return
		}
		l[i], l[child] = l[child], l[i]
		i = child
	}
}

// push adds one.
func (l *heap[T, P]) push(x T) {
	*l = append(*l, x)
	for i := len(*l) - 1; i > 0; {
		parent := (i - 1) / 2
		if !P(&(*l)[i]).before(&(*l)[parent]) {
			return
		}
		(*l)[i], (*l)[parent] = (*l)[parent], (*l)[i]
		i = parent
	}
}

// pop takes the best away.
func (l *heap[T, P]) pop() T {
	best, last := (*l)[0], len(*l)-1
	(*l)[0] = (*l)[last]
	*l = (*l)[:last]
	l.down(0)
	return best
}

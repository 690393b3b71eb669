package negotiator

// candidate is a class in the order of preference of one cluster.
type candidate struct {
	class           *class
	pre, rank, post float64
	first           int // the class's first slot left when it was last looked at
}

// before says whether a is the better match: by NEGOTIATOR_PRE_JOB_RANK, the
// job's Rank, NEGOTIATOR_POST_JOB_RANK (manual, "Negotiation"); of equals the
// one that fewer others could use (contend), then by the slot's name.
func (a *candidate) before(b *candidate) bool {
	switch {
	case a.pre != b.pre:
		return a.pre > b.pre
	case a.rank != b.rank:
		return a.rank > b.rank
	case a.post != b.post:
		return a.post > b.post
	}
	if p, q := a.class.bundle.place, b.class.bundle.place; p != q {
		return p < q
	}
	return a.first < b.first
}

// candidates is a heap with the best in front: selection, since most
// candidates are never asked for.
type candidates []candidate

func (l candidates) heapify() {
	for i := len(l)/2 - 1; i >= 0; i-- {
		l.down(i)
	}
}

// down moves the i-th, which may have become worse, to its place.
func (l candidates) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(l) {
			return
		}
		if child+1 < len(l) && l[child+1].before(&l[child]) {
			child++
		}
		if !l[child].before(&l[i]) {
			return
		}
		l[i], l[child] = l[child], l[i]
		i = child
	}
}

// pop takes the best away.
func (l *candidates) pop() candidate {
	best, last := (*l)[0], len(*l)-1
	(*l)[0] = (*l)[last]
	*l = (*l)[:last]
	l.down(0)
	return best
}

// push adds one.
func (l *candidates) push(c candidate) {
	*l = append(*l, c)
	for i := len(*l) - 1; i > 0; {
		parent := (i - 1) / 2
		if !(*l)[i].before(&(*l)[parent]) {
			return
		}
		(*l)[i], (*l)[parent] = (*l)[parent], (*l)[i]
		i = parent
	}
}

package spool

import (
	"fmt"
	"math"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// NewRun is a row of new procs that read alike: Attrs, and besides those Ad, which
// may be nil, hold what differs from the cluster's ad. The attributes ClusterId and
// ProcId are the spool's business and are not given.
type NewRun struct {
	Count int
	Ad    *classad.Ad
	Attrs []Attr
}

// Attr is an attribute of new procs. Of a hundred thousand that differ from each
// other, Attrs cost a fraction of what ads do.
type Attr struct {
	Name string
	Expr *classad.Expr
}

// addProcs adds the procs of runs to a cluster, counted from first on.
func (tx *Tx) addProcs(cluster, first int, runs []NewRun) {
	proc, start := first, len(tx.body)
	for i := range runs {
		r := &runs[i]
		if r.Count < 1 {
			continue
		}
		if r.Count-1 > math.MaxInt32-proc || cluster > math.MaxInt32 {
			tx.fail(fmt.Errorf("%d procs of cluster %d from %d on: larger than %d", r.Count, cluster, proc, math.MaxInt32))
		}
		if tx.err != nil {
			return
		}
		last := proc + r.Count - 1
		tx.makeRoom(start, i, len(runs))
		tx.addRun(record{Kind: 'N', Procs: pool.Procs{Cluster: cluster, First: proc, Last: last}}, r)
		proc = last + 1
	}
	if proc == first {
		tx.fail(fmt.Errorf("cluster %d: no procs", cluster))
	}
}

// makeRoom makes room in the body for the rest of some runs, judged by those that
// are done: as append does it, the body would be moved time and again, and take
// several times its memory.
func (tx *Tx) makeRoom(start, done, runs int) {
	const least = 64 << 10
	n := len(tx.body)
	if cap(tx.body)-n >= least/16 || runs < 2 {
		return
	}
	rest := int64(n-start) * int64(runs-done) / int64(max(done, 1))
	tx.body = slices.Grow(tx.body, int(min(max(rest+rest/8, least), max(8*int64(n), least))))
}

// addRun adds one run. Of a transaction that has read the queue every record is
// applied to that; of others the lines are all that is made.
func (tx *Tx) addRun(r record, run *NewRun) {
	var span []byte // the procs as they stand in each line
	if tx.loaded != nil {
		tx.note(r)
	} else {
		start := len(tx.body)
		tx.body = append(r.appendProcs(append(tx.body, "N "...)), '\n')
		span = tx.body[start+1 : len(tx.body)-1]
	}
	r.Kind = 'A'
	if run.Ad != nil {
		for _, name := range run.Ad.OwnNames() {
			e, _ := run.Ad.Lookup(name)
			tx.addAttr(&r, span, Attr{Name: name, Expr: e})
		}
	}
	for _, a := range run.Attrs {
		tx.addAttr(&r, span, a)
	}
}

// addAttr adds an attribute of a run.
func (tx *Tx) addAttr(r *record, span []byte, a Attr) {
	if tx.loaded != nil {
		r.Name, r.Expr = a.Name, a.Expr
		tx.note(*r)
		return
	}
	start := len(tx.body)
	b := append(appendName(append(append(append(tx.body, 'A'), span...), ' '), a.Name), " = "...)
	at := len(b)
	b = a.Expr.AppendTo(b, classad.StyleSpool)
	tx.body = append(b, '\n')
	if !usualName(a.Name) || !surely(b[at:]) {
		tx.check(start)
	}
}

// plainly tells whether a text stands for itself between quotes: it is printing
// ASCII without quotes and backslashes.
func plainly(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// surely tells whether what was written for an expression reads back for sure,
// since it is a plain text or a number of few digits.
func surely(b []byte) bool {
	if n := len(b); n > 1 && b[0] == '"' && b[n-1] == '"' {
		return plainly(b[1 : n-1])
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0 && len(b) < 16
}

package spool

import (
	"fmt"
	"slices"
	"sort"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Cluster is one cluster of the queue: the ad that its procs share, and the
// procs that are still there in runs of equal ones.
type Cluster struct {
	ID   int
	Ad   *classad.Ad
	Runs []Run // ascending, not overlapping

	procs int    // in Runs
	owner string // for whom the cluster is counted, empty for nobody, and with how many bytes
	bytes int64
}

// Run is a row of procs that read alike. Ad holds what they do not share with
// the rest of the cluster, chained to the cluster's ad; ProcId is not in it
// (see Run.Proc).
type Run struct {
	pool.Procs
	Ad  *classad.Ad
	Seq uint64 // the transaction that last changed one of the procs
	own bool   // Ad belongs to this run alone and may be changed
}

// Proc returns the ad of one proc of the run.
func (r Run) Proc(proc int) *classad.Ad {
	ad := ofProc.Clone().Chain(r.Ad)
	ad.SetInt(pool.AttrProcID, int64(proc))
	return ad
}

// ofProc is what the ads of single procs are copies of, since these share the
// names of their attributes. It is never changed.
var ofProc = func() *classad.Ad {
	ad := classad.New()
	ad.SetInt(pool.AttrProcID, 0)
	return ad
}()

// TellsApart tells whether an expression may have different values for the procs of
// a run: whether it may look at ProcId, through other attributes or in the text of an
// eval() too, or has a value by chance.
func (r Run) TellsApart(e *classad.Expr) bool {
	if r.First == r.Last {
		return false
	}
	_, chance := classad.Varies(e, ofAny.Clone().Chain(r.Ad), nil)
	return chance
}

// ofAny is what ofProc is, with a ProcId that is anybody's guess: what varies by chance
// then looks at it. It is never changed.
var ofAny = func() *classad.Ad {
	ad := ofProc.Clone()
	if e, err := classad.ParseExpr("random()"); err == nil {
		ad.Set(pool.AttrProcID, e)
	}
	return ad
}()

// jobs returns the number of the cluster's procs.
func (c *Cluster) jobs() int { return c.procs }

// run returns the run that holds proc.
func (c *Cluster) run(proc int) (int, bool) {
	i := sort.Search(len(c.Runs), func(i int) bool { return c.Runs[i].Last >= proc })
	return i, i < len(c.Runs) && c.Runs[i].First <= proc
}

// cutOut makes runs begin and end where the procs do, and returns which runs,
// from up to but not including to, hold exactly these procs. All of them have
// to be there.
func (c *Cluster) cutOut(p pool.Procs) (from, to int, err error) {
	from, ok := c.run(p.First)
	if ok {
		from = c.cut(from, p.First)
		for to, at := from, p.First; to < len(c.Runs) && c.Runs[to].First == at; to++ {
			if at = c.Runs[to].Last + 1; at > p.Last {
				c.cut(to, p.Last+1)
				return from, to + 1, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("procs %d-%d of cluster %d: not all in the queue", p.First, p.Last, c.ID)
}

// cut splits run i so that a run begins at proc, and returns that run's
// index. Both halves share the ad from then on.
func (c *Cluster) cut(i, proc int) int {
	r := c.Runs[i]
	if proc <= r.First || proc > r.Last {
		return i
	}
	r.own = false
	c.Runs[i] = r
	c.Runs[i].Last = proc - 1
	r.First = proc
	c.Runs = slices.Insert(c.Runs, i+1, r)
	return i + 1
}

// apply makes a record's change.
func (c *Cluster) apply(r record, seq uint64) error {
	switch r.Kind {
	case 'C':
		c.Ad.Set(r.Name, r.Expr)
		return nil
	case 'N':
		return c.add(r, seq, classad.New())
	case 'Y':
		c.owner, c.bytes = r.Name, c.bytes+r.End
		return nil
	}
	from, to, err := c.cutOut(r.Procs)
	if err != nil {
		return err
	}
	if r.Kind == 'L' {
		c.Runs = without(c.Runs, from, to)
		c.bytes -= part(c.bytes, r.Count(), c.procs)
		c.procs -= r.Count()
		return nil
	}
	for i := from; i < to; i++ {
		c.Runs[i].change(r, seq)
	}
	return nil
}

// add adds procs at the end, whose ad is their own so far.
func (c *Cluster) add(r record, seq uint64, ad *classad.Ad) error {
	if n := len(c.Runs); n > 0 && c.Runs[n-1].Last >= r.First {
		return fmt.Errorf("procs %d-%d of cluster %d: there already", r.First, r.Last, c.ID)
	}
	if r.Seq != 0 {
		seq = r.Seq
	}
	c.procs += r.Count()
	c.Runs = append(c.Runs, Run{Procs: r.Procs, Ad: ad.Chain(c.Ad), Seq: seq, own: true})
	return nil
}

// change sets (A) or removes (D) an attribute.
func (r *Run) change(rec record, seq uint64) {
	if !r.own {
		r.Ad, r.own = r.Ad.Clone(), true
	}
	if rec.Kind == 'A' {
		r.Ad.Set(rec.Name, rec.Expr)
	} else {
		r.Ad.Delete(rec.Name)
	}
	r.Seq = max(r.Seq, seq)
}

// without removes list[from:to]. It moves what is shorter, what stands before
// or what stands behind: jobs mostly leave in their order.
func without[T any](list []T, from, to int) []T {
	if from >= len(list)-to {
		return slices.Delete(list, from, to)
	}
	n := to - from
	copy(list[n:to], list[:from])
	clear(list[:n])
	return list[n:]
}

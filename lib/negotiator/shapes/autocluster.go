package shapes

import (
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
)

// Autocluster is jobs that are alike in every attribute that a match or rank
// refers to. They may be many submitters'.
type Autocluster struct {
	Number  int
	Ad      *classad.Ad
	Endless bool     // its Requirements go beyond all bounds: no slot is asked any more
	PutOff  bool     // its owners have too few steps for its Requirements
	Request *Request // of a partitionable slot; nil: there is none
	// verdicts are what came of the match with each group, by its number.
	Verdicts []Verdict
	payers   []payment
	paying   int // which of them pays
	// lastPayer is the one for whom a job was noted last.
	lastPayer int
}

// Verdict is what comes of matching an autocluster with a group: accepts, or where
// the slots fall.
type Verdict int16

// Verdicts from 0 on are the number of the first clause of the job's Requirements that is
// not true; those from SlotClause on the number of the slots' clause.
const (
	Accepts    Verdict = -1
	unasked    Verdict = -2
	TooSmall   Verdict = -3 // a partitionable slot with less left than the job requests
	SlotClause Verdict = 1 << 14
)

// judge matches an autocluster with a group.
func (k *Autocluster) judge(asks *classad.Matcher, g *Group) Verdict {
	if k.Endless {
		return 0
	}
	if n := asks.Falls(g.Ad); n >= 0 {
		k.Endless = asks.Ended()
		return Verdict(min(n, int(SlotClause)-1))
	}
	if n := asks.FallsBy(g.Ad); n >= 0 {
		return SlotClause + Verdict(min(n, int(SlotClause)-1))
	}
	if g.Left != nil && !k.Request.Fits(g.Left) {
		return TooSmall
	}
	return Accepts
}

// Verdict returns what comes of matching with a group, also one that appeared
// during the cycle.
func (x *Shapes) Verdict(k *Autocluster, g *Group) Verdict {
	for len(k.Verdicts) <= g.Number {
		k.Verdicts = append(k.Verdicts, unasked)
	}
	v := &k.Verdicts[g.Number]
	switch {
	case *v != unasked:
	case g.Left != nil && !k.Request.Fits(g.Left): // the failing clause of a remainder is never needed
		*v = TooSmall
	default:
		if x.asking != k {
			x.asking = k
			x.matcher.Reset(x.by.Eval, k.Ad)
		}
		for was := -1; was != k.paying; {
			was = k.paying
			x.matcher.Charge(x.by.Billed(k).Budget)
			if now := k.judge(&x.matcher, g); !x.by.Cut() {
				*v = now
				return now
			}
			k.Endless = false
		}
		return 0 // without steps it takes no slot
	}
	return *v
}

// Of returns the autocluster of a run, and notes that its owner pays for that.
func (x *Shapes) Of(j jobprio.Run) *Autocluster {
	var k *Autocluster
	if j.Likeness != nil && !x.apart {
		k = *x.of.Of(j.Likeness, func() *Autocluster { return x.bySignature(j) })
	} else {
		k = x.byOrigin(j)
	}
	x.by.PayerOf(j).paysFor(k, j.FirstJob())
	return k
}

// Apart reports whether runs of one Likeness may be of different autoclusters.
func (x *Shapes) Apart() bool { return x.apart }

// Remember has Of number the jobs' ads by what tells them apart, in the names of x.Telling, so that later cycles need not look at them:
// nothing of that may be of this cycle alone.
func (x *Shapes) Remember(by Numbering) { x.signatures, x.bySign = by, map[int]*Autocluster{} }

// bySignature returns the autocluster of a run with a Likeness, of whose ad the number may be known.
func (x *Shapes) bySignature(j jobprio.Run) *Autocluster {
	if x.signatures == nil {
		return x.byOrigin(j)
	}
	like := j.Likeness
	if like.Shape == 0 || like.ShapeBy != x.signatures {
		like.Shape, like.ShapeBy = x.signatures.NumberOf(j.Ad), x.signatures
	}
	k := x.bySign[like.Shape]
	if k == nil {
		k = x.byOrigin(j)
		x.bySign[like.Shape] = k
	}
	return k
}

// byOrigin returns the autocluster of a run by where its ad has what tells jobs apart.
func (x *Shapes) byOrigin(j jobprio.Run) *Autocluster {
	from := x.origin.Of(j.Ad)
	k := x.alike[from]
	if k == nil {
		k = x.like(j)
		x.alike[from] = k
	}
	return k
}

// like returns the autocluster of the jobs that are like the run's.
func (x *Shapes) like(j jobprio.Run) *Autocluster {
	x.key = x.lex.signature(x.key[:0], j.Ad, x.Telling)
	k := x.known[string(x.key)]
	if k == nil {
		k = &Autocluster{Number: len(x.clusters), Ad: j.Ad}
		x.known[string(x.key)] = k
		x.clusters = append(x.clusters, k)
	}
	return k
}

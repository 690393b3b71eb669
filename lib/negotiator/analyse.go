package negotiator

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// analyse returns the analysis of an autocluster.
func (d *diagnosis) analyse(k *autocluster) Analysis {
	a := Analysis{Steps: d.steps(k)}
	if id, ok := jobID(d.c.eval, k.ad); ok {
		a.Job = id
	}
	n := d.nearest(k)
	if n == nil {
		return a
	}
	a.Nearest = &Nearest{Slot: n.name, Causes: n.causes(d.c, pool.JobID{}), Lacks: d.lacks(k, n)}
	if n.own > 0 {
		a.Nearest.Fails = d.fails("job", k.ad, n.ad)
	}
	if n.theirs > 0 {
		a.Nearest.Fails = append(a.Nearest.Fails, d.fails("slot", n.ad, k.ad)...)
	}
	s := d.asker[d.index[k]]
	if a.Preemption = d.protections(s, k); a.Preemption != nil {
		a.PreemptionFor = s.name
	}
	d.holdersOf(&a, n)
	d.contenders(&a, k, n)
	return a
}

func jobID(eval *classad.Context, ad *classad.Ad) (pool.JobID, bool) {
	cluster, ok := ad.EvalInt(eval, pool.AttrClusterID)
	proc, also := ad.EvalInt(eval, pool.AttrProcID)
	return pool.JobID{Cluster: int(cluster), Proc: int(proc)}, ok && also
}

// holdersOf names who has the nearest slot.
func (d *diagnosis) holdersOf(a *Analysis, n *nearest) {
	_, holds := d.freed(n)
	a.Nearest.Holders = slices.Sorted(maps.Keys(holds))
}

// mostFails is how many failing clauses are named.
const mostFails = 8

// fails lists the clauses of one ad's Requirements that are not true with the other.
func (d *diagnosis) fails(of string, my, target *classad.Ad) (list []Failing) {
	for _, c := range classad.Explain(d.c.eval, my, target, pool.AttrRequirements) {
		if !c.Fails() || len(list) == mostFails {
			continue
		}
		f := Failing{Of: of}
		if c.Expr != nil {
			f.Clause = clauseText(c.Expr)
			f.Values = d.values(c.Expr, my, target)
		}
		list = append(list, f)
	}
	return list
}

// Bounds of what is said of one clause.
const (
	mostValues = 4
	mostValue  = 60
)

// values says what the attributes in a clause are.
func (d *diagnosis) values(e *classad.Expr, my, target *classad.Ad) string {
	own, theirs := classad.References(e, my)
	var list []string
	say := func(names []string, of, other *classad.Ad) {
		for _, name := range names {
			if len(list) < mostValues {
				list = append(list, name+" is "+clip(of.Eval(d.c.eval, name, other).String(), mostValue))
			}
		}
	}
	say(theirs, target, my)
	say(own, my, target)
	for i := range list[min(len(list), 1):] {
		list[i+1] = strings.Replace(list[i+1], " is ", " ", 1)
	}
	return strings.Join(list, ", ")
}

// contender is one who has slots that match, or waits for the nearest.
type contender struct {
	who        int // place in people
	slots, got int
	byRank     int
	waits      int
	*submitter
}

// gather returns who has slots that match jobs of k, or waits for the nearest.
func (d *diagnosis) gather(k *autocluster, n *nearest) (list []contender) {
	if len(d.sheet) < len(d.people) {
		d.sheet = make([]contender, len(d.people))
	}
	touched := 0
	of := func(who int) *contender {
		x := &d.sheet[who]
		if x.submitter == nil {
			x.who, x.submitter = who, d.people[who]
			touched++
		}
		return x
	}
	for number, held := range d.held {
		if len(held) == 0 || number >= len(k.verdicts) || k.verdicts[number] != accepts {
			continue
		}
		for _, h := range held {
			x := of(h.who)
			x.slots += h.before + h.got
			x.got += h.got
			x.byRank += h.byRank
		}
	}
	for _, w := range d.waiting(n) {
		of(w.who).waits = w.jobs
	}
	// People are in the order of the cycle.
	list = make([]contender, 0, touched)
	for who := range d.sheet {
		if x := &d.sheet[who]; x.submitter != nil {
			list = append(list, *x)
			*x = contender{}
		}
	}
	return list
}

// contenders names who has slots that match, and who waits for the nearest.
func (d *diagnosis) contenders(a *Analysis, k *autocluster, n *nearest) {
	list := d.gather(k, n)
	// Who only has jobs that are told to vacate holds slots, and is in nobody's way.
	line := slices.IndexFunc(list, func(x contender) bool { return x.who >= len(d.c.submitters) })
	if line < 0 {
		line = len(list)
	}
	d.ahead[k] = list[:line]
	for _, x := range list[:min(line, mostAhead)] {
		a.Ahead = append(a.Ahead, Contender{x.name, x.eup, x.slots, x.waits})
	}
	a.MoreAhead = line - len(a.Ahead)
	var most []contender
	for _, x := range list {
		if x.slots == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(most, x, func(a, b contender) int {
			return cmp.Or(cmp.Compare(b.slots, a.slots), strings.Compare(a.name, b.name))
		})
		if at == mostHolders {
			a.MoreHolders++
			continue
		}
		if most = slices.Insert(most, at, x); len(most) > mostHolders {
			most = most[:mostHolders]
			a.MoreHolders++
		}
	}
	for _, x := range most {
		a.Holders = append(a.Holders, SlotHolder{x.name, x.slots, x.got})
	}
}

// aheadOf counts the contenders that come before a submitter.
func (d *diagnosis) aheadOf(s *submitter, k *autocluster) (n int) {
	for _, x := range d.ahead[k] {
		if x.submitter != s && cmp.Or(niceLast(x.submitter, s), cmp.Compare(x.eup, s.eup)) < 0 {
			n++
		}
	}
	return n
}

package negotiator

import (
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// analyse returns the analysis of an autocluster.
func (d *diagnosis) analyse(k *autocluster) Analysis {
	a := Analysis{Steps: d.steps(k)}
	if id, ok := jobID(d.c.billed(k), k.ad); ok {
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
	a.Nearest.Holders = d.freed(n).names
	f := d.fieldOf(k, n)
	d.ahead[k] = f
	a.Ahead, a.MoreAhead, a.Holders, a.MoreHolders = f.ahead, f.moreAhead, f.holders, f.moreHolders
	a.OneQueue = d.precedence != nil
	return a
}

func jobID(eval *classad.Context, ad *classad.Ad) (pool.JobID, bool) {
	cluster, ok := ad.EvalInt(eval, pool.AttrClusterID)
	proc, also := ad.EvalInt(eval, pool.AttrProcID)
	return pool.JobID{Cluster: int(cluster), Proc: int(proc)}, ok && also
}

// mostFails is how many failing clauses are named.
const mostFails = 8

// fails lists the clauses of one ad's Requirements that are not true with the other.
func (d *diagnosis) fails(of string, my, target *classad.Ad) (list []Failing) {
	for _, c := range classad.Explain(&d.c.bill, my, target, pool.AttrRequirements) {
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
				list = append(list, name+" is "+clip(of.Eval(&d.c.bill, name, other).String(), mostValue))
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

package lifecycle

import (
	"slices"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Represented is a part of a view in which clusters stand for others that are alike (spool.Represent). A cycle that matches nothing finds
// out the same about them as about all.
type Represented struct {
	*spool.View
	stands map[int]spool.Stand
}

// Represent returns the part of a view that is read, in which clusters stand for others, so that there are so many fewer of them. It returns
// false if it cannot.
func (r *Reading) Represent(v *spool.View, domain string, groups *accountant.Groups, fewer int) (x Represented, ok bool) {
	if put := PutOffsOf(v); r.read == nil || len(put.Policy)+len(put.Match) > 0 {
		return x, false
	}
	by := spool.Representing{Kind: kindsOf(domain, groups), Alone: map[int]bool{}, First: map[string]int{}, Spares: fewer}
	spool.EachClaim(v, func(c *pool.Claim) { by.Alone[c.Job.Cluster] = true })
	for _, x := range spool.Reservations.All(v) {
		by.Alone[x.Job.Cluster] = true
	}
	for _, q := range spool.Succession.All(v) {
		by.First[q.Submitter] = max(by.First[q.Submitter], len(q.Jobs)+2) // the next succession says where each stands, and the one behind them
	}
	x.View, x.stands, ok = spool.Represent(r.Of(v), by)
	return x, ok
}

// kindsOf returns a function that says whose order a job stands in, empty for nobody's, and whether a cycle has to look at it for itself:
// it waits for others or for a time, its own policy may ask for something though it is not idle, or its place in the order, or the weight
// that it asks for, is an expression.
func kindsOf(domain string, groups *accountant.Groups) func(ad *classad.Ad) (owner string, alone bool) {
	c := &classad.Context{}
	return func(ad *classad.Ad) (string, bool) {
		if jobpolicy.Waits(ad) || jobpolicy.IsCron(ad) {
			return "", true
		}
		status, known := ad.EvalInt(c, pool.AttrJobStatus)
		switch is := pool.Status(status); {
		case !known || is == pool.Removed || is == pool.Completed:
			return "", true
		case is != pool.Idle:
			return "", !jobpolicy.Never(ad)
		}
		alone := slices.ContainsFunc(ordering, func(name *classad.Name) bool {
			v, e, there := ad.Get(name)
			_, whole := v.Int()
			return there && (e != nil || !whole)
		})
		return Submitter(ad, domain, groups), alone
	}
}

// ordering are attributes that say where a job stands among those of its submitter, and the weight that it asks for.
var ordering = func() (names []*classad.Name) {
	for _, name := range []string{pool.AttrPreJobPrio1, pool.AttrPreJobPrio2, pool.AttrJobPrio, pool.AttrPostJobPrio1, pool.AttrPostJobPrio2, pool.AttrRequestCpus} {
		names = append(names, classad.NewName(name))
	}
	return names
}()

// Policies judges the jobs as Policies does. It reports whether nothing is due, nothing to be remembered or forgotten, and no job put off.
func (x *Represented) Policies(now time.Time, budgets *classad.Budgets) bool {
	found := Policies(x.View, now, Look{Budgets: budgets, stands: x.stands})
	return len(found.Due)+len(found.Unknown)+len(found.Unneeded)+len(found.PutOff) == 0
}

// Expand makes the plan of a cycle with the clusters that stand for others that of a cycle with all. It returns false if that would be
// another one.
func (x *Represented) Expand(plan *negotiator.Plan) bool {
	looked := func(name string) bool { return slices.Contains(plan.Looked, strings.ToLower(name)) }
	if plan.Policy != "" || len(plan.Matches)+len(plan.GiveUp)+len(plan.PutOff)+len(plan.Explained) > 0 || slices.ContainsFunc(jobprio.Apart[:], looked) {
		return false
	}
	for _, q := range plan.Succession.Queues {
		if slices.ContainsFunc(q.Jobs, func(p pool.Procs) bool { return x.stands[p.Cluster].Len() > 0 }) {
			return false
		}
	}
	for i := range plan.Rejections {
		r := &plan.Rejections[i]
		n := 0
		for _, p := range r.Jobs {
			n += max(1, x.stands[p.Cluster].Len())
		}
		if n == len(r.Jobs) {
			continue
		}
		all := make([]pool.Procs, 0, n)
		for _, p := range r.Jobs {
			stand, stands := x.stands[p.Cluster]
			if !stands {
				all = append(all, p)
			}
			for run := range stand.Runs() {
				all = append(all, run.Procs)
			}
		}
		r.Jobs = pool.JoinProcs(all)
	}
	return true
}

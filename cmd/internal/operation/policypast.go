package operation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Recollection is what the history has of the jobs of a watched cluster that had left
// the queue before the watch began.
type Recollection struct {
	of   Endings // as it was when the history was asked
	past Endings // of the history alone
	has  int     // jobs of the history that count
	next int     // the first proc behind all that are known of
}

// Recollections are those of several clusters, by number.
type Recollections map[int]*Recollection

// Recollect begins to recollect the jobs of clusters: Add is to be told of all of
// them that the history has.
func Recollect(v *spool.View, clusters []int) Recollections {
	list := Recollections{}
	for _, n := range clusters {
		e, ok := EndingsOf(v, n)
		if !ok {
			e = newEndings(v, n)
		}
		list[n] = recollect(e)
	}
	return list
}

func recollect(e Endings) *Recollection {
	return &Recollection{of: e, past: Endings{Cluster: e.Cluster}, next: max(e.From, 1)}
}

// Since returns before when none of the jobs can have left the queue, to within a
// day by which a clock may have been wrong; zero when that is not known.
func (list Recollections) Since() (first time.Time) {
	for _, r := range list {
		if r.of.Submitted == 0 {
			return time.Time{}
		}
		if at := time.Unix(r.of.Submitted, 0).AddDate(0, 0, -1); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// Add takes the ad of a job of the history, those that left last first. It returns
// true: as many as there are count.
func (list Recollections) Add(ad *classad.Ad) bool {
	n, _ := ad.EvalInt(&classad.Context{}, pool.AttrClusterID)
	if r := list[int(n)]; r != nil {
		r.add(ad)
	}
	return true
}

// add takes the ad of a job of the cluster.
func (r *Recollection) add(ad *classad.Ad) {
	c := &classad.Context{}
	n, ok := ad.EvalInt(c, pool.AttrProcID)
	proc := int(n)
	r.past.of(ad)
	if !ok || r.of.saw(proc) {
		return
	}
	r.has++
	r.next = max(r.next, proc+1)
	troubles, shown := r.past.Troubles, r.past.Shown
	r.past.Troubles, r.past.Shown = nil, nil
	of := pool.Only(pool.JobID{Cluster: r.of.Cluster, Proc: proc})
	if status, _ := ad.EvalInt(c, pool.AttrJobStatus); pool.Status(status) == pool.Removed {
		why, _ := ad.EvalString(c, pool.AttrRemoveReason)
		r.past.removed(of, ad, why)
	} else {
		r.past.ended(of, ad)
	}
	troubles = append(r.past.Troubles, troubles...) // this one came before
	r.past.Troubles = troubles[:min(len(troubles), mostTroubles)]
	if shown != nil {
		r.past.Shown = shown
	}
}

// Remember adds what was recollected to what is known of the clusters, which are
// watched from then on if they were not. Where that was not as it is now when the
// history was asked, it has to be asked again. The caller names the transaction.
func Remember(tx *spool.Tx, list Recollections) {
	for _, n := range slices.Sorted(maps.Keys(list)) {
		r := list[n]
		Watch(tx, n)
		if e, ok := EndingsOf(&tx.View, n); ok && e.Unknown && e.Seen == r.of.Seen && e.From == r.of.From {
			e.remember(r)
			PutEndings(tx, e)
		}
	}
}

// remember adds what the history has of a cluster whose first jobs had left the
// queue before it was watched.
func (e *Endings) remember(r *Recollection) {
	p := r.past
	if e.Owner == "" {
		e.Owner, e.Name, e.Submitted = p.Owner, p.Name, p.Submitted
	}
	if e.To == "" {
		e.To = p.To
	}
	if e.Shown == nil {
		e.Shown = p.Shown
	}
	e.Notification = wider(e.Notification, p.Notification)
	e.Succeeded += p.Succeeded
	e.Failed += p.Failed
	e.Signalled += p.Signalled
	e.Removed += p.Removed
	e.Troubles = append(p.Troubles, e.Troubles...)
	e.Troubles = e.Troubles[:min(len(e.Troubles), mostTroubles)]
	e.Wall, e.CPU = finite(e.Wall+p.Wall), finite(e.CPU+p.CPU)
	if p.First > 0 && (e.First == 0 || p.First < e.First) {
		e.First = p.First
	}
	e.Last = max(e.Last, p.Last)
	e.Gone = e.missing(r)
	e.Unknown, e.Seen, e.From = false, "", 0
}

// missing returns how many jobs had left the queue before the watch began and are
// not in the history: procs count from 0, and all that came before one that is
// known of have been there. Of a cluster of which nothing is known that is one.
func (e *Endings) missing(r *Recollection) int {
	next, seen := r.next, 0
	for _, s := range e.seen() {
		seen += s.Count()
		next = max(next, s.Last+1)
	}
	if e.From >= 0 {
		next = e.From
	}
	return max(next-seen-r.has, 0)
}

// seen returns the procs that were in the queue when the watch began.
func (e *Endings) seen() (list []pool.Procs) {
	for _, text := range strings.Split(e.Seen, ",") {
		if s, err := pool.ParseProcs(fmt.Sprintf("%d.%s", e.Cluster, text)); err == nil {
			list = append(list, s)
		}
	}
	return list
}

// saw tells whether a proc was in the queue when the watch began, or was made
// later.
func (e *Endings) saw(proc int) bool {
	if e.From >= 0 && proc >= e.From {
		return true
	}
	for _, s := range e.seen() {
		if s.First <= proc && proc <= s.Last {
			return true
		}
	}
	return false
}

package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// ending is the known part of the end of a cluster that others wait for.
type ending struct {
	over bool   // all of its jobs have ended, and it is known how
	bad  string // why jobs that wait for its success wait in vain; empty: they do not, or not yet
}

// endingOf returns the known part of a cluster's end.
func endingOf(v *spool.View, cluster int) ending {
	e, known := EndingsOf(v, cluster)
	if !known {
		return ending{}
	}
	return ending{!e.Unknown && Ended(v, cluster), e.Bad()}
}

func (j *judge) of(cluster int) ending {
	e, known := j.past[cluster]
	if !known {
		e = endingOf(j.v, cluster)
		j.past[cluster] = e
	}
	return e
}

// dependent judges jobs that wait for others. Of those that were waived it is enough
// that they end.
func (j *judge) dependent(s pool.Procs, ad *classad.Ad) {
	ok, any := jobpolicy.After(ad)
	if waived := jobpolicy.Waived(ad); len(waived) > 0 {
		need := func(of int) bool { return !slices.Contains(waived, of) }
		any = slices.Concat(any, slices.DeleteFunc(slices.Clone(ok), need))
		ok = slices.DeleteFunc(ok, func(of int) bool { return !need(of) })
	}
	waits := false
	for i, of := range slices.Concat(ok, any) {
		name := jobpolicy.AttrAfterOk
		if i >= len(ok) {
			name = jobpolicy.AttrAfterAny
		}
		e := j.of(of)
		switch {
		case of >= s.Cluster:
			j.vain(s, name, fmt.Sprintf("cluster %d is not one that was submitted before", of))
			return
		case i < len(ok) && e.bad != "":
			j.vain(s, name, e.bad)
			return
		}
		waits = waits || !e.over
	}
	if !waits {
		j.add(Due{s, LetThemRun, pool.Reason{}})
	}
}

// waive notes that held jobs which are released will run once the clusters that AfterOk
// names now have ended, whatever their results. If all of these may still succeed,
// because AfterOk was changed since, there is nothing to waive.
func (x steered) waive() {
	ok, _ := jobpolicy.After(x.ad)
	failed := func(of int) bool { return endingOf(&x.tx.View, of).bad != "" }
	if !slices.ContainsFunc(ok, failed) {
		return
	}
	var names []string
	for _, of := range ok {
		names = append(names, strconv.Itoa(of))
	}
	x.set(jobpolicy.AttrDependenciesWaived, classad.String(strings.Join(names, ",")))
}

// vain holds jobs that wait for what cannot come about.
func (j *judge) vain(s pool.Procs, name, why string) {
	command := map[string]string{jobpolicy.AttrAfterOk: "after_ok", jobpolicy.AttrAfterAny: "after_any"}[name]
	j.add(Due{s, HoldThem, pool.Reason{Text: command + ": " + why, Code: jobpolicy.DependencyFailed, Subcode: 0}})
}

// watched returns the clusters that have to be recollected, and those on which no job
// depends any more. What jobs that are still to come wait for is not known before they
// are made: it may be all clusters before theirs.
func (j *judge) watched() (unknown, unneeded []int) {
	late := 0
	for _, f := range j.v.Factories() {
		late = max(late, f.Cluster)
	}
	known := map[int]bool{}
	for _, row := range spool.Endings.All(j.v) {
		e := Endings(row)
		known[e.Cluster] = true
		switch {
		case !j.waiters[e.Cluster] && !e.mayTell(j.v) && e.Cluster >= late:
			unneeded = append(unneeded, e.Cluster)
		case e.Unknown:
			unknown = append(unknown, e.Cluster)
		}
	}
	for of := range j.waiters {
		if !known[of] {
			unknown = append(unknown, of)
		}
	}
	slices.Sort(unknown)
	return unknown, unneeded
}

// Forget ends the watch of clusters on which no job depends any more. The caller names
// the transaction.
func Forget(tx *spool.Tx, unneeded []int) {
	if len(unneeded) == 0 {
		return
	}
	j := newJudge(&tx.View, time.Time{})
	for _, c := range tx.Clusters() {
		for _, r := range c.Runs {
			if jobpolicy.Waits(r.Ad) {
				j.note(c.ID, r.Ad)
			}
		}
	}
	_, still := j.watched()
	for _, cluster := range still {
		if slices.Contains(unneeded, cluster) {
			DropEndings(tx, cluster)
		}
	}
}

// WaitsFor words the conditions that jobs with that ad of a cluster wait for, such as
// "waits for cluster 12 to end with success (after_ok), for clusters 13 and 14 to end
// (after_any)". It leaves out conditions that are met. It is empty for jobs that do not
// wait.
func WaitsFor(v *spool.View, cluster int, ad *classad.Ad) string {
	if !jobpolicy.Waits(ad) {
		return ""
	}
	ok, any := jobpolicy.After(ad)
	var parts []string
	for _, x := range []struct {
		list []int
		what string
	}{{ok, "to end with success (after_ok)"}, {any, "to end (after_any)"}} {
		var open []string
		for _, of := range x.list {
			if e := endingOf(v, of); !e.over || of >= cluster {
				open = append(open, strconv.Itoa(of))
			}
		}
		if len(open) > 0 {
			parts = append(parts, "for "+plural.Noun(len(open), "cluster")+" "+plural.List(open)+" "+x.what)
		}
	}
	if len(parts) == 0 {
		return "waited for others, which have ended; the next cycle makes it idle"
	}
	return "waits " + strings.Join(parts, ", ")
}

// Recollection is the history's knowledge of the jobs of a watched cluster that had left
// the queue before the watch began.
type Recollection struct {
	of   Endings // as it was when the history was asked
	past Endings // of the history alone
	has  int     // jobs of the history that count
	next int     // the first proc behind all that are known of
}

// Recollections are the recollections of several clusters, by number.
type Recollections map[int]*Recollection

// Recollect begins to recollect the jobs of clusters: call Add with each of them that the
// history has.
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

// Since returns a time before which none of the jobs can have left the queue, a day early
// in case a clock was wrong; zero if no such time is known.
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
		r.past.removed(nil, of, ad, why)
	} else {
		r.past.ended(nil, of, ad)
	}
	troubles = append(r.past.Troubles, troubles...) // this one came before
	r.past.Troubles = troubles[:min(len(troubles), mostTroubles)]
	if shown != nil {
		r.past.Shown = shown
	}
}

// Remember adds the recollections to the endings of the clusters, and watches those that
// were not watched. If a cluster's endings have changed since the history was read, it
// has to be read again. The caller names the transaction.
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

// remember adds the history of a cluster whose first jobs had left the queue before it
// was watched.
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

// missing returns how many jobs had left the queue before the watch began and are not in
// the history: procs count from 0, so all procs before a known one have existed. If no
// proc of a cluster is known, it returns 1.
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

// saw reports whether a proc was in the queue when the watch began, or was made
// later.
func (e *Endings) saw(proc int) bool {
	if e.From >= 0 && proc >= e.From {
		return true
	}
	return slices.ContainsFunc(e.seen(), func(s pool.Procs) bool { return s.First <= proc && proc <= s.Last })
}

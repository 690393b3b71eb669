package operation

import (
	"fmt"
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

// ending is what is known of the end of a cluster that others wait for.
type ending struct {
	over bool   // all of its jobs have ended, and it is known how
	bad  string // why who waits for its success waits in vain; empty: not, or not yet
}

// endingOf returns what is known of a cluster's end.
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
		j.add(Due{s, LetThemRun, Reason{}})
	}
}

// waive notes of held jobs that are released that they want to run all the same, once
// the clusters have ended that AfterOk names now. Where all of these may still succeed,
// as somebody changed AfterOk since, there is nothing to waive.
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
	j.add(Due{s, HoldThem, Reason{command + ": " + why, jobpolicy.DependencyFailed, 0}})
}

// watched returns the clusters that have to be recollected, and those that nobody
// needs to know of any more. What jobs that are still to come wait for is not known
// before they are made: it may be all clusters before theirs.
func (j *judge) watched() (unknown, unneeded []int) {
	late := 0
	for _, f := range j.v.Factories() {
		late = max(late, f.Cluster)
	}
	known := map[int]bool{}
	for _, e := range AllEndings(j.v) {
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

// Forget ends the watch of those of the clusters that still nobody needs to know
// of. The caller names the transaction.
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

// WaitsFor says what jobs of a cluster wait for that have that ad, such as "waits for
// cluster 12 to end with success (after_ok), for clusters 13 and 14 to end (after_any)";
// what has come about already is left out. It is empty for jobs that do not wait.
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
			parts = append(parts, "for "+clustersText(open)+" "+x.what)
		}
	}
	if len(parts) == 0 {
		return "waited for others, which have ended; the next cycle sees to that"
	}
	return "waits " + strings.Join(parts, ", ")
}

func clustersText(list []string) string {
	return plural.Noun(len(list), "cluster") + " " + plural.List(list)
}

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairspool/lib/negotiator"
)

// cycle is what the report of the last negotiation cycle says of jobs that
// were not matched.
type cycle struct {
	unknown string    // why there is nothing to be known
	at      time.Time // of the cycle
	said    []verdict // by ascending job
}

// verdict is why procs were not matched.
type verdict struct {
	negotiator.Procs
	reason string
}

// report reads the last cycle's report. One that does not read is no reason
// not to show a job.
func (q queue) report() cycle {
	b, err := q.spool.Report()
	if err == nil && b == nil {
		return cycle{unknown: "no negotiation cycle has been run yet"}
	}
	var r negotiator.Report
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return cycle{unknown: fmt.Sprintf("the report of the last negotiation cycle does not read: %v", err)}
	}
	c := cycle{at: unix(r.Time)}
	for _, x := range r.Rejections {
		if len(x.Jobs) == 0 {
			return cycle{unknown: "the report of the last negotiation cycle is an older version's and does not name the jobs"}
		}
		for _, p := range x.Jobs {
			c.said = append(c.said, verdict{p, x.Reason})
		}
	}
	slices.SortFunc(c.said, func(a, b verdict) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.First, b.First))
	})
	return c
}

// scheduling returns why the last cycle did not match the jobs of a row: one
// reason, or a line for each with its procs.
func (c cycle) scheduling(r *row) string {
	if c.unknown != "" {
		return c.unknown
	}
	var all []verdict
	for _, s := range r.ranges {
		all = append(all, c.verdicts(negotiator.Procs{Cluster: r.cluster, First: s.first, Last: s.last}, unix(r.key.QDate))...)
	}
	if len(all) == 1 {
		return all[0].reason
	}
	lines := make([]string, len(all))
	for i, v := range all {
		lines[i] = fmt.Sprintf("%v: %s", v.Procs, v.reason)
	}
	return strings.Join(lines, "\n")
}

// verdicts divides procs by what the cycle said of them. Neighbours of which
// it said the same stay together.
func (c cycle) verdicts(of negotiator.Procs, submitted time.Time) (all []verdict) {
	add := func(first, last int, reason string) {
		if k := len(all) - 1; k >= 0 && all[k].reason == reason {
			all[k].Last = last
			return
		}
		all = append(all, verdict{negotiator.Procs{Cluster: of.Cluster, First: first, Last: last}, reason})
	}
	// From the first that does not end before these procs.
	i, _ := slices.BinarySearchFunc(c.said, of, func(v verdict, of negotiator.Procs) int {
		return cmp.Or(cmp.Compare(v.Cluster, of.Cluster), cmp.Compare(v.Last, of.First))
	})
	next := of.First
	for ; i < len(c.said) && c.said[i].Cluster == of.Cluster && c.said[i].First <= of.Last; i++ {
		v := c.said[i]
		if v.Last < next {
			continue // no cycle writes a job twice, but somebody's hand may
		}
		if v.First > next {
			add(next, v.First-1, c.silence(submitted))
		}
		add(max(v.First, next), min(v.Last, of.Last), v.reason)
		next = v.Last + 1
	}
	if next <= of.Last {
		add(next, of.Last, c.silence(submitted))
	}
	return all
}

// silence tells why the report says nothing of a job.
func (c cycle) silence(submitted time.Time) string {
	if submitted.After(c.at) {
		return fmt.Sprintf("submitted after the last negotiation cycle, which was at %s", clock(c.at))
	}
	return fmt.Sprintf("not among the jobs that the last negotiation cycle, at %s, left without a slot", clock(c.at))
}

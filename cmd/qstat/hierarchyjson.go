package main

import (
	"bytes"
	"io"
	"slices"

	"fairspool/lib/maui"
	"fairspool/lib/pool"
)

// Prioritized is what -pri prints with -json, and -j besides, of Count equal jobs of one
// cluster, from ProcId on. Names are those of job ads where these have the same.
type Prioritized struct {
	ClusterID  int `json:"ClusterId"`
	ProcID     int `json:"ProcId"`
	Count      int
	Owner      string
	QOS        string // that they go by
	QOSRefused bool   `json:",omitempty"` // they asked for another one, to which they have no access
	// Place is that of the first in the queue of all jobs, from 1 on; absent for one that is
	// not in it. Blocked says why it is not.
	Place   int    `json:",omitempty"`
	Blocked string `json:",omitempty"`
	// StartPriority is that by which they stand there, Priority the same with its fraction,
	// and RawPriority the weighted sum, before its bounds and SystemPriority.
	StartPriority         int64
	Priority, RawPriority float64
	SystemPriority        int64   `json:",omitempty"`
	QueueTime             float64 // seconds
	// Components are by their short names, such as SERV: those with any Subs, also ATTR and
	// USAGE, which add nothing while a job waits.
	Components map[string]PriorityComponent
}

// PriorityTerm is a term of a sum: Weight times Factor, which is Value cut to Cap, comes to
// Contribution. Percent is how much of the absolute sum of all components it is; that of a
// component's terms disregards the component's cap.
type PriorityTerm struct {
	Weight, Cap                          int64 // Cap 0: none
	Value, Factor, Contribution, Percent float64
}

// PriorityComponent is a component with its terms, by the names of their weights without
// WEIGHT. Those that have neither a weight nor a value are left out.
type PriorityComponent struct {
	PriorityTerm
	Subs map[string]PriorityTerm
}

// prioritiesJSON writes the numbers of all jobs, some at a time.
func (q queue) prioritiesJSON(all []*listing) error {
	if len(all) == 0 {
		return q.call.JSON([]*Prioritized{})
	}
	var near bytes.Buffer
	own := *q.call
	own.Stdout = &near
	first := true
	for some := range slices.Chunk(all, portion) {
		list := make([]*Prioritized, len(some))
		for i, l := range some {
			j, p := l.priority(q)
			list[i] = prioritized(j, &p)
			list[i].ProcID, list[i].Count = l.First, l.count()
			list[i].Place, list[i].Blocked = l.place, l.blocked
		}
		near.Reset()
		if err := own.JSON(list); err != nil {
			return err
		}
		if _, err := q.call.Stdout.Write(linked(near.Bytes(), first)); err != nil {
			return err
		}
		first = false
	}
	_, err := io.WriteString(q.call.Stdout, listEnd)
	return err
}

// prioritized returns the numbers of one job.
func prioritized(j *maui.Job, p *maui.Priority) *Prioritized {
	x := &Prioritized{
		ClusterID: j.ID.Cluster, ProcID: j.ID.Proc, Count: 1, Owner: j.User, QOS: p.QOS, QOSRefused: p.Refused,
		StartPriority: p.Start, Priority: p.Value, RawPriority: p.Raw, SystemPriority: j.System, QueueTime: p.Waited,
		Components: map[string]PriorityComponent{},
	}
	components, subs := p.Percents()
	term := func(t maui.Part, percent float64) PriorityTerm {
		return PriorityTerm{t.Weight, t.Cap, t.Full, t.Factor, t.Adds(), percent}
	}
	for c := range maui.Components {
		one := PriorityComponent{term(p.Parts[c], components[c]), map[string]PriorityTerm{}}
		for s := range maui.Subs {
			if t := p.Subs[s]; s.Component() == c && (t.Weight != 0 || t.Full != 0) {
				one.Subs[s.String()] = term(t, subs[s])
			}
		}
		if len(one.Subs) > 0 {
			x.Components[c.String()] = one
		}
	}
	return x
}

// Explained is Waiting with the numbers of the first job's priority.
type Explained struct {
	Waiting
	Priority *Prioritized `json:",omitempty"`
}

// explained adds priorities to what -j prints of jobs that wait, where all stand in one
// queue.
func (q queue) explained(list []Waiting) any {
	if q.hierarchy == nil {
		return list
	}
	all := make([]Explained, len(list))
	for i, w := range list {
		all[i].Waiting = w
		if w.State == "" || w.State == "z" || len(w.Jobs) == 0 {
			continue
		}
		id := pool.JobID{Cluster: w.Jobs[0].Cluster, Proc: w.Jobs[0].First}
		all[i].Priority = q.prioritizedOne(id)
	}
	return all
}

// prioritizedOne returns the numbers of a job.
func (q queue) prioritizedOne(id pool.JobID) *Prioritized {
	var claim *pool.Claim
	if c, ok := q.view.Claim(id); ok {
		claim = &c
	}
	j, p := q.priority(id, claim)
	x := prioritized(j, &p)
	x.ProcID = id.Proc
	if s := q.hierarchy.at(id); s != nil {
		if x.Blocked = s.why; s.place > 0 {
			x.Place = s.place + id.Proc - s.First
		}
	}
	return x
}

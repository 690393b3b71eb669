package qstat

import (
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

// json writes the numbers of all jobs.
func (p *mauiRanking) json(q queue, all []*listing) error {
	return jsonList(q.call, all, func(l *listing) any {
		j, x := l.priority(p, q)
		one := prioritized(j, &x)
		one.ProcID, one.Count = l.First, l.count()
		one.Place, one.Blocked = l.place, l.blocked
		return one
	})
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

// explain returns the numbers of a job.
func (p *mauiRanking) explain(q queue, id pool.JobID) (numbers, course any) {
	j, x := p.priority(q, id, q.claimOf(id))
	all := prioritized(j, &x)
	all.ProcID = id.Proc
	if s := q.hierarchy.at(id); s != nil {
		all.Place, all.Blocked = s.placeOf(id.Proc), s.why
	}
	return all, nil
}

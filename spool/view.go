package spool

import (
	"iter"
	"maps"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// View is the spool as of one transaction. What its methods return is shared
// with the spool: it may be read until the function that was given the View
// returns, and never be changed.
type View struct {
	spool  *Spool
	loaded *state // nil in a transaction that has not needed it yet
	load   func() *state
	seq    uint64
	next   int
}

// state returns the state, read when it is first needed.
func (v *View) state() *state {
	if v.loaded == nil {
		v.loaded = v.load()
	}
	return v.loaded
}

// Seq returns the number of the last transaction that the view contains; 0
// is the new spool.
func (v *View) Seq() uint64 { return v.seq }

// Len returns the number of jobs in the queue.
func (v *View) Len() int { return v.state().jobs }

// Clusters returns the clusters with procs in the queue, by ascending id.
func (v *View) Clusters() []*Cluster { return v.state().clusters }

// Cluster returns one cluster.
func (v *View) Cluster(id int) (*Cluster, bool) {
	c, ok := v.state().byID[id]
	return c, ok
}

// Run returns the run of equal procs that the job is part of.
func (v *View) Run(id pool.JobID) (Run, bool) {
	c := v.state().byID[id.Cluster]
	if c == nil {
		return Run{}, false
	}
	i, ok := c.run(id.Proc)
	if !ok {
		return Run{}, false
	}
	return c.Runs[i], true
}

// Job returns the complete ad of a job, chained to what it shares with others.
func (v *View) Job(id pool.JobID) (*classad.Ad, bool) {
	r, ok := v.Run(id)
	if !ok {
		return nil, false
	}
	return r.Proc(id.Proc), true
}

// Jobs goes through all jobs, by ascending id.
func (v *View) Jobs() iter.Seq2[pool.JobID, *classad.Ad] {
	return func(yield func(pool.JobID, *classad.Ad) bool) {
		for _, c := range v.state().clusters {
			for _, r := range c.Runs {
				for p := r.First; p <= r.Last; p++ {
					if !yield(pool.JobID{Cluster: c.ID, Proc: p}, r.Proc(p)) {
						return
					}
				}
			}
		}
	}
}

// Claims returns all claims, by ascending job.
func (v *View) Claims() []pool.Claim {
	return slices.SortedFunc(maps.Values(v.state().claims), func(a, b pool.Claim) int { return a.Job.Compare(b.Job) })
}

// Claim returns the claim of a job.
func (v *View) Claim(id pool.JobID) (pool.Claim, bool) {
	c, ok := v.state().claims[id]
	return c, ok
}

// Submitters returns all submitters' records, by name.
func (v *View) Submitters() []accountant.Record {
	rows := make([]accountant.Record, 0, len(v.state().submitters))
	for _, name := range slices.Sorted(maps.Keys(v.state().submitters)) {
		rows = append(rows, v.state().submitters[name])
	}
	return rows
}

// Submitter returns one submitter's record; without one, a new record of
// that name.
func (v *View) Submitter(name string) (accountant.Record, bool) {
	r, ok := v.state().submitters[name]
	if !ok {
		r.Name = name
	}
	return r, ok
}

// Backoffs returns the slots that are left alone, by name.
func (v *View) Backoffs() []pool.Backoff {
	rows := make([]pool.Backoff, 0, len(v.state().backoffs))
	for _, name := range slices.Sorted(maps.Keys(v.state().backoffs)) {
		rows = append(rows, v.state().backoffs[name])
	}
	return rows
}

// Advertised returns the ad of one slot that was advertised, not written by
// hand.
func (v *View) Advertised(name string) (pool.Slot, bool) {
	s, ok := v.state().slots[name]
	return s, ok
}

// Slots returns every slot ad of the pool, advertised or written by hand, by
// name. The errors name file and line of hand-written ads that cannot be used;
// the others are good. A name that was advertised and stands in a
// hand-written file too is the hand's.
func (v *View) Slots() ([]pool.Slot, []error) {
	hand, bad := v.spool.handWritten()
	slots := make([]pool.Slot, 0, len(hand)+len(v.state().slots))
	taken := make(map[string]bool, len(hand))
	for _, s := range hand {
		if taken[s.Name] {
			bad = append(bad, duplicate(s, hand))
			continue
		}
		taken[s.Name] = true
		slots = append(slots, s)
	}
	for _, s := range v.state().slots {
		if !taken[s.Name] {
			slots = append(slots, s)
		}
	}
	slices.SortFunc(slots, func(a, b pool.Slot) int { return pool.CompareNames(a.Name, b.Name) })
	for i := range slots {
		slots[i].Ad = v.state().expressions.Share(slots[i].Ad)
	}
	return slots, bad
}

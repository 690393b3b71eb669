// Package pool holds the nouns that every part of fairspool shares: the names and states
// of jobs, slots, and claims, which bind these together.
//
// A claim has a whole slot, or a Piece of a partitionable one, which then is a dynamic
// slot: Left returns the partitionable slot's ad without the pieces, DynamicAd the ad of
// one piece.
//
// It is a leaf: it knows ads and accounting weights, and nothing of files, policy or
// commands. All parts pass jobs, slots and claims to each other by these types.
package pool

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// JobID names one job: a proc of a cluster. Clusters count from 1 and are
// never used again; procs count from 0.
type JobID struct {
	Cluster, Proc int
}

// String returns the id as users write it, for example "12.0".
func (id JobID) String() string {
	return strconv.Itoa(id.Cluster) + "." + strconv.Itoa(id.Proc)
}

// Less orders ids by cluster, then proc.
func (id JobID) Less(o JobID) bool {
	return id.Cluster < o.Cluster || id.Cluster == o.Cluster && id.Proc < o.Proc
}

// Compare returns -1, 0 or 1 in the order of Less.
func (id JobID) Compare(o JobID) int {
	switch {
	case id.Less(o):
		return -1
	case o.Less(id):
		return 1
	}
	return 0
}

// ParseJobID reads "cluster.proc". Cluster is at least 1, proc at least 0;
// signs, blanks and leading text are errors.
func ParseJobID(text string) (JobID, error) {
	c, p, ok := strings.Cut(text, ".")
	if !ok {
		return JobID{}, fmt.Errorf("%q: not a job id: want cluster.proc, like 12.0", text)
	}
	cluster, err := parseCount(c, 1)
	if err != nil {
		return JobID{}, fmt.Errorf("%q: invalid cluster: %w", text, err)
	}
	proc, err := parseCount(p, 0)
	if err != nil {
		return JobID{}, fmt.Errorf("%q: invalid proc: %w", text, err)
	}
	return JobID{cluster, proc}, nil
}

// ParseCluster reads a cluster number, at least 1.
func ParseCluster(text string) (int, error) {
	n, err := parseCount(text, 1)
	if err != nil {
		return 0, fmt.Errorf("%q: invalid cluster: %w", text, err)
	}
	return n, nil
}

func parseCount(text string, least int) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("want a whole number from %d to %d", least, math.MaxInt32)
	}
	if err != nil {
		return 0, fmt.Errorf("want a whole number from %d up", least)
	}
	if int(n) < least {
		return 0, fmt.Errorf("want a whole number from %d up", least)
	}
	return int(n), nil
}

// Status is the state of a job, with HTCondor's numbers (attribute
// JobStatus).
type Status int

// The states of a job.
const (
	Idle      Status = 1
	Running   Status = 2
	Removed   Status = 3
	Completed Status = 4
	Held      Status = 5
	Suspended Status = 7
)

// String returns the state in lower case, or "status N" for a number without
// a name.
func (s Status) String() string {
	switch s {
	case Idle:
		return "idle"
	case Running:
		return "running"
	case Removed:
		return "removed"
	case Completed:
		return "completed"
	case Held:
		return "held"
	case Suspended:
		return "suspended"
	}
	return "status " + strconv.Itoa(int(s))
}

// Procs are consecutive procs of one cluster, from First to Last. First is at most
// Last: without procs there are no Procs, and functions that may find none return a
// boolean or a list. The names First and Last are procs, not jobs; see FirstJob.
type Procs struct{ Cluster, First, Last int }

// Only returns the procs that are one job.
func Only(id JobID) Procs { return Procs{id.Cluster, id.Proc, id.Proc} }

// FirstJob returns the id of the first proc.
func (p Procs) FirstJob() JobID { return JobID{p.Cluster, p.First} }

// Count returns the number of procs, at least 1.
func (p Procs) Count() int { return p.Last - p.First + 1 }

// Jobs returns the ids of the jobs, ascending.
func (p Procs) Jobs() iter.Seq[JobID] {
	return func(yield func(JobID) bool) {
		for proc := p.First; proc <= p.Last; proc++ {
			if !yield(JobID{p.Cluster, proc}) {
				return
			}
		}
	}
}

// Has reports whether a job is among the procs.
func (p Procs) Has(id JobID) bool {
	return p.Cluster == id.Cluster && p.First <= id.Proc && id.Proc <= p.Last
}

// Intersect returns the procs that are in both; ok is false without any.
func (p Procs) Intersect(q Procs) (both Procs, ok bool) {
	both = Procs{p.Cluster, max(p.First, q.First), min(p.Last, q.Last)}
	return both, p.Cluster == q.Cluster && both.First <= both.Last
}

// Minus returns the procs of p that are not among q, which are at most two pieces.
func (p Procs) Minus(q Procs) (rest []Procs) {
	both, ok := p.Intersect(q)
	if !ok {
		return []Procs{p}
	}
	if p.First < both.First {
		rest = append(rest, Procs{p.Cluster, p.First, both.First - 1})
	}
	if both.Last < p.Last {
		rest = append(rest, Procs{p.Cluster, both.Last + 1, p.Last})
	}
	return rest
}

// Compare orders procs by cluster, then by their first.
func (p Procs) Compare(q Procs) int {
	return cmp.Or(cmp.Compare(p.Cluster, q.Cluster), cmp.Compare(p.First, q.First))
}

// Extend adds procs that follow the last one; false: q does not begin there, and p
// stays as it is.
func (p *Procs) Extend(q Procs) bool {
	if p.Cluster != q.Cluster || p.Last+1 != q.First {
		return false
	}
	p.Last = q.Last
	return true
}

// JoinProcs returns procs in ascending order, neighbours in one piece. No job is in
// two elements of the list.
func JoinProcs(list []Procs) []Procs {
	joined := slices.Clone(list)
	slices.SortFunc(joined, Procs.Compare)
	n := 0
	for _, p := range joined {
		if n > 0 && joined[n-1].Extend(p) {
			continue
		}
		joined[n] = p
		n++
	}
	return slices.Clip(joined[:n])
}

// String returns the procs as users write them: "7.0" for one, "1.2-3" for the
// procs 2 and 3 of cluster 1.
func (p Procs) String() string {
	b := strconv.AppendInt(make([]byte, 0, 32), int64(p.Cluster), 10)
	b = strconv.AppendInt(append(b, '.'), int64(p.First), 10)
	if p.Last > p.First {
		b = strconv.AppendInt(append(b, '-'), int64(p.Last), 10)
	}
	return string(b)
}

// ParseProcs is the inverse of String.
func ParseProcs(text string) (Procs, error) {
	first, last, several := strings.Cut(text, "-")
	id, err := ParseJobID(first)
	if err != nil {
		return Procs{}, err
	}
	p := Only(id)
	if several {
		n, err := strconv.ParseUint(last, 10, 31)
		if p.Last = int(n); err != nil || p.Last <= p.First {
			return Procs{}, fmt.Errorf("%q: not procs of a cluster: want cluster.first-last, like 12.0-9", text)
		}
	}
	return p, nil
}

// MarshalText returns String.
func (p Procs) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (p *Procs) UnmarshalText(text []byte) error {
	q, err := ParseProcs(string(text))
	if err == nil {
		*p = q
	}
	return err
}

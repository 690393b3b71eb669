package pool

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

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
	text := p.FirstJob().String()
	if p.Last > p.First {
		text += "-" + strconv.Itoa(p.Last)
	}
	return text
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

package negotiator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/pool"
)

// Procs are consecutive procs of one cluster, from First to Last.
type Procs struct{ Cluster, First, Last int }

// String returns the procs as reports have them: "7.0" for one, "1.2-3" for
// the procs 2 and 3 of cluster 1.
func (p Procs) String() string {
	text := pool.JobID{Cluster: p.Cluster, Proc: p.First}.String()
	if p.Last > p.First {
		text += "-" + strconv.Itoa(p.Last)
	}
	return text
}

// Compare orders procs by their first.
func (p Procs) Compare(q Procs) int {
	return cmp.Or(cmp.Compare(p.Cluster, q.Cluster), cmp.Compare(p.First, q.First))
}

// MarshalText returns String.
func (p Procs) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (p *Procs) UnmarshalText(text []byte) error {
	first, last, several := strings.Cut(string(text), "-")
	id, err := pool.ParseJobID(first)
	if err != nil {
		return err
	}
	end := id.Proc
	if several {
		n, err := strconv.ParseUint(last, 10, 31)
		if end = int(n); err != nil || end <= id.Proc {
			return fmt.Errorf("%q: not procs of a cluster: want cluster.first-last, like 12.0-9", text)
		}
	}
	*p = Procs{Cluster: id.Cluster, First: id.Proc, Last: end}
	return nil
}

// procsOf returns the procs of some runs in ascending order, neighbours in
// one piece.
func procsOf(runs []run) []Procs {
	list := make([]Procs, len(runs))
	for i, r := range runs {
		list[i] = Procs{r.first.Cluster, r.first.Proc, r.first.Proc + r.count - 1}
	}
	return JoinProcs(list)
}

// JoinProcs returns procs in ascending order, neighbours in one piece.
func JoinProcs(list []Procs) []Procs {
	joined := slices.Clone(list)
	slices.SortFunc(joined, Procs.Compare)
	n := 0
	for _, p := range joined {
		if n > 0 && joined[n-1].Cluster == p.Cluster && joined[n-1].Last+1 == p.First {
			joined[n-1].Last = p.Last
			continue
		}
		joined[n] = p
		n++
	}
	return slices.Clip(joined[:n])
}

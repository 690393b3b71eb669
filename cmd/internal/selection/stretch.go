package selection

import "fmt"

// Stretches are lines of a command's answer, in ascending order: of jobs in a row
// to which the same happened.
type Stretches []Stretch

// Stretch is one of them.
type Stretch struct {
	Cluster, First, Last int
	What                 string // "held"
}

// Add adds jobs, to the last line where they go on there.
func (l *Stretches) Add(s Stretch) {
	if k := len(*l) - 1; k >= 0 {
		last := &(*l)[k]
		if last.Cluster == s.Cluster && last.Last == s.First-1 && last.What == s.What {
			last.Last = s.Last
			return
		}
	}
	*l = append(*l, s)
}

// String returns a line: Job 12.4 held, or Jobs 12.0-3 held.
func (s Stretch) String() string {
	return ProcsOf(s.Cluster, s.First, s.Last) + " " + s.What
}

// ProcsOf names jobs in a row: Job 12.4, or Jobs 12.0-3.
func ProcsOf(cluster, first, last int) string {
	if first == last {
		return fmt.Sprintf("Job %d.%d", cluster, first)
	}
	return fmt.Sprintf("Jobs %d.%d-%d", cluster, first, last)
}

package pool

import (
	"errors"
	"fmt"
	"math"
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

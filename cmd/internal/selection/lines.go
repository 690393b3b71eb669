package selection

import "fairspool/lib/pool"

// Lines are a command's answer about jobs, in ascending order.
type Lines []Line

// Line says what happened to all of some procs.
type Line struct {
	pool.Procs
	What string // "held"
}

// Add adds jobs, to the last line where they go on there.
func (l *Lines) Add(s Line) {
	if k := len(*l) - 1; k >= 0 && (*l)[k].What == s.What && (*l)[k].Extend(s.Procs) {
		return
	}
	*l = append(*l, s)
}

// String returns a line: Job 12.4 held, or Jobs 12.0-3 held.
func (s Line) String() string { return Named(s.Procs) + " " + s.What }

// Named names procs as a sentence begins with them: Job 12.4, or Jobs 12.0-3.
func Named(p pool.Procs) string {
	if p.First == p.Last {
		return "Job " + p.String()
	}
	return "Jobs " + p.String()
}

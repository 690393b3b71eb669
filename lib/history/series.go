package history

import "time"

// Series is the history of one submitter or accounting group, ascending in
// time.
type Series struct {
	Name   string
	Points []Point
}

// Point is what was so at a Time.
type Point struct {
	Time time.Time
	// Priority is the RUP, Effective the EUP; lower is better for both.
	Priority, Effective float64
	// InUse is the slot weight that was in use: the mean since the point
	// before, at the first point that of the moment.
	InUse float64
	// Usage is the accumulated usage until then, in weight seconds.
	Usage float64
	// Demand is the weight that idle jobs asked for.
	Demand float64
}

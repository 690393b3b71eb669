package pool

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"fairspool/lib/classad"
)

// RunTime is a ClassAd expression, in the Requirements or the Start of a slot, for how many seconds a job says that it runs at
// most: by its WallTimeLimit, AllowedJobDuration or AllowedExecuteDuration, the first that it has, and else the given number.
func RunTime(otherwise int64) string {
	return fmt.Sprintf("(TARGET.WallTimeLimit ?: TARGET.AllowedJobDuration ?: TARGET.AllowedExecuteDuration ?: %d)", otherwise)
}

// LongestRun returns for how many seconds a job says that it runs at most; false if it says nothing.
func LongestRun(job *classad.Ad) (seconds float64, ok bool) {
	e, err := classad.ParseExpr(RunTime(-1))
	if err != nil {
		return 0, false
	}
	seconds, ok = e.Eval(&classad.Context{}, classad.New(), job).Number()
	return seconds, ok && seconds >= 0
}

// Beginnings of the names of the marks that keep jobs from slots: of a drained machine, whose name in lower case follows, and of a
// maintenance, whose number does.
const (
	DrainedMark     = "drained "
	MaintenanceMark = "maintenance "
)

// Maintenance is a time in which some slots take no jobs, and before which they take only jobs that end in time.
type Maintenance struct {
	ID         int
	Start, End time.Time // whole seconds; End is after Start
	Constraint string    // a ClassAd expression that is true for these slots
	By         string    // the login name of the user who reserved them
	Reason     string    // empty: none was given
}

// Over reports whether the maintenance has ended at a time.
func (m Maintenance) Over(now time.Time) bool { return !m.End.After(now) }

// endless is a run time, in seconds, beyond any time, for a job that does not say how long it runs.
const endless = 1_000_000_000_000

// Clause returns the clause for the Requirements of a slot during the maintenance: either it is over, or the job ends
// before it starts.
func (m Maintenance) Clause() *classad.Expr {
	e, err := classad.ParseExpr(fmt.Sprintf("time() >= %d || %s <= %d - time()", m.End.Unix(), RunTime(endless), m.Start.Unix()))
	if err != nil {
		panic(err) // the text is ours
	}
	return e
}

var clauseTimes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^time\(\) >= (\d+) \|\| .*[^ ] <= (\d+) - time\(\)$`)
})

// MaintenanceOf returns the times of the maintenance with this clause, which has no parentheses around it; false: the
// text is no such clause.
func MaintenanceOf(clause string) (start, end time.Time, ok bool) {
	found := clauseTimes().FindStringSubmatch(clause)
	if found == nil {
		return start, end, false
	}
	to, err := strconv.ParseInt(found[1], 10, 64)
	from, also := strconv.ParseInt(found[2], 10, 64)
	start, end = time.Unix(from, 0).UTC(), time.Unix(to, 0).UTC()
	return start, end, err == nil && also == nil && (Maintenance{Start: start, End: end}).Clause().String() == clause
}

// Maintained returns the Requirements of a slot with the clauses of maintenances.
func Maintained(requirements *classad.Expr, list []Maintenance) *classad.Expr {
	text := "(" + requirements.String() + ")"
	for _, m := range list {
		text += " && (" + m.Clause().String() + ")"
	}
	both, err := classad.ParseExpr(text)
	if err != nil { // too deep for one expression: better no job than one that is in the way
		return classad.Literal(classad.Bool(false))
	}
	return both
}

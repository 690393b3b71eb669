package pool

// Universe is the kind of environment that a job runs in, by HTCondor's numbers
// (manual, "Job ClassAd Attributes", JobUniverse).
type Universe int

// The universes that are told apart. Jobs in docker and container are vanilla ones
// with WantDocker or WantContainer.
const (
	Standard  Universe = 1
	Vanilla   Universe = 5
	Scheduler Universe = 7
	Grid      Universe = 9
	Java      Universe = 10
	Parallel  Universe = 11
	Local     Universe = 12
	VM        Universe = 13
)

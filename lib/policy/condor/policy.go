// Package condor is HTCondor's policy: each submitter's turn comes by its share, and its jobs go in
// the order of their priorities.
package condor

// Policy is HTCondor's.
type Policy struct{}

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return "condor" }

// Package condor is HTCondor's policy: each submitter's turn comes by its share, and its jobs go in
// the order of their priorities.
package condor

import (
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/policy"
)

// Policy is HTCondor's.
type Policy struct{}

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return "condor" }

// OneQueue reports that shares say whose turn it is.
func (Policy) OneQueue() bool { return false }

// Queue is nil.
func (Policy) Queue(*config.Config, policy.Sources) jobprio.Queue { return nil }

// Beside has no jobs.
func (Policy) Beside(*config.Config) policy.Beside { return policy.Beside{} }

// Listing is nil.
func (Policy) Listing(*config.Config, policy.Sources) policy.Listing { return nil }

// Display adds nothing to what lists show of all jobs.
func (Policy) Display(*config.Config) policy.Display { return policy.Display{} }

// Options are none: prio's own are HTCondor's.
func (Policy) Options() []policy.Option { return nil }

// Rules are none but the common ones.
func (Policy) Rules(*config.Config) policy.Rules {
	return policy.Rules{Ahead: "-p orders the jobs of one submitter"}
}

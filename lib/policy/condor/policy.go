// Package condor is HTCondor's policy: each submitter's turn comes by its share, and its jobs go in
// the order of their priorities.
package condor

import (
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/policy"
)

// Policy is HTCondor's. The options of prio, the columns of lists and the settings at the top of the
// configuration, which all policies share, are its own.
type Policy struct{ policy.Common }

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return "condor" }

// Table is nil: its settings are keys of the top.
func (Policy) Table() *config.Table { return nil }

// OneQueue reports false, as shares order the submitters.
func (Policy) OneQueue() bool { return false }

// Queue is nil.
func (Policy) Queue(*config.Config, policy.Sources) jobprio.Queue { return nil }

// Listing is nil.
func (Policy) Listing(*config.Config, policy.Sources) policy.Listing { return nil }

// Rules are the common ones.
func (Policy) Rules(*config.Config) policy.Rules {
	return policy.Rules{Ahead: "-p orders the jobs of one submitter"}
}

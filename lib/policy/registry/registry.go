// Package registry answers: which policies are there?
package registry

import (
	"fairspool/lib/config"
	"fairspool/lib/policy"
	"fairspool/lib/policy/condor"
	"fairspool/lib/policy/maui"
	"fairspool/lib/policy/sge"
)

// Policies are all that JOB_PRIORITY_POLICY may choose, the default first: one line each.
var Policies = []policy.Policy{
	condor.Policy{},
	maui.Policy{},
	sge.Policy{},
}

// Of returns the policy that a configuration chooses.
func Of(c *config.Config) policy.Policy {
	for _, p := range Policies {
		if p.Name() == c.JobPriorityPolicy {
			return p
		}
	}
	return Policies[0] // which nobody has named yet
}

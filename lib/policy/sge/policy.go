// Package sge adapts Grid Engine's policy to the pool: its settings, its queue, its rules for
// attributes, and its part of lists. The arithmetic is fairspool/lib/sge.
//
// Its settings are the table [sge], with parameters of sched_conf(5) and objects under their own
// names, and the saved output of qconf that the table names. Reading those files never fails: problems
// become warnings. The table overrides them.
package sge

import (
	"fmt"

	"fairspool/lib/config"
	"fairspool/lib/policy"
)

// policyName is also the table's name.
const policyName = "sge"

// Policy is Grid Engine's.
type Policy struct{ policy.Common }

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return policyName }

// Inert says why the share tree has no effect; it is empty if the tree does.
func Inert(c *config.Config) string {
	s := Settings(c)
	switch {
	case c.JobPriorityPolicy != policyName:
		return fmt.Sprintf("JOB_PRIORITY_POLICY is %q and not %q", c.JobPriorityPolicy, policyName)
	case s.TicketsShare == 0:
		return "weight_tickets_share is 0"
	case s.WeightTicket == 0 && c.RunTime.Interval == 0:
		return "weight_ticket is 0, and so is reprioritize_interval"
	}
	return ""
}

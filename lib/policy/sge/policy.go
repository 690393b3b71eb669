// Package sge is Grid Engine's policy as the pool asks for it: its settings, its queue, its rules for
// attributes, and what lists show. The arithmetic is fairspool/lib/sge.
package sge

import (
	"fairspool/lib/config"
	"fairspool/lib/sge"
	"fmt"
)

// Policy is Grid Engine's.
type Policy struct{}

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return "sge" }

// OneQueue reports that all jobs stand in one order.
func (Policy) OneQueue() bool { return true }

// Inert says why the share tree decides nothing; it is empty if the tree does.
func Inert(c *config.Config) string {
	s := Settings(c)
	switch {
	case c.JobPriorityPolicy != Policy{}.Name():
		return fmt.Sprintf("JOB_PRIORITY_POLICY is %q and not %q", c.JobPriorityPolicy, Policy{}.Name())
	case s.TicketsShare == 0:
		return "weight_tickets_share is 0"
	case s.WeightTicket == 0 && c.RunTime.Interval == 0:
		return "weight_ticket is 0, and so is reprioritize_interval"
	}
	return ""
}

// Settings returns what a configuration says of the policy. They are shared and not to be changed.
func Settings(c *config.Config) *sge.Config { return &c.SGE }

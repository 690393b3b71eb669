// Package sge is Grid Engine's policy as the pool asks for it: its settings, its queue, its rules for
// attributes, and what lists show. The arithmetic is fairspool/lib/sge.
package sge

import (
	"fairspool/lib/config"
	"fairspool/lib/sge"
)

// Policy is Grid Engine's.
type Policy struct{}

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return "sge" }

// OneQueue reports that all jobs stand in one order.
func (Policy) OneQueue() bool { return true }

// Settings returns what a configuration says of the policy. They are shared and not to be changed.
func Settings(c *config.Config) *sge.Config { return &c.SGE }

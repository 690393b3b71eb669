// Package maui is Maui's policy as the pool asks for it: its settings, its queue, its rules for
// attributes, and what lists show. The arithmetic is fairspool/lib/maui.
package maui

import (
	"fairspool/lib/config"
	"fairspool/lib/maui"
)

// Policy is Maui's.
type Policy struct{}

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return "maui" }

// OneQueue reports that all jobs stand in one order.
func (Policy) OneQueue() bool { return true }

// Settings returns what a configuration says of the policy. They are shared and not to be changed.
func Settings(c *config.Config) *maui.Config { return &c.Maui }

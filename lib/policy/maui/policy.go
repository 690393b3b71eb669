// Package maui adapts Maui's policy to the pool: its settings, its queue, its rules for attributes,
// and its part of lists. The arithmetic is fairspool/lib/maui.
//
// Its settings are the table [maui], with parameters of maui.cfg under their own names, and the
// maui.cfg that the table names. Reading that file never fails: problems become warnings. The table
// overrides the file.
package maui

import "fairspool/lib/policy"

// policyName is also the table's name.
const policyName = "maui"

// Policy is Maui's.
type Policy struct{ policy.Common }

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return policyName }

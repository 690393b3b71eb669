// Package maui is Maui's policy as the pool asks for it: its settings, its queue, its rules for
// attributes, and what lists show. The arithmetic is fairspool/lib/maui.
//
// Its settings are the table [maui], parameters of maui.cfg under their own names, and the maui.cfg
// that this names, which never fails: problems become warnings. What it says counts less than the
// table.
package maui

import "fairspool/lib/policy"

// policyName is also that of the table.
const policyName = "maui"

// Policy is Maui's.
type Policy struct{ policy.Common }

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return policyName }

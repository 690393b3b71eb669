package negotiation

import (
	"time"

	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/negotiator/why"
)

// Cycle runs one negotiation cycle over the pool as of now (policy time) and returns its
// plan. It follows the manual's ordered list, section "Negotiation": all slots, all
// submitters, sorted by EUP; then each takes slots up to its pie slice, job by job in
// job-priority order, each job the best matching slot, until no more can be matched.
func Cycle(p negotiator.Pool, cfg negotiator.Config, now time.Time) *negotiator.Plan {
	outcome := deal.Out(p, cfg, now)
	if p.Lacks != nil && p.Lacks() {
		return outcome.Plan
	}
	why.Explain(outcome)
	return outcome.Plan
}

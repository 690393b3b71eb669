// Package matchmaking computes a negotiation cycle on a view of the spool: what negotiate does in a pool, and replay with
// recorded jobs.
package matchmaking

import (
	"time"

	"fairspool/lib/config"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Reader returns what takes snapshots of a spool of a UID_DOMAIN for cycles.
func Reader(domain string, c *config.Config) *lifecycle.Reader {
	return lifecycle.NewReader(domain, c.Groups, registry.Of(c).Beside(c))
}

// See takes a snapshot of a view.
func See(v *spool.View, r *lifecycle.Reader) lifecycle.Snapshot {
	seen := r.Snapshot(v)
	seen.Pool.PutOff = lifecycle.PutOffsOf(v).Match
	return seen
}

// Compute computes the plan of a cycle on a snapshot of a view, as of now. The settings are those of
// lifecycle.CycleConfig(c), with the caller's changes.
func Compute(v *spool.View, seen lifecycle.Snapshot, c *config.Config, settings negotiator.Config, now time.Time) *negotiator.Plan {
	settings.Queue = registry.Of(c).Queue(c, policy.Sources{
		Slots:     func(do func([]pool.Slot)) { do(seen.Pool.Slots) },
		Summaries: seen.Summaries,
		Claims:    func() []pool.Claim { return seen.Pool.Claims },
		Tallies:   v.Tallies,
		Now:       now, Delivered: lifecycle.Delivered(v),
	})
	return negotiation.Cycle(seen.Pool, settings, now)
}

// Represents reports whether a cycle that matches nothing finds out the same about one job as about others that are alike: the jobs of
// all are not in one queue, and none is skipped for the sake of others of its cluster.
func Represents(c *config.Config, settings negotiator.Config) bool {
	return !registry.Of(c).OneQueue() && !settings.SkipClusters && len(settings.RemoveSignificant) == 0
}

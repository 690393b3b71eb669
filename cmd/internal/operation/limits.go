package operation

import (
	"fmt"

	"fairspool/lib/config"
	"fairspool/lib/plural"
	"fairspool/spool"
)

// withinLimits returns why an owner cannot have so much in the queue: which limit is in the way, and how much there was
// before. They hold for everybody, administrators too.
func withinLimits(cfg *config.Config, owner string, had, has spool.Owner) error {
	for _, limit := range []struct {
		key            string
		had, has, most int64
		what           string
	}{
		{"MAX_JOBS_PER_SUBMISSION", 0, int64(has.Jobs - had.Jobs), int64(cfg.MaxJobsPerSubmission), "job"},
		{"MAX_JOBS_PER_OWNER", int64(had.Jobs), int64(has.Jobs), int64(cfg.MaxJobsPerOwner), "job"},
		{"MAX_CLUSTERS_PER_OWNER", int64(had.Clusters), int64(has.Clusters), int64(cfg.MaxClustersPerOwner), "cluster"},
		{"MAX_SPOOL_BYTES_PER_OWNER", had.Bytes, has.Bytes, cfg.MaxSpoolBytesPerOwner, "byte"},
	} {
		if limit.has <= limit.most {
			continue
		}
		most := plural.Count(int(limit.most), limit.what)
		if limit.key == "MAX_JOBS_PER_SUBMISSION" {
			return fmt.Errorf("%s: a submission puts at most %s into the queue, and this one has %d: submit it in parts, or with max_materialize", limit.key, most, limit.has)
		}
		return fmt.Errorf("%s: %s may have at most %s in the queue, has %d and wants %d more: wait until some have left, or remove some with qdel",
			limit.key, owner, most, limit.had, limit.has-limit.had)
	}
	return nil
}

// roomOf returns how many jobs more an owner may have in the queue.
func roomOf(cfg *config.Config, has spool.Owner) int {
	if has.Bytes >= cfg.MaxSpoolBytesPerOwner {
		return 0
	}
	return max(min(cfg.MaxJobsPerOwner-has.Jobs, cfg.MaxJobsPerSubmission), 0)
}

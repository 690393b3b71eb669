package operation

import (
	"fmt"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// CycleConfig returns the settings of a cycle with its expressions compiled, but for a policy
// with one queue, which needs a look at the pool (Queue). An expression that cannot be read
// is an error that names its key and where that was set.
func CycleConfig(cfg *config.Config) (negotiator.Config, error) {
	n := cfg.Cycle
	n.Params, n.VacateTimeout = cfg.Params, cfg.MachineMaxVacateTime+cfg.KillingTimeout
	var err error
	if !OneQueue(cfg) {
		if n.JobOrder, err = jobprio.Named(cfg.JobPriorityPolicy); err != nil {
			return n, cfg.Complain("JOB_PRIORITY_POLICY", err)
		}
	}
	if n.Limits, err = negotiator.NewConcurrencyLimits(cfg.Limit, cfg.LimitOfSet, cfg.LimitOfName); err != nil {
		return n, err
	}
	for _, e := range []struct {
		key string
		to  **classad.Expr
	}{
		{"NEGOTIATOR_PRE_JOB_RANK", &n.PreJobRank},
		{"NEGOTIATOR_POST_JOB_RANK", &n.PostJobRank},
		{"PREEMPTION_REQUIREMENTS", &n.Preemption.Requirements},
		{"PREEMPTION_RANK", &n.Preemption.Rank},
		{"GROUP_SORT_EXPR", &n.Quotas.SortExpr},
		{"SLOT_WEIGHT", &n.SlotWeight},
		{"NEGOTIATOR_JOB_CONSTRAINT", &n.JobConstraint},
		{"NEGOTIATOR_SLOT_CONSTRAINT", &n.SlotConstraint},
		{"NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", &n.PoolSizeConstraint},
	} {
		if *e.to, err = cfg.Expr(e.key); err != nil {
			return n, err
		}
	}
	return n, nil
}

// CheckConfig returns what is wrong with the expressions of the configuration, of which commands
// compile those that they need.
func CheckConfig(cfg *config.Config) error {
	for _, k := range config.Keys {
		if k.Kind != config.Expression {
			continue
		}
		if _, err := cfg.Expr(k.Name); err != nil {
			return err
		}
	}
	if _, err := compileRequirements(cfg); err != nil {
		return err
	}
	_, err := CycleConfig(cfg)
	return err
}

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

// Require returns why jobs do not meet what SUBMIT_REQUIREMENT_NAMES asks for, the first
// requirement that one of them does not meet; those that are warnings are told instead, once each.
// Each run is judged by the ad of its first proc, which is MY, and TARGET too. It is for callers
// that hold no lock: the expressions may look at what the jobs say.
func Require(cfg *config.Config, c jobad.Cluster, x *classad.Context, warn func(format string, args ...any)) error {
	if len(cfg.Requirements) == 0 || len(c.Runs) == 0 {
		return nil
	}
	list, err := compileRequirements(cfg)
	if err != nil {
		return err
	}
	first := 0
	for _, run := range c.Runs {
		ad := run.Ad().Chain(c.Ad)
		ad.SetInt(pool.AttrProcID, int64(first))
		first += run.Count
		for i, r := range list {
			if r.told {
				continue
			}
			why := r.unmet(x, ad)
			switch {
			case why == nil:
			case r.Warning:
				list[i].told = true
				warn("%v", why)
			default:
				return why
			}
		}
	}
	return nil
}

// longestReason is how many bytes a reason may have.
const longestReason = 1000

// requirement is one whose expressions are compiled.
type requirement struct {
	config.Requirement
	expr, reason *classad.Expr // reason is nil without one
	told         bool          // as a warning
}

func compileRequirements(cfg *config.Config) (list []requirement, err error) {
	for _, r := range cfg.Requirements {
		expr, err := cfg.Expr(r.Key())
		if err != nil {
			return nil, err
		}
		reason, err := cfg.Expr(r.Key() + "_REASON")
		if err != nil {
			return nil, err
		}
		list = append(list, requirement{r, expr, reason, false})
	}
	return list, nil
}

// unmet returns why a job does not meet the requirement; nil if it does. Numbers other than 0 are
// true, as in HTCondor.
func (r requirement) unmet(x *classad.Context, ad *classad.Ad) error {
	v := r.expr.Eval(x, ad, ad)
	yes, isBool := v.Bool()
	if n, isNumber := v.Number(); isNumber && !isBool {
		yes, isBool = n != 0, true
	}
	if yes {
		return nil
	}
	if r.reason != nil {
		if text, ok := r.reason.Eval(x, ad, ad).Text(); ok && text != "" {
			return fmt.Errorf("%s: %s", r.Key(), strings.TrimSpace(text[:min(len(text), longestReason)]))
		}
	}
	why := fmt.Errorf("%s: not met: %s", r.Key(), submitfile.Shorten(r.expr.String()))
	if !isBool {
		why = fmt.Errorf("%w is %s", why, v)
	}
	return why
}

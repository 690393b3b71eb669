package main

import (
	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
)

// settings compiles what the configuration says of a cycle. NEGOTIATOR_CONSIDER_PREEMPTION,
// which cannot be set, is true as it is by default: in spins, reasons speak of preemption.
func settings(cfg *config.Config) (negotiator.Config, error) {
	n := negotiator.Config{
		Params: operation.Params(cfg), UseSlotWeights: cfg.UseSlotWeights, RequestClaimTimeout: cfg.RequestClaimTimeout,
		IgnoreUserPriorities: cfg.IgnoreUserPriorities, GlobalJobPrios: cfg.GlobalJobPrios, Preemption: negotiator.Preemption{Consider: true},
		DepthFirst: cfg.DepthFirst, SkipClusters: !cfg.AllJobsInCluster,
		Significant: cfg.Significant, AddSignificant: cfg.AddSignificant, RemoveSignificant: cfg.RemoveSignificant,
		Reserve: negotiator.Reserve{Fraction: cfg.ReserveFraction, Time: cfg.ReserveTime},
	}
	if cfg.Pie == "htcondor" {
		n.Pie = negotiator.Spins
	}
	var err error
	if n.JobOrder, err = jobprio.Named(cfg.JobPriorityPolicy); err != nil {
		return n, cfg.Complain("JOB_PRIORITY_POLICY", err)
	}
	if n.Limits, err = negotiator.NewConcurrencyLimits(cfg.Limit, cfg.LimitOfSet, cfg.LimitOfName); err != nil {
		return n, err
	}
	return n, compile(cfg, &n)
}

// compile compiles the expressions; an empty one stays nil.
func compile(cfg *config.Config, n *negotiator.Config) error {
	for _, e := range []struct {
		name, text string
		to         **classad.Expr
	}{
		{"NEGOTIATOR_PRE_JOB_RANK", cfg.PreJobRank, &n.PreJobRank},
		{"NEGOTIATOR_POST_JOB_RANK", cfg.PostJobRank, &n.PostJobRank},
		{"SLOT_WEIGHT", cfg.SlotWeight, &n.SlotWeight},
		{"NEGOTIATOR_JOB_CONSTRAINT", cfg.JobConstraint, &n.JobConstraint},
		{"NEGOTIATOR_SLOT_CONSTRAINT", cfg.SlotConstraint, &n.SlotConstraint},
		{"NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", cfg.PoolSizeConstraint, &n.PoolSizeConstraint},
	} {
		if e.text == "" {
			continue
		}
		compiled, err := classad.ParseExpr(e.text)
		if err != nil {
			return cfg.Complain(e.name, err)
		}
		*e.to = compiled
	}
	return nil
}

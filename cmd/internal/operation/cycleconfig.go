package operation

import (
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
)

// CycleConfig compiles what the configuration says of a cycle, but for a policy with one
// queue, which needs a look at the pool (Queue). An expression that is none
// is an error that names its key and where that was set.
func CycleConfig(cfg *config.Config) (negotiator.Config, error) {
	n := negotiator.Config{
		Params: Params(cfg), UseSlotWeights: cfg.UseSlotWeights,
		RequestClaimTimeout: cfg.RequestClaimTimeout, VacateTimeout: cfg.MachineMaxVacateTime + cfg.KillingTimeout,
		IgnoreUserPriorities: cfg.IgnoreUserPriorities, GlobalJobPrios: cfg.GlobalJobPrios,
		Preemption: preemption(cfg), Quotas: quotas(cfg),
		DepthFirst: cfg.DepthFirst, SkipClusters: !cfg.AllJobsInCluster,
		Significant: cfg.Significant, AddSignificant: cfg.AddSignificant, RemoveSignificant: cfg.RemoveSignificant,
		Steps:   cfg.MaxStepsPerOwner,
		Reserve: negotiator.Reserve{Fraction: cfg.ReserveFraction, Time: cfg.ReserveTime},
	}
	if cfg.Pie == "htcondor" {
		n.Pie = negotiator.Spins
	}
	var err error
	if !OneQueue(cfg) {
		if n.JobOrder, err = jobprio.Named(cfg.JobPriorityPolicy); err != nil {
			return n, cfg.Complain("JOB_PRIORITY_POLICY", err)
		}
	}
	if n.Limits, err = negotiator.NewConcurrencyLimits(cfg.Limit, cfg.LimitOfSet, cfg.LimitOfName); err != nil {
		return n, err
	}
	return n, compile(cfg, &n)
}

// preemption returns what is configured of preemption, without the expressions.
func preemption(cfg *config.Config) negotiator.Preemption {
	return negotiator.Preemption{
		Consider: cfg.ConsiderPreemption, Early: cfg.ConsiderEarlyPreemption,
		Cached: cfg.MatchlistCaching, RequirementsStable: cfg.RequirementsStable, RankStable: cfg.RankStable,
	}
}

// quotas returns what is configured of all groups' quotas, without the expression.
func quotas(cfg *config.Config) negotiator.Quotas {
	return negotiator.Quotas{
		Oversubscribe: cfg.OversubscribeQuotas, Strict: cfg.StrictQuotas,
		Rounds: cfg.AllocationRounds, RoundRobinRate: cfg.RoundRobinRate, WeightedDemand: cfg.WeightedDemand,
	}
}

// compile compiles the expressions; an empty one stays nil.
func compile(cfg *config.Config, n *negotiator.Config) error {
	for _, e := range []struct {
		name, text string
		to         **classad.Expr
	}{
		{"NEGOTIATOR_PRE_JOB_RANK", cfg.PreJobRank, &n.PreJobRank},
		{"NEGOTIATOR_POST_JOB_RANK", cfg.PostJobRank, &n.PostJobRank},
		{"PREEMPTION_REQUIREMENTS", cfg.PreemptionRequirements, &n.Preemption.Requirements},
		{"PREEMPTION_RANK", cfg.PreemptionRank, &n.Preemption.Rank},
		{"GROUP_SORT_EXPR", cfg.GroupSort, &n.Quotas.SortExpr},
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

package operation

import (
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/negotiator"
)

// CycleConfig returns the settings of a cycle with its expressions compiled, but for a policy
// with one queue, which needs a look at the pool. An expression that cannot be read
// is an error that names its key and where that was set.
func CycleConfig(cfg *config.Config) (negotiator.Config, error) {
	n := cfg.Cycle
	n.Params, n.VacateTimeout = cfg.Params, cfg.MachineMaxVacateTime+cfg.KillingTimeout
	var err error
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

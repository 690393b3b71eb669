package main

import (
	"fmt"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
)

// settings compiles what the configuration says of a cycle.
func settings(cfg *config.Config) (negotiator.Config, error) {
	n := negotiator.Config{
		Params: operation.Params(cfg), UseSlotWeights: cfg.UseSlotWeights, RequestClaimTimeout: cfg.RequestClaimTimeout,
	}
	var err error
	if n.JobOrder, err = jobprio.Named(cfg.JobPriorityPolicy); err != nil {
		return n, fmt.Errorf("%s: JOB_PRIORITY_POLICY: %w", cfg.Where("JOB_PRIORITY_POLICY"), err)
	}
	for _, e := range []struct {
		name, text string
		to         **classad.Expr
	}{
		{"NEGOTIATOR_PRE_JOB_RANK", cfg.PreJobRank, &n.PreJobRank},
		{"NEGOTIATOR_POST_JOB_RANK", cfg.PostJobRank, &n.PostJobRank},
		{"SLOT_WEIGHT", cfg.SlotWeight, &n.SlotWeight},
	} {
		if e.text == "" {
			continue
		}
		compiled, err := classad.ParseExpr(e.text)
		if err != nil {
			return n, fmt.Errorf("%s: %s: %w", cfg.Where(e.name), e.name, err)
		}
		*e.to = compiled
	}
	return n, nil
}

package negotiate

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/history"
	"fairspool/lib/negotiator"
	"fairspool/spool"
)

// sample notes for userprio -history what is so after the cycle. The cycle is
// done, whatever comes of it.
func sample(c *cmdline.Call, s *spool.Spool, plan *negotiator.Plan, p accountant.Params) {
	m := history.Moment{Now: c.Now, Demand: map[string]float64{}, Params: p}
	for _, share := range plan.Submitters {
		if share.Idle > 0 { // what is left of it after the cycle's matches
			m.Demand[share.Name] = share.Demand * float64(share.Idle-share.Matched) / float64(share.Idle)
		}
	}
	err := s.View(func(v *spool.View) error { m.Records, m.Past = v.Submitters(), operation.Past(v); return nil })
	if err == nil {
		err = s.AddSamples(m)
	}
	if err != nil {
		c.Warn("the cycle is done, but nothing was noted for userprio -history: %v", err)
	}
}

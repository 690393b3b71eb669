package submit

import (
	"errors"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/jobad"
)

// permit refuses jobs that ask for what their owner, or who submits them, may not have. They are looked at by their ads, whatever has set an attribute, and
// by runs. Those that appear later are as these: see Options.Settled.
func (s *submission) permit(d *jobad.Jobs, c jobad.Cluster) error {
	who, err := s.Caller()
	if err != nil || len(c.Runs) == 0 {
		return err
	}
	rights := operation.RightsOf(s.Config, who.Name, who.Admin, s.owner, s.GroupsOf)
	ruled := operation.Ruled(s.Config)
	plain := false // whether jobs that have nothing of this but what all share were looked at
	first := 0     // proc of the run
	for _, r := range c.Runs {
		ad, proc := c.Ad, first
		first += r.Count
		if r.Has(ruled...) {
			ad = r.Ad().Chain(c.Ad)
		} else if plain {
			continue
		} else {
			plain = true
		}
		if err := located(d, proc, rights.Submit(ad)); err != nil {
			return err
		}
	}
	return nil
}

// located returns a refusal of a proc with the place in the description that is refused.
func located(d *jobad.Jobs, proc int, err error) error {
	var refusal *operation.Refusal
	if errors.As(err, &refusal) {
		return d.Refuse(refusal.Attr, proc, refusal.Why)
	}
	return err
}

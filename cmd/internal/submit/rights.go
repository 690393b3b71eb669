package submit

import (
	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
)

// permit refuses jobs that ask for what their owner, or the caller, may not have, and those that
// do not meet the pool's requirements, before the spool is locked. It returns the owner's rights.
func (s *submission) permit(d *jobad.Jobs, c jobad.Cluster) (operation.Rights, error) {
	who, err := s.Caller()
	if err != nil {
		return operation.Rights{}, err
	}
	rights := operation.RightsOf(s.Config, who.Name, who.Admin, s.owner, s.GroupsOf)
	if err := rights.Permit(d, c); err != nil {
		return rights, err
	}
	return rights, operation.Require(s.Config, c, &classad.Context{Now: s.Now}, s.warn)
}

package userprio

import (
	"errors"
	"maps"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/plural"
	"fairspool/spool"
)

// sought returns the record of the only submitter that is called name: one of the
// records, or else a fresh one of somebody who has jobs in the queue and whom no
// cycle has seen yet, with the number of these jobs that wait.
func sought(c *cmdline.Call, name string, records []accountant.Record) (r accountant.Record, waiting int, err error) {
	r, err = called(name, records)
	if !errors.Is(err, errNobody) {
		return r, 0, err
	}
	s, err := c.Spool()
	if err != nil {
		return r, 0, err
	}
	var idle map[string]int
	if err := s.View(func(v *spool.View) error { idle = operation.IdleJobs(v, s.Domain(), c.Config.Groups); return nil }); err != nil {
		return r, 0, err
	}
	fresh := make([]accountant.Record, 0, len(idle))
	for _, n := range slices.Sorted(maps.Keys(idle)) {
		fresh = append(fresh, accountant.Record{Name: n}.Settle(c.Now, c.Config.Params))
	}
	r, err = called(name, fresh)
	if errors.Is(err, errNobody) {
		err = edit.Unknown(name, slices.Concat(records, fresh))
	}
	return r, idle[r.Name], err
}

// unseen says what is to be done for one whom no cycle has seen.
func (f future) unseen() string {
	return plural.Pick(f.waiting, "1 job waits, and no cycle has looked at it yet: run negotiate",
		"%d jobs wait, and no cycle has looked at them yet: run negotiate")
}

package main

import (
	"errors"
	"maps"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
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
	idle, err := queued(c)
	if err != nil {
		return r, 0, err
	}
	fresh := make([]accountant.Record, 0, len(idle))
	for _, n := range slices.Sorted(maps.Keys(idle)) {
		fresh = append(fresh, accountant.Record{Name: n}.Settle(c.Now, operation.Params(c.Config)))
	}
	r, err = called(name, fresh)
	if errors.Is(err, errNobody) {
		err = edit.Unknown(name, slices.Concat(records, fresh))
	}
	return r, idle[r.Name], err
}

// queued returns the number of idle jobs of each submitter in the queue. It goes
// through all of it.
func queued(c *cmdline.Call) (map[string]int, error) {
	s, err := c.Spool()
	if err != nil {
		return nil, err
	}
	idle := map[string]int{}
	err = s.View(func(v *spool.View) error {
		for _, cluster := range v.Clusters() {
			for _, run := range cluster.Runs {
				status, _ := run.Ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
				waiting := 0
				if pool.Status(status) == pool.Idle {
					waiting = run.Count()
				}
				idle[operation.Submitter(run.Ad, s.Domain(), c.Config.Groups)] += waiting
			}
		}
		return nil
	})
	return idle, err
}

// unseen says what is to be done for one whom no cycle has seen.
func (f future) unseen() string {
	return plural.Pick(f.waiting, "1 job waits, and no cycle has looked at it yet: run negotiate",
		"%d jobs wait, and no cycle has looked at them yet: run negotiate")
}

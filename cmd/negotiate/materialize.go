package main

import (
	"strconv"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/spool"
)

// materialize makes the jobs that were kept back and that there is room for now
// (max_materialize, max_idle), so that the cycle sees them. Where there are none,
// nothing is written.
func materialize(c *cmdline.Call, s *spool.Spool) error {
	some := false
	if err := s.View(func(v *spool.View) error {
		list, _ := operation.Wanting(v)
		some = len(list) > 0
		return nil
	}); err != nil || !some {
		return err
	}
	var made []operation.Made
	if err := s.Update(func(tx *spool.Tx) error {
		made = operation.Materialize(tx, c.Now, c.Warn)
		var clusters []string
		for _, m := range made {
			clusters = append(clusters, strconv.Itoa(m.ID))
		}
		tx.Op("materialize", clusters...)
		return nil
	}); err != nil {
		return err
	}
	host, err := c.Hostname()
	if err != nil {
		c.Warn("%v", err)
		return nil
	}
	var log joblog.Events
	for _, m := range made {
		log.Submitted(m.ID, m.Cluster, host)
	}
	log.Write(c)
	return nil
}

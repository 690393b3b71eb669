package jobad

import (
	"strconv"

	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// jobShare sets JobShare, the job's part in the functional policy and the share tree.
func (j *job) jobShare() error {
	g, ok, err := j.command("job_share")
	if !ok || err != nil {
		return err
	}
	n, err := j.integer(g, false)
	switch {
	case err != nil:
		return err
	case n < 0 || n > sge.MostShares:
		return j.refuse(g, "%s: want a whole number from 0 to %d", submitfile.Shorten(g.Text), uint32(sge.MostShares))
	}
	j.setExpr(sge.AttrJobShare, strconv.FormatInt(n, 10))
	return nil
}

// overrideTickets refuses what Grid Engine leaves to its operators: a job's nice value may hang
// on it.
func (j *job) overrideTickets() error {
	g, ok, err := j.command("override_tickets")
	if !ok || err != nil {
		return err
	}
	return j.refuse(g, "only administrators may give them, to a job in the queue: prio -ot N JOB")
}

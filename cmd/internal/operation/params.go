package operation

import (
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Params returns what the configuration says of priorities.
func Params(cfg *config.Config) accountant.Params {
	return accountant.Params{
		HalfLife:      cfg.HalfLife,
		DefaultFactor: cfg.DefaultPrioFactor,
		NiceFactor:    cfg.NicePrioFactor,
		NiceGroup:     cfg.NiceGroup,
		RemoteFactor:  cfg.RemotePrioFactor,
		LocalDomain:   cfg.LocalDomain,
	}
}

// Submitter returns the name under which a job is accounted: its accounting
// group, or its owner, at the domain of the spool.
func Submitter(ad *classad.Ad, domain string) string {
	c := &classad.Context{}
	owner, _ := ad.EvalString(c, pool.AttrOwner)
	group, _ := ad.EvalString(c, pool.AttrAccountingGroup)
	return accountant.SubmitterName(owner, group, domain)
}

// charge begins to charge a submitter for weight w at t, and returns since
// when: t, or the submitter's last event where that is later.
func charge(tx *spool.Tx, name string, t time.Time, w accountant.Weight, p accountant.Params) time.Time {
	r, _ := tx.Submitter(name)
	r = r.Start(t, w, p)
	tx.PutSubmitter(r)
	return r.At
}

// release ends the charge for a claim at t; from the start if it never ran.
func release(tx *spool.Tx, c pool.Claim, t time.Time, p accountant.Params) {
	r, _ := tx.Submitter(c.Submitter)
	switch c.State {
	case pool.Matched:
		tx.PutSubmitter(r.GiveBack(c.MatchedAt, t, c.Weight, p))
	case pool.RunningClaim:
		tx.PutSubmitter(r.End(t, c.Weight, p))
	}
	// Vacating: the charge ended when the claim was told to vacate.
}

// job is one job whose attributes change. Read from ad before the first set:
// whether ad shows later ones is not defined.
type job struct {
	tx *spool.Tx
	id pool.JobID
	ad *classad.Ad
}

func (j job) set(name string, v classad.Value) { j.tx.Set(j.id, name, classad.Literal(v)) }

func (j job) setTime(name string, t time.Time) { j.set(name, classad.Int(t.Unix())) }

func (j job) int(name string) int64 {
	n, _ := j.ad.EvalInt(&classad.Context{}, name)
	return n
}

func (j job) real(name string) float64 {
	x, _ := j.ad.EvalNumber(&classad.Context{}, name)
	return x
}

func (j job) status() pool.Status { return pool.Status(j.int(pool.AttrJobStatus)) }

// setStatus moves the job to another state at t.
func (j job) setStatus(s pool.Status, t time.Time) {
	j.set(pool.AttrLastJobStatus, classad.Int(int64(j.status())))
	j.set(pool.AttrJobStatus, classad.Int(int64(s)))
	j.setTime(pool.AttrEnteredStatus, t)
}

package operation

import (
	"cmp"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Submitter returns the name under which a job is accounted: its accounting
// group, spelled as configured, or its owner, at the domain of the spool.
func Submitter(ad *classad.Ad, domain string, groups *accountant.Groups) string {
	c := &classad.Context{}
	owner, _ := ad.EvalString(c, pool.AttrOwner)
	group, _ := ad.EvalString(c, pool.AttrAccountingGroup)
	return accountant.SubmitterName(owner, groups.Canonical(group), domain)
}

// chargeOf returns the claim as the accounts see it.
func chargeOf(c pool.Claim) accountant.Charge {
	return accountant.Charge{Submitter: c.Submitter, Weight: c.Weight, By: c.By}
}

// credentials returns what a job is reckoned by, beside its submitter.
func credentials(ad *classad.Ad, p accountant.Params) accountant.Credentials {
	c := &classad.Context{}
	text := func(name string) string { s, _ := ad.EvalString(c, name); return s }
	cpus, ok := ad.EvalInt(c, pool.AttrRequestCpus)
	if !ok || cpus < 1 {
		cpus = 1
	}
	user := text(pool.AttrOwner)
	return accountant.Credentials{
		User: user, Group: text(pool.AttrUnixGroup), Account: text(pool.AttrAcctGroup),
		QOS: text(pool.AttrQOS), Class: text(pool.AttrClass), Project: cmp.Or(text(pool.AttrProject), p.DefaultProjects[user]), Cpus: cpus,
	}
}

// release ends the charge for a claim at t; from the start if it never ran.
func release(tx *spool.Tx, c pool.Claim, t time.Time, p accountant.Params) {
	switch c.State {
	case pool.Matched, pool.Promised:
		chargeOf(c).GiveBack(tx, c.ChargedFrom(), t, p)
	case pool.RunningClaim:
		chargeOf(c).End(tx, c.ChargedFrom(), t, p)
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

// IdleJobs returns the number of idle jobs of each submitter with jobs in the queue. It goes
// through all of it.
func IdleJobs(v *spool.View, domain string, groups *accountant.Groups) map[string]int {
	idle := map[string]int{}
	for _, cluster := range v.Clusters() {
		for _, run := range cluster.Runs {
			status, _ := run.Ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
			waiting := 0
			if pool.Status(status) == pool.Idle {
				waiting = run.Count()
			}
			idle[Submitter(run.Ad, domain, groups)] += waiting
		}
	}
	return idle
}

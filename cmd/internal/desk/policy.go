package desk

import (
	"errors"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/spool"
)

// mostJudged is how often a job is judged that is changed all the time.
const mostJudged = 10

// Judge evaluates the job's policy on its present ad, and commits the action: the claim is Vacating then. A
// claim that is Vacating already and let run on may still be held or removed. No expression is evaluated in
// the transaction: if the job was changed meanwhile, Judge starts again. A look at the queue without a
// result is forgotten, as a machine may have many supervisors.
func (d *Desk) Judge(found jobpolicy.Verdict, used supervise.Spent) (r *supervise.Rules, err error) {
	ask := func(*classad.Ad) jobpolicy.Verdict { return found }
	if found.Action == jobpolicy.Stay {
		ask = func(ad *classad.Ad) (v jobpolicy.Verdict) {
			r, v = judged(ad, d.Now().Now, used, d.reported, d.Config.PeriodicInterval > 0)
			return v
		}
	}
	for range mostJudged {
		if err = d.judgeOnce(ask); !errors.Is(err, errJobChanged) {
			break
		}
	}
	if spool.IsFull(err) {
		err = supervise.NoRoom{Err: err}
	}
	return r, err
}

func (d *Desk) judgeOnce(ask func(ad *classad.Ad) jobpolicy.Verdict) error {
	now := d.Now()
	var v jobpolicy.Verdict
	var seq uint64
	err := d.Spool.View(func(view *spool.View) error {
		seq = view.Seq()
		if ad, ok := view.Job(d.Job); ok {
			v = ask(ad)
		}
		return nil
	})
	d.Spool.Close()
	if err != nil || v.Action == jobpolicy.Stay {
		return err
	}
	d.Spool.At(now.Now)
	return lifecycle.Account(d.Spool, now, func(tx *spool.Tx) error {
		claim, ok := tx.Claim(d.Job)
		ad, there := tx.Job(d.Job)
		if !ok || !there || claim.Attempt != d.Number || claim.Instance != d.instance() || statusOf(ad) != pool.Running {
			return nil // another process was first: claim and ad say what is to be done
		}
		if r, _ := tx.Run(d.Job); r.Seq > seq {
			return errJobChanged
		}
		return d.enact(tx, v, now.Now)
	})
}

// errJobChanged says that the job's ad is not the one any more that was judged.
var errJobChanged = errors.New("the job was changed while its policy was looked at")

// enact carries out a verdict.
func (d *Desk) enact(tx *spool.Tx, v jobpolicy.Verdict, now time.Time) (err error) {
	tx.Op("policy", v.Action.String(), d.Job.String())
	tx.UseReserve()
	switch v.Action {
	case jobpolicy.Hold:
		_, err = lifecycle.Hold(tx, pool.Only(d.Job), pool.Reason{Text: v.Reason, Code: v.Code, Subcode: v.Subcode}, now, d.params)
	case jobpolicy.Remove:
		_, err = lifecycle.Remove(tx, d.Job, v.Reason, now, d.params)
	case jobpolicy.Vacate:
		lifecycle.Vacate(tx, d.Job, pool.Reason{Text: v.Reason, Code: lifecycle.VacatedByJobPolicy}, now, d.params)
	}
	return err
}

// judged returns the rules of a job by its ad, and their verdict after an attempt that has used used. The
// ad already includes reported. The job's expressions are evaluated if looks is true.
func judged(ad *classad.Ad, now time.Time, used supervise.Spent, reported pool.Progress, looks bool) (*supervise.Rules, jobpolicy.Verdict) {
	c := &classad.Context{Now: now, Budget: classad.NewBudget(supervise.LookSteps)}
	r := &supervise.Rules{Limits: jobpolicy.Limits(c, ad), Asks: !jobpolicy.Never(ad)}
	v := used.Overdue(r.Limits)
	if v.Action == jobpolicy.Stay && r.Asks && looks {
		v = jobpolicy.Periodic(c, withUsed(ad, used.Progress, reported))
		if r.Endless = c.Budget.Spent(); r.Endless {
			return r, jobpolicy.Verdict{} // the verdict comes of the exhausted budget
		}
	}
	return r, v
}

// withUsed returns the ad of a job with the usage of the attempt beyond what was reported: RemoteWallClockTime,
// RemoteUserCpu and RemoteSysCpu count all attempts.
func withUsed(ad *classad.Ad, used, reported pool.Progress) *classad.Ad {
	c := &classad.Context{}
	now := classad.New().Chain(ad)
	for _, x := range []struct {
		name string
		more time.Duration
	}{
		{pool.AttrWallClock, used.Wall - reported.Wall},
		{pool.AttrUserCPU, used.UserCPU - reported.UserCPU},
		{pool.AttrSysCPU, used.SysCPU - reported.SysCPU},
	} {
		before, _ := ad.EvalNumber(c, x.name)
		now.SetReal(x.name, before+x.more.Seconds())
	}
	if used.PeakKB > 0 {
		now.SetInt(pool.AttrResidentSetSize, used.PeakKB)
		if !ad.Has(pool.AttrMemoryUsage) {
			now.SetInt(pool.AttrMemoryUsage, (used.PeakKB+1023)/1024)
		}
	}
	return now
}

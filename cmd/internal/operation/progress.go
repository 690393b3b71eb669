package operation

import (
	"fmt"
	"math"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Progress is what an attempt has used since it was executed.
type Progress struct {
	Wall, UserCPU, SysCPU time.Duration
	RSSKB                 int64 // resident set of all its processes, as it is now
	PeakKB                int64 // the largest that it was
	DiskKB                int64 // of its scratch directory
	IOBytes               int64 // read and written
}

// After returns the progress of an attempt of which q was known already: nothing of
// that is taken back, though a process that has ended may have taken along what it used.
func (p Progress) After(q Progress) Progress {
	return Progress{
		Wall: max(p.Wall, q.Wall), UserCPU: max(p.UserCPU, q.UserCPU), SysCPU: max(p.SysCPU, q.SysCPU),
		RSSKB: p.RSSKB, PeakKB: max(p.PeakKB, p.RSSKB, q.PeakKB), DiskKB: max(p.DiskKB, q.DiskKB), IOBytes: max(p.IOBytes, q.IOBytes),
	}
}

// measured returns what was used as the accounts take it. Of memory only the peak
// counts: as if that had been held all the time, which is never less than what was.
func (p Progress) measured() accountant.Used {
	return accountant.Used{
		CPU:    p.UserCPU + p.SysCPU,
		Memory: float64(p.PeakKB) / (1 << 20) * p.Wall.Seconds(),
		IO:     float64(p.IOBytes) / (1 << 30),
	}
}

// chargeFor tells the accounts of a claim what was used beyond what they know.
func (p Progress) chargeFor(tx *spool.Tx, c pool.Claim, known Progress, at time.Time, params accountant.Params) {
	now, then := p.After(known).measured(), known.measured()
	used := accountant.Used{CPU: now.CPU - then.CPU, Memory: max(now.Memory-then.Memory, 0), IO: max(now.IO-then.IO, 0)}
	if used != (accountant.Used{}) {
		chargeOf(c).Report(tx, used, at, params)
	}
}

// Report notes in the ad of a job that runs what its attempt has used so far, and tells
// the accounts. Before is what was reported of the attempt until now: what there is
// beyond that is added to the totals. ErrGone: the claim is no longer that attempt's, or
// has not been started.
func Report(tx *spool.Tx, id pool.JobID, attempt int, p, before Progress, at time.Time, params accountant.Params) error {
	tx.Op("report", id.String())
	c, j, err := running(tx, id, attempt)
	if err != nil {
		return err
	}
	p.chargeFor(tx, c, before, at, params)
	t := j.totals()
	j.put(t, t.ran(p, before, c))
	j.progress(p.After(before), c, at.Add(-p.Wall))
	return nil
}

// Checkpointed does as Report when the job has left a checkpoint, with which it goes on
// in its slot: what its attempts took until now counts, whatever becomes of it.
func Checkpointed(tx *spool.Tx, id pool.JobID, attempt int, p, before Progress, at time.Time, params accountant.Params) error {
	tx.Op("checkpoint", id.String())
	c, j, err := running(tx, id, attempt)
	if err != nil {
		return err
	}
	p.chargeFor(tx, c, before, at, params)
	t := j.totals()
	j.put(t, t.ran(p, before, c).commit(c))
	j.progress(p.After(before), c, at.Add(-p.Wall))
	j.checkpoint(at)
	return nil
}

// checkpoint notes that the job has left one.
func (j job) checkpoint(at time.Time) {
	j.set(pool.AttrNumCkpts, classad.Int(j.int(pool.AttrNumCkpts)+1))
	j.setTime(pool.AttrLastCkptTime, at)
}

// running returns the claim of an attempt that was started, and its job.
func running(tx *spool.Tx, id pool.JobID, attempt int) (pool.Claim, job, error) {
	c, ok := tx.Claim(id)
	ad, there := tx.Job(id)
	if !ok || !there || c.Attempt != attempt || c.State != pool.RunningClaim && c.State != pool.Vacating {
		return c, job{}, fmt.Errorf("job %v, attempt %d: %w", id, attempt, ErrGone)
	}
	return c, job{tx, id, ad}, nil
}

// progress notes what is not summed up over the attempts. Executed is when the program
// was started.
func (j job) progress(p Progress, c pool.Claim, executed time.Time) {
	j.set(pool.AttrWallClockCkpt, classad.Real(micro(p.Wall.Seconds())))
	if !j.ad.Has(pool.AttrExecutingDate) {
		j.setTime(pool.AttrExecutingDate, executed)
	}
	j.usage(p)
}

// usage notes how much of its slot the job uses, on average or at most.
func (j job) usage(p Progress) {
	if p.Wall > 0 {
		cores := (p.UserCPU + p.SysCPU).Seconds() / p.Wall.Seconds()
		j.set(pool.AttrCpusUsage, classad.Real(math.Round(cores*1000)/1000))
	}
	j.grow(pool.AttrDiskUsage, p.DiskKB)
	if p.PeakKB <= 0 {
		return
	}
	j.set(pool.AttrResidentSetSize, classad.Int(p.PeakKB))
	j.grow(pool.AttrImageSize, p.PeakKB)
	if !j.ad.Has(pool.AttrMemoryUsage) {
		j.tx.Set(j.id, pool.AttrMemoryUsage, memoryUsage)
	}
}

// memoryUsage is what HTCondor has a job's ad say of the memory that it used, in MB
// (MEMORY_USAGE_METRIC).
var memoryUsage, _ = classad.ParseExpr("(" + pool.AttrResidentSetSize + " + 1023) / 1024")

// grow sets an attribute that never becomes less.
func (j job) grow(name string, v int64) {
	if v > j.int(name) {
		j.set(name, classad.Int(v))
	}
}

// totals are the sums over the attempts of a job, in seconds; slot is wall times the
// weight of the slot. What all attempts took is committed, when it counted, or wasted:
// wall is the sum of both but while an attempt goes on.
type totals struct {
	wall, user, sys, slot, committed, committedSlot, wasted float64
}

// each hands all totals to do, by the attributes that have them.
func (t *totals) each(do func(name string, x *float64)) {
	do(pool.AttrWallClock, &t.wall)
	do(pool.AttrUserCPU, &t.user)
	do(pool.AttrSysCPU, &t.sys)
	do(pool.AttrCumulativeSlot, &t.slot)
	do(pool.AttrCommittedTime, &t.committed)
	do(pool.AttrCommittedSlotTime, &t.committedSlot)
	do(pool.AttrWastedTime, &t.wasted)
}

func (j job) totals() (t totals) {
	t.each(func(name string, x *float64) { *x = finite(j.real(name)) })
	return t
}

// put sets the totals that are not what they were.
func (j job) put(was, t totals) {
	is := map[string]float64{}
	t.each(func(name string, x *float64) { is[name] = micro(*x) })
	was.each(func(name string, x *float64) {
		if is[name] != *x {
			j.set(name, classad.Real(is[name]))
		}
	})
}

// micro rounds seconds to millionths: what is beyond them tells of the arithmetic.
func micro(seconds float64) float64 { return finite(negotiator.Micro(finite(seconds))) }

// ran adds what an attempt used beyond what was known of it.
func (t totals) ran(p, known Progress, c pool.Claim) totals {
	p = p.After(known)
	more := (p.Wall - known.Wall).Seconds()
	t.wall += more
	t.user += (p.UserCPU - known.UserCPU).Seconds()
	t.sys += (p.SysCPU - known.SysCPU).Seconds()
	t.slot += more * c.Weight.Float()
	return t
}

// commit counts for good what the attempt has taken in its slot.
func (t totals) commit(c pool.Claim) totals {
	more := max(t.wall-t.committed-t.wasted, 0)
	t.committed += more
	t.committedSlot += more * c.Weight.Float()
	return t
}

// waste counts for nothing what the attempt has taken.
func (t totals) waste() totals {
	t.wasted += max(t.wall-t.committed-t.wasted, 0)
	return t
}

package operation

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// ErrGone says that a claim is no longer what its supervisor was started for:
// the job was removed, or the match was given up.
var ErrGone = errors.New("the claim is gone")

// holdFailedToStart is HTCondor's HoldReasonCode for a job that could not be
// started, when the Ending has no other.
const holdFailedToStart = 6

// Begin turns an attempt's claim from Matched to Running, at the time at,
// under the supervisor with process id pid. It is committed before the job is
// executed. ErrGone: the claim is no longer that attempt's, or no longer
// Matched; nothing may be executed.
func Begin(tx *spool.Tx, id pool.JobID, attempt int, at time.Time, pid int, p accountant.Params) error {
	tx.Op("start", id.String())
	c, ok := tx.Claim(id)
	ad, there := tx.Job(id)
	if !ok || !there || c.Attempt != attempt || c.State != pool.Matched {
		return fmt.Errorf("job %v, attempt %d: %w", id, attempt, ErrGone)
	}
	c.State, c.StartedAt, c.PID = pool.RunningClaim, at, pid
	tx.PutClaim(c)
	tx.DropBackoff(c.SlotAd())
	j := job{tx, id, ad}
	j.setStatus(pool.Running, at)
	if !ad.Has(pool.AttrJobStartDate) {
		j.setTime(pool.AttrJobStartDate, at)
	}
	j.setTime(pool.AttrCurrentStartDate, at)
	j.set(pool.AttrNumJobStarts, classad.Int(j.int(pool.AttrNumJobStarts)+1))
	j.set(pool.AttrRemoteHost, classad.String(c.Slot))
	return nil
}

// Ending is how an attempt ended.
type Ending struct {
	// Lost is why the attempt counts for nothing and the job is idle again:
	// its supervisor died, or made it give the slot back. Empty otherwise. The job's ad
	// says this only where the claim does not say why it had to (pool.Claim.VacateReason).
	Lost string
	// Recorded is when the end is recorded; zero: as it happens.
	Recorded time.Time
	// NotStarted: the job was not executed, and the attempt is none of its starts.
	// That goes without saying where StartFailed is given.
	NotStarted bool
	// StartFailed is why the job could not be executed, after which it is held.
	// Empty otherwise.
	StartFailed string
	// OutputFailed is why the output of a job that ended by itself could not be
	// copied to where it belongs, after which it is held. Empty otherwise.
	OutputFailed string
	// HoldCode and HoldSubcode are the HoldReasonCode and HoldReasonSubCode of a
	// job that is held; a HoldCode of 0 is that of a job that could not be started.
	HoldCode, HoldSubcode int
	// Signal is the signal that ended the job, 0 when it exited with Code.
	Code, Signal int
	// What the attempt used.
	Wall, UserCPU, SysCPU time.Duration
	MaxRSSKB, IOBytes     int64
}

// measured returns what an attempt used as the accounts take it. Of memory only the
// peak of one process is known: as if that had been held all the time, which for
// jobs of one process is never less than what was.
func (how Ending) measured() accountant.Used {
	return accountant.Used{
		CPU:    how.UserCPU + how.SysCPU,
		Memory: float64(how.MaxRSSKB) / (1 << 20) * how.Wall.Seconds(),
		IO:     float64(how.IOBytes) / (1 << 30),
	}
}

// Finish ends a Running or Vacating claim at the time at. A job that ended by
// itself is completed, one that was removed meanwhile is removed, and both
// leave the queue, unless LeaveJobInQueue keeps them; one that was held meanwhile
// stays held; one that could not be started, or whose output could not be
// stored, is held; otherwise the job is idle again. What is done with one that
// ended by itself OnExitHold and OnExitRemove have a say in. Whoever the slot was
// promised to has it from then on. ErrGone: the claim is no longer that attempt's;
// somebody else has ended it.
func Finish(tx *spool.Tx, id pool.JobID, attempt int, at time.Time, how Ending, p accountant.Params) error {
	tx.Op("finish", id.String())
	c, ok := tx.Claim(id)
	ad, there := tx.Job(id)
	if !ok || !there || c.Attempt != attempt || c.State != pool.RunningClaim && c.State != pool.Vacating {
		return fmt.Errorf("job %v, attempt %d: %w", id, attempt, ErrGone)
	}
	release(tx, c, at, p)
	if used := how.measured(); used != (accountant.Used{}) {
		chargeOf(c).Report(tx, used, at, p)
	}
	tx.DropClaim(id)
	handOver(tx, c, latest(at, how.Recorded))
	j := job{tx, id, ad}
	j.used(how)
	j.set(pool.AttrLastRemoteHost, classad.String(c.Slot))
	tx.Set(id, pool.AttrRemoteHost, nil)
	if how.NotStarted || how.StartFailed != "" {
		j.set(pool.AttrNumJobStarts, classad.Int(max(j.int(pool.AttrNumJobStarts)-1, 0)))
	}
	switch {
	case j.status() == pool.Removed:
		leave(tx, only(id), at)
	case j.status() == pool.Held && (how.Lost != "" || how.StartFailed != ""):
		j.vacated(c, cmp.Or(how.Lost, how.StartFailed), at)
	case how.StartFailed != "":
		j.steered().hold(how.reason(how.StartFailed), at)
	case how.Lost != "":
		j.vacated(c, how.Lost, at)
		j.setStatus(pool.Idle, at)
	default:
		j.exited(how)
		j.settle(how, at)
	}
	return nil
}

// vacated notes that the job had to leave its slot before it had ended.
func (j job) vacated(c pool.Claim, why string, at time.Time) {
	j.set(pool.AttrVacateReason, classad.String(cmp.Or(c.VacateReason, why)))
	j.setTime(pool.AttrLastVacateTime, at)
}

// settle decides what becomes of a job whose own process has ended. When it was
// held meanwhile, but had ended before it was told, the hold counts for nothing.
func (j job) settle(how Ending, at time.Time) {
	x := j.steered() // as it is with what was noted of its exit
	if x.status() == pool.Held {
		x.endHold()
	}
	v := jobpolicy.OnExit(&classad.Context{Now: at}, x.ad)
	switch {
	case how.OutputFailed != "":
		x.hold(how.reason(how.OutputFailed), at)
	case v.Action == jobpolicy.Hold:
		x.hold(Reason{v.Reason, v.Code, v.Subcode}, at)
	case v.Action == jobpolicy.Again:
		j.setStatus(pool.Idle, at)
		x.nextTime(at)
	default:
		j.setTime(pool.AttrCompletionDate, at)
		j.setStatus(pool.Completed, at)
		countEnded(j.tx, only(j.id), x.ad)
		leave(j.tx, only(j.id), at)
	}
}

// steered returns the job as it is now for the operations on several.
func (j job) steered() steered {
	ad, _ := j.tx.Job(j.id)
	return steered{tx: j.tx, Span: only(j.id), ad: ad}
}

// reason is why a job is held after its attempt.
func (how Ending) reason(text string) Reason {
	return Reason{text, cmp.Or(how.HoldCode, holdFailedToStart), how.HoldSubcode}
}

// used adds what an attempt used to the job's totals.
func (j job) used(how Ending) {
	j.set(pool.AttrWallClock, classad.Real(j.real(pool.AttrWallClock)+how.Wall.Seconds()))
	j.set(pool.AttrUserCPU, classad.Real(j.real(pool.AttrUserCPU)+how.UserCPU.Seconds()))
	j.set(pool.AttrSysCPU, classad.Real(j.real(pool.AttrSysCPU)+how.SysCPU.Seconds()))
	if how.MaxRSSKB > 0 {
		j.set(pool.AttrResidentSetSize, classad.Int(how.MaxRSSKB))
		if !j.ad.Has(pool.AttrMemoryUsage) {
			j.tx.Set(j.id, pool.AttrMemoryUsage, memoryUsage)
		}
	}
}

// memoryUsage is what HTCondor has a job's ad say of the memory that it used, in MB
// (MEMORY_USAGE_METRIC).
var memoryUsage, _ = classad.ParseExpr("(" + pool.AttrResidentSetSize + " + 1023) / 1024")

// exited notes how the job's own process ended.
func (j job) exited(how Ending) {
	j.set(pool.AttrExitBySignal, classad.Bool(how.Signal != 0))
	name, n, other := pool.AttrExitCode, how.Code, pool.AttrExitSignal
	if how.Signal != 0 {
		name, n, other = pool.AttrExitSignal, how.Signal, pool.AttrExitCode
	}
	j.set(name, classad.Int(int64(n)))
	if j.ad.Has(other) { // of an earlier run
		j.tx.Set(j.id, other, nil)
	}
	j.set(pool.AttrNumCompletions, classad.Int(j.int(pool.AttrNumCompletions)+1))
}

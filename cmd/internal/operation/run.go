package operation

import (
	"errors"
	"fmt"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// ErrGone says that a claim is no longer what its supervisor was started for:
// the job was removed, or the match was given up.
var ErrGone = errors.New("the claim is gone")

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
	job{tx, id, ad}.begun(c, at)
	return nil
}

// begun notes that an attempt of the job has begun.
func (j job) begun(c pool.Claim, at time.Time) {
	j.setStatus(pool.Running, at)
	if !j.ad.Has(pool.AttrJobStartDate) {
		j.setTime(pool.AttrJobStartDate, at)
	}
	if last := j.int(pool.AttrCurrentStartDate); last > 0 {
		j.set(pool.AttrLastStartDate, classad.Int(last))
	}
	j.setTime(pool.AttrCurrentStartDate, at)
	j.setTime(pool.AttrShadowBday, at)
	for _, name := range [...]string{pool.AttrNumShadowStarts, pool.AttrJobRunCount, pool.AttrNumJobStarts} {
		j.set(name, classad.Int(j.int(name)+1))
	}
	j.set(pool.AttrCurrentHosts, classad.Int(1))
	j.set(pool.AttrRemoteHost, classad.String(c.Slot))
	slot := SlotOf(&j.tx.View, c)
	if slot != nil {
		if n, ok := slot.EvalInt(&classad.Context{}, pool.AttrSlotID); ok {
			j.set(pool.AttrRemoteSlotID, classad.Int(n))
		}
	}
	j.machineAttrs(slot)
	j.unset(pool.AttrExecutingDate)
}

// ended notes that the attempt is over, at the time at.
func (j job) ended(c pool.Claim, how Ending, at time.Time) {
	j.set(pool.AttrLastRemoteHost, classad.String(c.Slot))
	j.set(pool.AttrCurrentHosts, classad.Int(0))
	for _, name := range [...]string{pool.AttrRemoteHost, pool.AttrRemoteSlotID, pool.AttrShadowBday, pool.AttrCPUAffinity, pool.AttrTickets} {
		j.unset(name)
	}
	if j.int("LastSuspensionTime") != 0 {
		j.set("LastSuspensionTime", classad.Int(0))
	}
	if how.neverRan() {
		j.set(pool.AttrNumJobStarts, classad.Int(max(j.int(pool.AttrNumJobStarts)-1, 0)))
	}
	j.used(c, how, at)
}

// unset takes an attribute away, which costs nothing when it is not there.
func (j job) unset(name string) {
	if j.ad.Has(name) {
		j.tx.Set(j.id, name, nil)
	}
}

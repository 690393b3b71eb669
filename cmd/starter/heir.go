package main

import (
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// heir is who takes the slot of an attempt in the transaction that ends it: the
// submitter's next job of the same autocluster, if there is one. The nil heir takes
// nothing.
type heir struct {
	*supervisor             // of the attempt that ends
	ended       pool.Claim  // the zero Claim: there is nothing to take
	ad          *classad.Ad // of its job
	tickets     int64       // that its job has until it ends; below 0: none

	waited bool        // other jobs wait for the end of the cluster, or its owner to be told of it
	next   *supervisor // nil: none; has the lock of its claim
	task   task
}

// heir returns who takes the slot after a job that ended so; nil for nobody. Only a job
// that ended by itself leaves its slot to another of its submitter, and only until
// CLAIM_WORKLIFE is over, or the supervisor is told to end.
func (s *supervisor) heir(how operation.Ending, wanted bool) *heir {
	over := time.Since(s.since) >= s.config.ClaimWorklife
	if !wanted || over || how.Lost != "" || how.StartFailed != "" || how.OutputFailed != "" || how.NotStarted {
		return nil
	}
	return &heir{supervisor: s}
}

// look takes note of the claim before it ends.
func (h *heir) look(tx *spool.Tx, a attempt) {
	if h == nil {
		return
	}
	h.release() // of a transaction that was not committed
	h.ended = pool.Claim{}
	if claim, ok := tx.Claim(a.Job); ok && claim.Attempt == a.Number {
		h.ended = claim
		h.ad, _ = tx.Job(a.Job)
		h.tickets = operation.TicketsOf(h.ad)
	}
}

// enter makes the next job's attempt run in the slot, when the one before has ended. It is
// charged from now on, by the clock, and not for the time that the spool was locked. The lock of
// its claim is taken before that is committed. Where nothing comes of it, nothing is changed.
func (h *heir) enter(tx *spool.Tx, clock accountant.Clock) error {
	if h == nil || h.ad == nil || h.isToEnd() {
		return nil
	}
	now := h.call.Later().By(clock).Now
	claim, found, err := operation.Successor(&tx.View, h.ended, h.ad, h.spool.Domain(), now, h.params)
	if err != nil || !found {
		h.complain(err)
		return nil
	}
	next := h.tenure.supervisor(attempt{claim.Job, claim.Attempt})
	if next.lock, err = lockClaim(h.spool.ClaimLock(claim.LockName())); err != nil {
		h.complain(err)
		return nil
	}
	h.next, h.waited = next, operation.Awaited(&tx.View, h.ended.Job.Cluster)
	operation.Succeed(tx, claim, h.tickets, now, h.params)
	if h.task, err = next.enter(tx, now); err == nil {
		tx.Op("finish, start", h.ended.Job.String(), claim.Job.String())
	}
	return err
}

// taken returns the attempt that has begun, once that is committed.
func (h *heir) taken() (*supervisor, task) {
	if h == nil || h.next == nil {
		return nil, task{}
	}
	return h.next, h.task
}

// release lets go of an attempt whose beginning was not committed.
func (h *heir) release() {
	if h == nil || h.next == nil {
		return
	}
	if h.next.family != nil {
		h.next.family.Close()
	}
	h.next.lock.remove()
	h.next = nil
}

package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Outcome is what an operation did with jobs.
type Outcome int

// What Remove, Hold and Release may do.
const (
	RemovedNow    Outcome = iota + 1 // the job has left the queue, or stays there removed (LeaveJobInQueue)
	Marked                           // it runs and is marked removed; its supervisor ends it
	Already                          // it was removed or held before; nothing was done
	HeldNow                          // the job is held
	HeldRunning                      // it is held, and its supervisor ends it
	ReleasedNow                      // it is held no more
	NotHeld                          // it was not held; nothing was done
	Over                             // it has ended or was removed; nothing was done
	LeavesForMore                    // it is not held: its supervisor ends it, and then it may ask for more than it had
)

// Done is what became of procs.
type Done struct {
	pool.Procs
	Outcome
}

// steered is the jobs that an operation is about to change: a stretch without
// claims, or one with a claim.
type steered struct {
	tx *spool.Tx
	pool.Procs
	ad      *classad.Ad // of the first; what counts for the operations is the same for all
	claim   pool.Claim
	claimed bool
}

func (s steered) status() pool.Status { return job{ad: s.ad}.status() }

func (s steered) int(name string) int64 { return job{ad: s.ad}.int(name) }

func (s steered) set(name string, v classad.Value) {
	s.tx.SetRange(s.Procs, name, classad.Literal(v))
}

// unset takes an attribute away, which costs nothing when it is not there.
func (s steered) unset(name string) {
	if s.ad.Has(name) {
		s.tx.SetRange(s.Procs, name, nil)
	}
}

// each hands the jobs of a span to do: those without claims in stretches, each
// of the others by itself.
func each(tx *spool.Tx, s pool.Procs, do func(steered) Outcome) (all []Done, err error) {
	add := func(x steered) error {
		ad, ok := tx.Job(x.FirstJob())
		if !ok {
			return fmt.Errorf("job %v: not in the queue", x.FirstJob())
		}
		x.tx, x.ad = tx, ad
		all = append(all, Done{x.Procs, do(x)})
		return nil
	}
	rest := s
	for id := range s.Jobs() {
		claim, ok := tx.Claim(id)
		if !ok {
			continue
		}
		if before := rest; before.First < id.Proc {
			before.Last = id.Proc - 1
			err = add(steered{Procs: before})
		}
		if err == nil {
			err = add(steered{Procs: pool.Only(id), claim: claim, claimed: true})
		}
		if err != nil {
			return all, err
		}
		rest.First = id.Proc + 1
	}
	if rest.First <= rest.Last {
		err = add(steered{Procs: rest})
	}
	return all, err
}

// Remove takes a job out of the queue for the reason why, as RemoveAll does.
func Remove(tx *spool.Tx, id pool.JobID, why string, now time.Time, p accountant.Params) (Outcome, error) {
	done, err := RemoveAll(tx, pool.Only(id), why, now, p)
	if err != nil {
		return 0, err
	}
	return done[0].Outcome, nil
}

// RemoveAll takes jobs out of the queue for the reason why. Idle or held ones
// leave at once; one that is matched or promised a slot too, and its charge is given
// back; the claim of a running one turns to Vacating, which ends the charge, and its
// supervisor ends it. One that has ended, or was removed, and only stays because of
// LeaveJobInQueue leaves. The caller names the transaction.
func RemoveAll(tx *spool.Tx, s pool.Procs, why string, now time.Time, p accountant.Params) ([]Done, error) {
	tx.UseReserve()
	return each(tx, s, func(x steered) Outcome { return x.remove(why, now, p) })
}

func (x steered) remove(why string, now time.Time, p accountant.Params) Outcome {
	switch before := x.status(); {
	case x.claimed && before == pool.Removed:
		return Already
	case before == pool.Removed || before == pool.Completed:
		x.tx.LeaveRange(x.Procs, now)
		return RemovedNow
	default:
		x.removing(before, why, now)
	}
	if !x.leaveSlot(pool.Reason{}, now, p) {
		return Marked
	}
	leave(x.tx, x.Procs, now)
	return RemovedNow
}

// RemoveLate ends the creation of a factory's further jobs, for the reason why. For jobs
// that wait for their cluster they count as removed. The caller names the transaction.
func RemoveLate(tx *spool.Tx, f spool.Factory, why string) {
	tx.UseReserve()
	tx.DropFactory(f.Cluster)
	if e, ok := EndingsOf(&tx.View, f.Cluster); ok && f.Next < f.Jobs {
		e.neverMade(f.Coming(), why)
		PutEndings(tx, e)
	}
}

// leaveSlot ends the jobs' claim and its charge. If the attempt has been started, its
// supervisor has to end the job first, for the reason why (empty: the job is removed),
// and leaveSlot returns false.
func (x steered) leaveSlot(why pool.Reason, now time.Time, p accountant.Params) (gone bool) {
	if !x.claimed {
		return true
	}
	c := x.claim
	EndCharge(x.tx, c, now, p)
	switch c.State {
	case pool.RunningClaim:
		c.State, c.VacateSince = pool.Vacating, now
		c.VacateReason, c.VacateCode, c.VacateSubcode = why.Text, why.Code, why.Subcode
		x.tx.PutClaim(c)
		return false
	case pool.Vacating:
		return false
	}
	x.tx.DropClaim(c.Job)
	job{x.tx, c.Job, x.ad}.unset(pool.AttrTickets)
	return true
}

// removing notes in the jobs' ads that they are removed.
func (x steered) removing(before pool.Status, why string, now time.Time) {
	x.set(pool.AttrRemoveReason, classad.String(why))
	x.move(before, pool.Removed, now)
	countRemoved(x.tx, x.Procs, x.ad, why)
}

// move moves the jobs from one state to another.
func (x steered) move(before, after pool.Status, now time.Time) {
	x.set(pool.AttrLastJobStatus, classad.Int(int64(before)))
	x.set(pool.AttrJobStatus, classad.Int(int64(after)))
	x.set(pool.AttrEnteredStatus, classad.Int(now.Unix()))
}

// HeldAtSubmit is HTCondor's HoldReasonCode of a job with hold = true.
const HeldAtSubmit = 15

// Hold holds jobs: they wait until they are released. One that is matched or
// promised a slot gives that back, and its charge; the claim of a running one turns
// to Vacating, which ends the charge, and its supervisor ends it; one that has to
// leave its slot already stays held when it has. One that runs, has taken more than it
// may and says how much it asks for then only leaves its slot; see Finish. The caller
// names the transaction.
func Hold(tx *spool.Tx, s pool.Procs, why pool.Reason, now time.Time, p accountant.Params) ([]Done, error) {
	tx.UseReserve()
	return each(tx, s, func(x steered) Outcome {
		switch x.status() {
		case pool.Held:
			return Already
		case pool.Removed, pool.Completed:
			return Over
		}
		if x.mayAskForMore(why) {
			x.leaveSlot(why, now, p)
			return LeavesForMore
		}
		x.hold(why, now)
		if !x.leaveSlot(pool.Reason{Text: "held: " + why.Text, Code: why.Code, Subcode: why.Subcode}, now, p) {
			return HeldRunning
		}
		return HeldNow
	})
}

// hold notes in the jobs' ads that they are held.
func (x steered) hold(why pool.Reason, now time.Time) {
	x.set(pool.AttrHoldReason, classad.String(why.Text))
	x.set(pool.AttrHoldReasonCode, classad.Int(int64(why.Code)))
	x.set(pool.AttrHoldReasonSubCode, classad.Int(int64(why.Subcode)))
	x.set(pool.AttrNumHolds, classad.Int(x.int(pool.AttrNumHolds)+1))
	if why.Code != jobpolicy.ByUser && why.Code != HeldAtSubmit {
		x.set(pool.AttrNumSystemHolds, classad.Int(x.int(pool.AttrNumSystemHolds)+1))
		countHeld(x.tx, x.Procs, x.ad, why.Text)
	}
	x.unset(pool.AttrReleaseReason)
	x.move(x.status(), pool.Held, now)
}

// lastHold are the attributes of a hold, each with the attribute that keeps it after the
// hold.
var lastHold = [...][2]string{
	{pool.AttrHoldReason, pool.AttrLastHoldReason},
	{pool.AttrHoldReasonCode, pool.AttrLastHoldReasonCode},
	{pool.AttrHoldReasonSubCode, pool.AttrLastHoldReasonSubCode},
}

// Release makes held jobs idle again, for the reason why. One that is still
// leaving its slot is idle when it has. The caller names the transaction.
func Release(tx *spool.Tx, s pool.Procs, why string, now time.Time) ([]Done, error) {
	return each(tx, s, func(x steered) Outcome {
		if x.status() != pool.Held {
			return NotHeld
		}
		if x.int(pool.AttrHoldReasonCode) == jobpolicy.DependencyFailed {
			x.waive()
		}
		x.endHold()
		x.set(pool.AttrReleaseReason, classad.String(why))
		if x.claimed {
			x.move(pool.Held, pool.Running, now)
		} else {
			x.move(pool.Held, pool.Idle, now)
			x.nextTime(now)
		}
		return ReleasedNow
	})
}

// endHold keeps the reason of a hold as the reason of the last hold.
func (x steered) endHold() {
	for _, a := range lastHold {
		if e, ok := x.ad.Lookup(a[0]); ok {
			x.tx.SetRange(x.Procs, a[1], e)
			x.tx.SetRange(x.Procs, a[0], nil)
		}
	}
}

// Vacate makes a running job leave its slot, to run again: its claim turns to Vacating.
// The reason's code is one of those of vacating, such as VacatedByUser. It reports whether
// there was such a claim. The caller names the transaction.
func Vacate(tx *spool.Tx, id pool.JobID, why pool.Reason, now time.Time, p accountant.Params) bool {
	c, ok := tx.Claim(id)
	if !ok || c.State != pool.RunningClaim {
		return false
	}
	steered{tx: tx, Procs: pool.Only(id), claim: c, claimed: true}.leaveSlot(why, now, p)
	return true
}

// nextTime sets the next time of execution of a job with times in the manner of cron(8).
// It holds a job with times that cannot be read.
func (x steered) nextTime(now time.Time) {
	next := ask(x.tx, question{what: "next time", now: now, ads: [2]*classad.Ad{x.ad}, names: [2][]string{jobpolicy.CronAttributes()}},
		func(c *classad.Context, ads [2]*classad.Ad) (t cronTime) {
			t.at, t.err = jobpolicy.Next(c, ads[0])
			return t
		})
	switch {
	case next.err != nil:
		x.hold(pool.Reason{Text: next.err.Error(), Code: jobpolicy.CronSettings}, now)
	case !next.at.IsZero():
		x.set(jobpolicy.AttrDeferralTime, classad.Int(next.at.Unix()))
	}
}

// cronTime is what jobpolicy.Next returns.
type cronTime struct {
	at  time.Time
	err error
}

// heldBack begins the reason for which qhold keeps a factory paused. A factory that
// cannot make its next jobs is paused for another reason.
const heldBack = "held: "

// HeldBack reports whether qhold keeps a factory from making jobs, and for what
// reason.
func HeldBack(f spool.Factory) (why string, held bool) {
	return strings.CutPrefix(f.Paused, heldBack)
}

// HoldBack keeps a factory from making more jobs until LetGo. It changes nothing of
// one that makes none anyway.
func HoldBack(tx *spool.Tx, f spool.Factory, why string) (text string, done bool) {
	switch _, held := HeldBack(f); {
	case held:
		return "held back already", true
	case f.Paused != "":
		return "will not be created anyway: " + f.Paused, false
	}
	f.Paused = heldBack + why
	tx.PutFactory(f)
	return "held back", true
}

// LetGo ends that.
func LetGo(tx *spool.Tx, f spool.Factory) (text string, done bool) {
	switch _, held := HeldBack(f); {
	case held:
		f.Paused = ""
		tx.PutFactory(f)
		return "will be created again", true
	case f.Paused != "":
		return "will not be created: " + f.Paused, false
	}
	return "not held back", false
}

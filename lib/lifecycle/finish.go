package lifecycle

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// holdFailedToStart is HTCondor's HoldReasonCode for a job that could not be
// started, when the Ending has no other.
const holdFailedToStart = 6

// Finish ends a Running or Vacating claim at the time at. A job that ended by itself is completed, or as
// OnExitHold and OnExitRemove say; a job that was removed meanwhile is removed. Both leave the queue
// unless LeaveJobInQueue keeps them. A job that was held meanwhile stays held. A job is held if it could
// not be started, if its output could not be stored, or if it took more than it may and does not ask for
// more from now on. Otherwise it is idle again. If the slot is promised to another claim, that claim gets
// it. pool.ErrGone: another process has ended the attempt's claim.
func Finish(tx *spool.Tx, id pool.JobID, attempt int, at time.Time, how pool.Ending, p accountant.Params) error {
	_, err := FinishLast(tx, id, attempt, at, how, p)
	return err
}

// FinishLast does as Finish, and returns the last ad of a job that was completed or removed; nil for any other.
func FinishLast(tx *spool.Tx, id pool.JobID, attempt int, at time.Time, how pool.Ending, p accountant.Params) (last *classad.Ad, err error) {
	tx.Op("finish", id.String())
	tx.UseReserve()
	c, j, err := running(tx, id, attempt)
	if err != nil {
		return nil, err
	}
	EndCharge(tx, c, at, p)
	chargeFor(tx, c, how.Total(), how.Reported, at, p)
	tx.DropClaim(id)
	handOver(tx, c, latest(at, how.Recorded))
	j.ended(c, how, at)
	switch {
	case j.status() == pool.Removed:
		last = j.leave(at)
	case j.status() == pool.Held && (how.Lost != "" || how.StartFailed != ""):
		j.staysHeld(vacateReason(how, c), at)
	case how.StartFailed != "":
		j.steered().hold(heldFor(how, how.StartFailed), at)
	case how.Lost != "":
		j.goesOn(vacateReason(how, c), at)
	default:
		j.exited(how)
		last = j.settle(how, at)
	}
	return last, nil
}

// leave takes the job out of the queue, as the function leave does, and returns its last ad.
func (j job) leave(at time.Time) *classad.Ad {
	last, _ := j.tx.Job(j.id)
	leave(j.tx, pool.Only(j.id), at)
	return last
}

// settle decides what becomes of a job that has ended by itself. A hold that the supervisor had not
// carried out by then is void. It returns the last ad of a job that is completed.
func (j job) settle(how pool.Ending, at time.Time) (last *classad.Ad) {
	x := j.steered() // with the attributes of its exit
	if x.status() == pool.Held {
		x.endHold()
	}
	v := OnExit(j.tx, x.ad, at)
	switch {
	case how.OutputFailed != "":
		j.holdUnlessMore(heldFor(how, how.OutputFailed), at)
	case v.Action == jobpolicy.Hold:
		x.hold(pool.Reason{Text: v.Reason, Code: v.Code, Subcode: v.Subcode}, at)
	case v.Action == jobpolicy.Again:
		j.setStatus(pool.Idle, at)
		x.nextTime(at)
	default:
		j.setTime(pool.AttrCompletionDate, at)
		j.setStatus(pool.Completed, at)
		count(j.tx, pool.Only(j.id), x.ad, func(e *Endings) { e.ended(j.tx, pool.Only(j.id), x.ad) })
		return j.leave(at)
	}
	return nil
}

var exitAttributes = jobpolicy.ExitAttributes()

// OnExit returns the verdict of the expressions of a job that has ended by itself at the time at, with
// its ad as it is then.
func OnExit(tx *spool.Tx, ad *classad.Ad, at time.Time) jobpolicy.Verdict {
	return ask(tx, question{what: "exit", now: at, ads: [2]*classad.Ad{ad}, names: [2][]string{exitAttributes}},
		func(c *classad.Context, ads [2]*classad.Ad) jobpolicy.Verdict { return jobpolicy.OnExit(c, ads[0]) })
}

// steered returns the present job for the operations on several jobs.
func (j job) steered() steered {
	ad, _ := j.tx.Job(j.id)
	return steered{tx: j.tx, Procs: pool.Only(j.id), ad: ad}
}

// heldFor returns why a job is held after its attempt.
func heldFor(how pool.Ending, text string) pool.Reason {
	return pool.Reason{Text: text, Code: cmp.Or(how.HoldCode, holdFailedToStart), Subcode: how.HoldSubcode}
}

// used adds an attempt's usage to the job's totals, which are of ended attempts from then on.
func (j job) used(c pool.Claim, how pool.Ending, at time.Time) {
	p, known := how.Total(), how.Reported
	if how.Died {
		p.Wall = at.Sub(c.StartedAt)
		known.Wall = min(p.Wall, time.Duration(min(max(finite(j.real(pool.AttrWallClockCkpt)), 0), 1e9)*float64(time.Second)))
	}
	t := j.totals()
	now := t.ran(p, known, c)
	if how.Counts() && j.status() != pool.Removed {
		now = now.commit(c)
	} else {
		now = now.waste()
	}
	j.put(t, now)
	j.copied(how)
	if how.NeverRan() {
		return
	}
	took := max(p.Wall.Seconds(), j.real(pool.AttrWallClockCkpt))
	j.unset(pool.AttrWallClockCkpt)
	j.set(pool.AttrLastWallClock, classad.Real(micro(took)))
	if executed := how.Executed; !j.ad.Has(pool.AttrExecutingDate) && !how.Died {
		if executed.IsZero() {
			executed = at.Add(-p.Wall)
		}
		j.setTime(pool.AttrExecutingDate, executed)
	}
	if how.Checkpointed {
		j.checkpoint(at)
	}
	if how.Died {
		return // only the reported usage is known
	}
	j.usage(p)
}

// copied adds the files that were copied for the attempt.
func (j job) copied(how pool.Ending) {
	if how.Sent > 0 {
		j.set(pool.AttrBytesSent, classad.Real(j.real(pool.AttrBytesSent)+float64(how.Sent)))
	}
	if how.Received > 0 {
		j.set(pool.AttrBytesRecvd, classad.Real(j.real(pool.AttrBytesRecvd)+float64(how.Received)))
	}
}

// exited notes how the job's own process ended.
func (j job) exited(how pool.Ending) {
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

// attrTransformOnEvict lists the changes of a job's ad that the job wants when it has to leave its slot.
const attrTransformOnEvict = "TransformOnEvict"

// mayAskForMore reports whether a running job is to leave its slot rather than to be
// held: it has taken more than it had asked for, and its ad says how much it asks for
// after that. Whether that is more is known when it has left, with its whole usage.
func (x steered) mayAskForMore(why pool.Reason) bool {
	if why.Code != jobad.OutOfResources || !x.claimed || x.claim.State != pool.RunningClaim || x.status() != pool.Running {
		return false
	}
	list, _ := x.ad.EvalString(&classad.Context{}, attrTransformOnEvict)
	return strings.TrimSpace(list) != ""
}

// staysHeld notes that a held job has left its slot for the reason why.
func (j job) staysHeld(why pool.Reason, at time.Time) {
	_, err := j.transform(why, at)
	j.left(joined(why, err), at)
}

// goesOn makes a job that has left its slot for the reason why idle. A job that had taken
// more than it may is held unless it asks for more from now on.
func (j job) goesOn(why pool.Reason, at time.Time) {
	again, err := j.transform(why, at)
	j.left(joined(why, err), at)
	if why.Code == jobad.OutOfResources && !again {
		j.steered().hold(joined(why, err), at)
		return
	}
	j.setStatus(pool.Idle, at)
}

// holdUnlessMore holds a job for the reason why, or makes it idle if it had taken more
// than it may and asks for more from now on.
func (j job) holdUnlessMore(why pool.Reason, at time.Time) {
	if why.Code != jobad.OutOfResources {
		j.steered().hold(why, at)
		return
	}
	j.goesOn(why, at)
}

// joined returns a reason with an error behind it, if there is one.
func joined(why pool.Reason, err error) pool.Reason {
	if err != nil {
		why.Text += "; " + err.Error()
	}
	return why
}

// transform makes the changes that the job wants when it has to leave its slot for the
// reason why, and reports whether the job asks for more of something than before. It never lowers a
// request of a job that had taken more than it may.
func (j job) transform(why pool.Reason, at time.Time) (more bool, err error) {
	ad, _ := j.tx.Job(j.id) // with the attempt's usage
	if !ad.Has(attrTransformOnEvict) {
		return false, nil
	}
	what := fmt.Sprint("transform ", why.Code, why.Subcode)
	t := ask(j.tx, question{what: what, now: at, ads: [2]*classad.Ad{ad}, whole: true},
		func(c *classad.Context, ads [2]*classad.Ad) transformed { return transformOf(c, ads[0], why) })
	for _, a := range t.set {
		j.tx.Set(j.id, a.Name, a.Value)
	}
	return t.more, t.err
}

// transformed is the result of a job's transform.
type transformed struct {
	set  []jobad.Assignment
	more bool // it asks for more of something than before
	err  error
}

func transformOf(c *classad.Context, ad *classad.Ad, why pool.Reason) (t transformed) {
	set, _, err := jobad.Evicted(c, ad, why.Code, why.Subcode)
	if err != nil {
		return transformed{err: err}
	}
	after := classad.New().Chain(ad)
	for _, a := range set {
		after.Set(a.Name, a.Value)
	}
	for _, a := range set {
		if !strings.HasPrefix(strings.ToLower(a.Name), "request") {
			continue
		}
		was, had := ad.EvalNumber(c, a.Name)
		is, has := after.EvalNumber(c, a.Name)
		if had && why.Code == jobad.OutOfResources && (!has || is < was) {
			return transformed{err: fmt.Errorf("%s: %s would be less than the %v of before", attrTransformOnEvict, a.Name, was)}
		}
		t.more = t.more || has && (!had || is > was)
	}
	t.set = set
	return t
}

// HTCondor's VacateReasonCodes of reasons to leave a slot. For a job that was held it is
// the HoldReasonCode.
const (
	VacatedByJobPolicy    = 1000
	VacatedBySystemPolicy = 1001
	SupervisorFailed      = 1002 // it died, or could not go on (ShadowException)
	NeverStarted          = 1003
	VacatedByUser         = 1004
	VacatedByAdmin        = 1010
	MachineDrained        = 1014
	PreemptedByRank       = 1018
	PreemptedByPriority   = 1019
)

// left notes that the job had to leave its slot for the reason why before it had ended.
func (j job) left(why pool.Reason, at time.Time) {
	j.set(pool.AttrVacateReason, classad.String(why.Text))
	j.set(pool.AttrVacateReasonCode, classad.Int(int64(why.Code)))
	j.set(pool.AttrVacateReasonSub, classad.Int(int64(why.Subcode)))
	j.setTime(pool.AttrLastVacateTime, at)
}

// vacateReason returns why the job had to leave its slot: the claim's reason, else the Ending's.
func vacateReason(how pool.Ending, c pool.Claim) pool.Reason {
	why := pool.Reason{Text: c.VacateReason, Code: c.VacateCode, Subcode: c.VacateSubcode}
	if why.Text == "" {
		why = pool.Reason{Text: cmp.Or(how.Lost, how.StartFailed), Code: how.VacateCode, Subcode: how.VacateSubcode}
	}
	switch {
	case why.Code != 0:
	case how.NeverRan():
		why.Code = NeverStarted
	default:
		why.Code = SupervisorFailed
	}
	return why
}

// leave takes jobs that have ended or were removed out of the queue at the
// time at, unless LeaveJobInQueue keeps them. It returns how many left.
func leave(tx *spool.Tx, s pool.Procs, at time.Time) (left int) {
	c, ok := tx.Cluster(s.Cluster)
	if !ok {
		return 0
	}
	var list []pool.Procs
	for _, run := range c.Runs {
		if of, ok := run.Intersect(s); ok {
			list = append(list, leaving(tx, run, of, at)...)
		}
	}
	for _, p := range list {
		tx.LeaveRange(p, at)
		left += p.Count()
	}
	return left
}

// leaving returns the procs of a run that LeaveJobInQueue does not keep.
func leaving(tx *spool.Tx, run spool.Run, of pool.Procs, at time.Time) (left []pool.Procs) {
	e, ok := run.Ad.Lookup(pool.AttrLeaveJobInQueue)
	if !ok {
		return []pool.Procs{of}
	}
	q := question{what: "leave", now: at, ads: [2]*classad.Ad{run.Proc(of.First)}, names: [2][]string{{pool.AttrLeaveJobInQueue}}}
	if !run.TellsApart(e) {
		if ask(tx, q, func(c *classad.Context, ads [2]*classad.Ad) bool { return jobpolicy.Stays(c, ads[0]) }) {
			return nil
		}
		return []pool.Procs{of}
	}
	q.what, q.whole = fmt.Sprint("leave ", of), true
	stays := ask(tx, q, func(c *classad.Context, _ [2]*classad.Ad) (stays []bool) {
		for id := range of.Jobs() {
			stays = append(stays, jobpolicy.Stays(c, run.Proc(id.Proc)))
		}
		return stays
	})
	for id := range of.Jobs() {
		if i := id.Proc - of.First; i < len(stays) && stays[i] {
			continue
		}
		if k := len(left) - 1; k < 0 || !left[k].Extend(pool.Only(id)) {
			left = append(left, pool.Only(id))
		}
	}
	return left
}

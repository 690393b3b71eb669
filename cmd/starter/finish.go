package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fairspool/cmd/internal/joblog"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// end is how and when an attempt ended.
type end struct {
	how pool.Ending
	at  time.Time
	now accountant.Reading // when that is recorded
}

// finish commits how an attempt ended, and then writes what became of the job to the job's event log. Next,
// if not nil, takes the slot in the same transaction. Complain reports events that cannot be written,
// which leave the end as it is. Claim is the file of the claim, on which this process has the record lock.
func finish(sp *spool.Spool, known *lifecycle.Answers, a pool.Attempt, claim *os.File, e end, p accountant.Params, nobody string, complain func(error), next *successor) error {
	var told epilogue
	e.how.Recorded = e.now.Now
	warn := func(format string, args ...any) { complain(fmt.Errorf(format, args...)) }
	err := known.Account(sp, e.now, func(tx *spool.Tx) error {
		told = epilogueOf(tx, a.Job, e)
		next.look(tx, a)
		if err := lifecycle.Finish(tx, a.Job, a.Number, e.at, e.how, p); err != nil {
			return err
		}
		if ad, ok := tx.Job(a.Job); ok {
			told.stays(tx, ad)
		}
		if err := next.enter(tx); err != nil || tx.Forked { // nothing outside of a fork may change
			return err
		}
		if err := joblog.Keep(claim, told.log, told.events(a.Job)...); err != nil {
			warn("log: %w", err)
		}
		reached(stepKept)
		return nil
	})
	if err != nil {
		return err
	}
	reached(stepFinished)
	logEvents(sp, told.log, nobody, complain, told.events(a.Job)...)
	reached(stepConcluded)
	return nil
}

// logEvents writes events to the log of a job, behind those that others owe to it.
func logEvents(sp *spool.Spool, log joblog.Log, nobody string, complain func(error), events ...userlog.Event) {
	if log.Path == "" || len(events) == 0 {
		return
	}
	joblog.Deliver(sp, nobody, func(format string, args ...any) { complain(fmt.Errorf(format, args...)) })
	if err := log.Append(nobody, events...); err != nil {
		complain(fmt.Errorf("log: %w", err))
	}
}

// epilogue is what the event log of a job is told of the end of an attempt.
type epilogue struct {
	end
	log    joblog.Log
	was    pool.Status // of the job while the attempt ended
	told   bool        // the job was told to leave
	bodies []userlog.Body
	table  []string // of resources, behind a Terminated
}

// epilogueOf returns what the log is told of a job that leaves the queue with the end of
// its attempt, which is still to be recorded.
func epilogueOf(tx *spool.Tx, id pool.JobID, e end) epilogue {
	l := epilogue{end: e}
	ad, ok := tx.Job(id)
	if !ok {
		return l
	}
	claim, _ := tx.Claim(id)
	l.log, l.was, l.told = joblog.Of(tx, ad), statusOf(ad), claim.State == pool.Vacating
	if l.log.Path == "" {
		return l
	}
	if l.was == pool.Removed {
		why, _ := ad.EvalString(&classad.Context{}, pool.AttrRemoveReason)
		l.bodies = append(l.left(pool.Reason{Text: why}), userlog.Aborted{Reason: why})
		return l
	}
	l.bodies = []userlog.Body{l.terminated(ad)}
	l.table = userlog.ResourceTable(resourcesOf(ad, lifecycle.SlotOf(&tx.View, claim), e.how))
	return l
}

// terminated is the event of a job that has ended by itself; the ad has what is recorded
// already.
func (l *epilogue) terminated(ad *classad.Ad) userlog.Terminated {
	c, how := &classad.Context{}, l.how
	more := how.Unreported()
	seconds := func(name string) time.Duration {
		x, _ := ad.EvalNumber(c, name)
		return time.Duration(x * float64(time.Second))
	}
	number := func(name string) int64 { x, _ := ad.EvalNumber(c, name); return int64(x) }
	return userlog.Terminated{
		ReturnValue: how.Code, Signal: how.Signal, Core: how.Core, Run: l.usage(),
		Total:      userlog.Usage{User: seconds(pool.AttrUserCPU) + more.UserCPU, System: seconds(pool.AttrSysCPU) + more.SysCPU},
		Bytes:      l.bytes(),
		TotalBytes: userlog.Bytes{Sent: number(pool.AttrBytesSent) + how.Sent, Received: number(pool.AttrBytesRecvd) + how.Received},
	}
}

// stays tells the log instead of a job that is still in the queue after its attempt has
// ended: held, idle, or only because of LeaveJobInQueue, when nothing is different.
func (l *epilogue) stays(tx *spool.Tx, ad *classad.Ad) {
	l.log = joblog.Of(tx, ad) // it may show attributes that are others now
	switch status := statusOf(ad); {
	case l.log.Path == "" || status == pool.Removed || status == pool.Completed:
		return
	case status == pool.Held && l.was != pool.Held:
		l.bodies = []userlog.Body{joblog.Held(ad)}
	case status == pool.Held:
		l.bodies = append(l.left(vacated(ad)), joblog.Held(ad))
	case l.how.Lost == "":
		l.bodies = []userlog.Body{l.requeued(tx, ad)}
	default:
		l.bodies = l.left(vacated(ad))
	}
	l.table = nil
}

// vacated returns why the ad says that the job had to leave its slot.
func vacated(ad *classad.Ad) pool.Reason {
	c := &classad.Context{}
	text, _ := ad.EvalString(c, pool.AttrVacateReason)
	code, _ := ad.EvalInt(c, pool.AttrVacateReasonCode)
	subcode, _ := ad.EvalInt(c, pool.AttrVacateReasonSub)
	return pool.Reason{Text: text, Code: int(code), Subcode: int(subcode)}
}

// requeued is the event of a job that has ended by itself, and runs once more.
func (l *epilogue) requeued(tx *spool.Tx, ad *classad.Ad) userlog.Evicted {
	exit := &userlog.Exit{ReturnValue: l.how.Code, Signal: l.how.Signal, Core: l.how.Core}
	v := userlog.Evicted{Run: l.usage(), Bytes: l.bytes(), Requeued: exit}
	if verdict := lifecycle.OnExit(tx, ad, l.at); verdict.Action == jobpolicy.Again {
		v.Reason = verdict.Reason
	}
	return v
}

// left is the event of a job that left its slot before it had ended: none of one that
// was told to before it was executed.
func (l *epilogue) left(why pool.Reason) []userlog.Body {
	how := l.how
	switch notStarted := how.NotStarted || how.StartFailed != ""; {
	case how.Died:
		return []userlog.Body{userlog.ShadowException{Message: how.Lost, Bytes: l.bytes()}}
	case notStarted && how.Lost != "" && !l.told:
		return []userlog.Body{userlog.ShadowException{Message: why.Text, Bytes: l.bytes()}}
	case notStarted:
		return nil
	}
	return []userlog.Body{userlog.Evicted{
		Code: why.Code, Subcode: why.Subcode, Checkpointed: how.Checkpointed, Run: l.usage(), Bytes: l.bytes(), Reason: why.Text,
	}}
}

func (l *epilogue) usage() userlog.Usage {
	p := l.how.Total()
	return userlog.Usage{User: p.UserCPU, System: p.SysCPU}
}

func (l *epilogue) bytes() userlog.Bytes {
	return userlog.Bytes{Sent: l.how.Sent, Received: l.how.Received}
}

// events are those of a job, dated with the end.
func (l *epilogue) events(id pool.JobID) (list []userlog.Event) {
	for _, body := range l.bodies {
		list = append(list, userlog.Event{Job: id, At: l.at.Local(), Body: body})
	}
	if len(list) > 0 {
		list[len(list)-1].More = l.table
	}
	return list
}

// The steps of a desk in the spool, and of a pass that ends an attempt whose supervisor is gone.
const (
	stepLocked    supervise.Step = "locked"    // it has the claim's lock
	stepBegun     supervise.Step = "begun"     // it is recorded that the attempt runs
	stepKept      supervise.Step = "kept"      // what the event log is to be told of the end is kept, until it is
	stepFinished  supervise.Step = "finished"  // the end is recorded, and the slot's next attempt, if there is one
	stepConcluded supervise.Step = "concluded" // the event log has the end
	stepUnlocked  supervise.Step = "unlocked"  // the lock file, too
)

// reached is told of each step. It does nothing: tests have it end the process there.
var reached = func(supervise.Step) {}

// Waits between two tries to commit the end of a job.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// Finish tries for as long as it takes, however long the spool is locked or the disk full: nobody else
// knows what it has to say. Only a spool that is not there any more is given up, and a claim whose
// lock is gone, which is for others to end.
func (d *spoolDesk) Finish(how pool.Ending, at time.Time, last func() bool) (next supervise.Desk, t supervise.Task, err error) {
	how.Reported = d.reported
	ended := d.call.Later().Now
	if !at.IsZero() {
		ended = ended.Add(-time.Since(at))
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		if err := d.awaitSpool(); err != nil {
			return nil, t, err
		}
		e := end{how, ended, d.call.Later()}
		d.spool.At(e.at)
		after := d.successor(how, wait == firstRetry, last)
		err := finish(d.spool, &d.answers, d.Attempt, d.lock.file, e, d.params, d.config.NobodySlotUser, d.log.Add, after)
		if d.gone = errors.Is(err, pool.ErrGone); err == nil || d.gone {
			next, t = after.taken()
			if next != nil && after.waited {
				d.complain(d.note())
			}
			return next, t, err
		}
		after.release()
		d.tell("its end (%s) is not recorded yet: %w", describe(how), err)
		time.Sleep(wait)
	}
}

// Close frees the lock of the claim. The file stays if the claim was gone: the end may be recorded in spite
// of that.
func (d *spoolDesk) Close() {
	if d.gone {
		d.lock.leave()
	} else {
		d.lock.remove()
	}
	reached(stepUnlocked)
}

// describe says in a few words how an attempt ended.
func describe(how pool.Ending) string {
	switch {
	case how.Lost != "":
		return how.Lost
	case how.StartFailed != "":
		return how.StartFailed
	case how.OutputFailed != "":
		return how.OutputFailed
	case how.Signal != 0:
		return "by " + supervise.SignalName(syscall.Signal(how.Signal))
	}
	return fmt.Sprintf("exit code %d", how.Code)
}

// successor is the attempt that takes over a slot in the transaction that ends the attempt before: of
// the submitter's next job of the same autocluster, if there is one. A nil successor takes nothing.
type successor struct {
	*spoolDesk             // of the attempt that ends
	last       func() bool // the supervisor is to end
	ended      pool.Claim  // the zero Claim: there is no slot to take over
	ad         *classad.Ad // of its job
	tickets    int64       // of its job; negative: none

	waited bool       // other jobs wait for the end of the cluster, or mail may be due
	next   *spoolDesk // nil: none; has the lock of its claim
	task   supervise.Task
}

// successor returns the successor of an attempt that ended so, nil if there may be none. Only a job
// that ended by itself has one, and only until CLAIM_WORKLIFE is over or the supervisor is to end.
func (d *spoolDesk) successor(how pool.Ending, wanted bool, last func() bool) *successor {
	over := time.Since(d.since) >= d.config.ClaimWorklife
	if !wanted || over || how.Lost != "" || how.StartFailed != "" || how.OutputFailed != "" || how.NotStarted {
		return nil
	}
	return &successor{spoolDesk: d, last: last}
}

// look takes note of the claim before it ends.
func (n *successor) look(tx *spool.Tx, a pool.Attempt) {
	if n == nil {
		return
	}
	n.release() // of a transaction that was not committed
	n.ended = pool.Claim{}
	if claim, ok := tx.Claim(a.Job); ok && claim.Attempt == a.Number {
		n.ended = claim
		n.ad, _ = tx.Job(a.Job)
		n.tickets = lifecycle.TicketsOf(n.ad)
	}
}

// enter makes the next job's attempt run in the slot when the attempt before has ended. The charge begins
// now, and not before the wait for the spool's lock. The lock of the claim is taken before the
// transaction is committed. Without a successor, enter changes nothing.
func (n *successor) enter(tx *spool.Tx) error {
	if n == nil || n.ad == nil || n.last() {
		return nil
	}
	now := n.call.Later().Now
	claim, found := lifecycle.Successor(tx, n.ended, n.ad, n.spool.Domain(), now, n.params)
	if !found {
		return nil
	}
	next := n.desk(pool.Attempt{Job: claim.Job, Number: claim.Attempt})
	var err error
	if !tx.Forked {
		if next.lock, err = lockClaim(n.spool.ClaimLock(claim.LockName())); err != nil {
			n.complain(err)
			return nil
		}
		n.next, n.waited = next, lifecycle.Awaited(&tx.View, n.ended.Job.Cluster)
	}
	lifecycle.Succeed(tx, claim, n.tickets, now, n.params)
	if n.task, err = next.enter(tx, now); err == nil {
		tx.Op("finish, start", n.ended.Job.String(), claim.Job.String())
	}
	return err
}

// taken returns the attempt that has begun, once that is committed.
func (n *successor) taken() (supervise.Desk, supervise.Task) {
	if n == nil || n.next == nil {
		return nil, supervise.Task{}
	}
	return n.next, n.task
}

// release lets go of an attempt whose beginning was not committed.
func (n *successor) release() {
	if n == nil || n.next == nil {
		return
	}
	if n.next.on != nil {
		n.complain(n.next.on.Close())
	}
	n.next.lock.remove()
	n.next = nil
}

// resourcesOf returns usage, request and allotment of each resource of a job: cores, disk,
// memory, and other divisible resources of the slot that the job asked for. An unknown slot, nil, has
// none.
func resourcesOf(ad, slot *classad.Ad, how pool.Ending) []userlog.Resource {
	p := how.Total()
	rows := []userlog.Resource{
		resource("Cpus", "Cpus", ad, slot), resource("Disk", "Disk (KB)", ad, slot), resource("Memory", "Memory (MB)", ad, slot),
	}
	if p.Wall > 0 {
		rows[0].Usage = number((p.UserCPU + p.SysCPU).Seconds() / p.Wall.Seconds())
	}
	if p.DiskKB > 0 {
		rows[1].Usage = strconv.FormatInt(p.DiskKB, 10)
	}
	if p.PeakKB > 0 {
		rows[2].Usage = strconv.FormatInt((p.PeakKB+1023)/1024, 10)
	}
	for _, name := range divisible(slot) {
		if r := resource(name, name, ad, slot); r.Request != "" {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b userlog.Resource) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// divisible returns a slot's divisible resources but for cores, disk and memory.
func divisible(slot *classad.Ad) (names []string) {
	if slot == nil {
		return nil
	}
	text, _ := slot.EvalString(&classad.Context{}, pool.AttrMachineResources)
	for _, name := range strings.Fields(text) {
		known := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc([]string{"Cpus", "Disk", "Memory", "Swap"}, known) && !slices.ContainsFunc(names, known) {
			names = append(names, name)
		}
	}
	return names
}

// resource returns the row of a resource without its usage.
func resource(name, title string, ad, slot *classad.Ad) userlog.Resource {
	c := &classad.Context{}
	r := userlog.Resource{Name: title}
	if x, ok := ad.EvalNumber(c, "Request"+name); ok {
		r.Request = number(x)
	}
	if slot == nil {
		return r
	}
	if x, ok := slot.EvalNumber(c, name); ok {
		r.Allocated = number(x)
	}
	if text, ok := slot.EvalString(c, "Assigned"+name); ok {
		r.Assigned = strconv.Quote(text)
	}
	return r
}

// number writes a number with two places at most.
func number(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

// executing returns the event of a job that is executed in a claim's slot.
func executing(tx *spool.Tx, ad, slot *classad.Ad, claim pool.Claim, scratch string) userlog.Executing {
	x := userlog.Executing{Host: claim.Machine, Slot: claim.Slot}
	names := append([]string{"Cpus", "Disk", "Memory"}, divisible(slot)...)
	wanted, _ := ad.EvalString(&classad.Context{}, attrULogExecuteEventAttrs)
	names = append(names, strings.FieldsFunc(wanted, func(r rune) bool { return r == ',' || r == ' ' })...)
	if scratch != "" {
		x.Ad = []string{"CondorScratchDir = " + classad.String(scratch).String()}
	}
	seen := map[string]bool{}
	names = slices.DeleteFunc(names, func(name string) bool {
		before := seen[strings.ToLower(name)]
		seen[strings.ToLower(name)] = true
		return slot == nil || before || !slot.Has(name)
	})
	for i, v := range lifecycle.Values(tx, slot, ad, names...) {
		x.Ad = append(x.Ad, names[i]+" = "+v.String())
	}
	slices.Sort(x.Ad)
	return x
}

// attrULogExecuteEventAttrs are the attributes of its slot that a job wants in its log.
const attrULogExecuteEventAttrs = "ULogExecuteEventAttrs"

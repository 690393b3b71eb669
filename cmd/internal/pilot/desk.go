package pilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"fairspool/cmd/internal/claimlock"
	"fairspool/cmd/internal/desk"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/launch/local"
	"fairspool/lib/lifecycle"
	"fairspool/lib/link"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
)

// Desks is what the desks of one supervisor on the pilot's machine share.
type Desks struct {
	State
	Settings
	Clock   func() time.Time // the pool's time
	Machine local.Settings
	// Reached is called at each step; tests have the process end there.
	Reached func(supervise.Step)
	since   time.Duration // when the supervisor began, by the time since the boot
	asker   *asker
	term    *Term         // of the pilot; nil: it has none
	by      time.Duration // when nothing of the job may be left, by the time since the boot; 0: that is not known
}

// NewDesks returns the desks of a supervisor that begins now, with the settings that the spool's host gave the pilot.
// Machine returns the settings of this machine for a folder of scratch directories and a prefix of families.
func NewDesks(s State, machine func(folder local.Folder, prefix string) local.Settings, execute string, reached func(supervise.Step)) (*Desks, error) {
	n := &Desks{State: s, Machine: machine(s.Folder(execute), s.Prefix()), Reached: reached, since: Uptime(), asker: &asker{State: s}}
	var err error
	n.Settings, n.Clock, err = s.Settings()
	if err == nil {
		n.term, err = s.term()
	}
	if n.term != nil {
		n.by = n.term.By
	}
	return n, err
}

// HasTerm reports whether a batch engine runs the pilot.
func (n *Desks) HasTerm() bool { return n.term != nil }

// Signalled returns why the job has to leave when the engine has sent its supervisor a signal, and by when nothing of it
// may be left.
func (n *Desks) Signalled(sig os.Signal) (pool.Reason, time.Time) {
	n.bound(n.term.warned())
	return pool.PilotLeaves(n.Pilot, n.term.sent(sig)), n.until()
}

// bound notes when nothing of the job may be left, by the time since the boot.
func (n *Desks) bound(by time.Duration) {
	if n.by == 0 || by < n.by {
		n.by = by
	}
}

// until returns when nothing of the job may be left, by the clock of the process; zero: that is not known.
func (n *Desks) until() time.Time {
	if n.by == 0 {
		return time.Time{}
	}
	return time.Now().Add(n.by - Uptime())
}

// Lock returns the desk of an attempt, with the lock of its file; claimlock.ErrBusy: another process has that.
func (n *Desks) Lock(a pool.Attempt) (*Desk, error) {
	lock, err := claimlock.Open(n.ClaimFile(a))
	if err != nil {
		return nil, err
	}
	if err := n.mark(lock.File); err != nil {
		lock.Remove()
		return nil, err
	}
	n.Reached(desk.Locked)
	return &Desk{Desks: n, Attempt: a, lock: lock}, nil
}

// Desk is the desk of an attempt with queue, job log and submitter's files on another machine. It is a
// supervise.Desk.
type Desk struct {
	*Desks
	pool.Attempt
	lock  *claimlock.Lock
	claim *follower

	task  supervise.Task
	apart bool // its files are on the other machine, too

	heard    atomic.Int64  // when a heartbeat was sent that was answered, as was read last: a time.Duration
	edits    int           // of the job's policy, as were heeded
	reported pool.Progress // and recorded
	told     int           // number of the last report that is recorded
	pending  *desk.Telling // a report that may be recorded, or not
	logged   int64         // the size that the log was told of, in KB
	executed time.Time     // when the program was executed, by the pool's time
	soon     *time.Timer   // logs that the program is executed
	logging  chan struct{} // closed when it knows; nil: there is nothing to tell
	gone     bool          // Finish found that the claim is
	// abandoned: its end waits on the machine's disk, and the supervisor for nothing.
	abandoned bool
}

// beginTime is how long a supervisor tries to begin: a match that is not taken up is given up soon.
const beginTime = time.Minute

// Begin begins the attempt; the desk has its lock.
func (d *Desk) Begin() (supervise.Task, error) {
	end := time.Now().Add(beginTime)
	r := Request{Do: Begin, Attempt: d.Attempt, PID: os.Getpid(), Scratch: d.Machine.Folder.Path}
	a, err := d.asker.insist(r, func() error {
		if time.Now().After(end) {
			return errDown
		}
		return nil
	})
	if err == nil {
		err = a.err()
	}
	if err == nil && a.Begun == nil {
		err = errors.New("the spool's host does not say what the attempt is to do")
	}
	if err != nil {
		d.lock.Remove()
		return supervise.Task{}, err
	}
	d.enter(a.Begun)
	return d.task, nil
}

// enter prepares the attempt.
func (d *Desk) enter(b *desk.Beginning) {
	d.on()
	d.Reached(desk.Begun)
	d.apart = b.Apart
	d.heard.Store(int64(d.Heard()))
	d.task = supervise.Task{
		Attempt: d.Attempt, On: d.on(), Wrong: b.Wrong.Err(), Limits: b.Limits, At: b.At, Missed: b.Missed,
	}
	slot, err := parse(b.SlotAd)
	if err == nil {
		d.task.Ad, err = parse(b.Ad)
	}
	if err == nil && d.task.Wrong == nil && d.task.Ad != nil {
		d.task.Run, err = d.job(b, slot)
		d.task.Run.Input = b.Input
	}
	if err != nil && d.task.Wrong == nil {
		d.task.Wrong = err
	}
	ad := d.task.Ad
	if ad == nil {
		ad = classad.New()
	}
	d.task.On.(*local.Machine).Prepare(ad, slot)
}

func (d *Desk) on() *local.Machine {
	if m, ok := d.task.On.(*local.Machine); ok {
		return m
	}
	return local.New(d.Machine, d.Attempt, d.lock.Pipe, d.Tell)
}

// parse reads an ad in the long form; nil for none.
func parse(text string) (*classad.Ad, error) {
	if text == "" {
		return nil, nil
	}
	return classad.NewReader(strings.NewReader(text), "the spool's host").Next()
}

// job returns the job to run here.
func (d *Desk) job(b *desk.Beginning, slot *classad.Ad) (launch.Job, error) {
	owner, _ := d.task.Ad.EvalString(&classad.Context{}, pool.AttrOwner)
	account, err := launch.AccountOf(owner, d.NobodySlotUser)
	if err != nil {
		return launch.Job{}, err
	}
	if os.Geteuid() == 0 && account.UID < d.MinUID {
		return launch.Job{}, &launch.StartError{Reason: fmt.Sprintf("owner %s: on the pool's other machines root runs no jobs of uids below MIN_UID = %d", account.Name, d.MinUID)}
	}
	folder := d.Machine.Folder
	place := launch.Place{Slot: b.Slot, SlotAd: slot, Scratch: folder.Scratch(d.Attempt), Kept: folder.Kept(d.Job), Apart: b.Apart}
	if b.Apart {
		place.Kept = b.Kept // only named here
	}
	job, err := launch.FromAd(d.task.Ad, place, account)
	if err == nil && b.Apart {
		job = job.There()
	}
	return job, err
}

func (d *Desk) Await() {
	if d.Number > 1 {
		d.asker.insist(Request{Do: Await, Attempt: d.Attempt}, d.unlessLost)
	}
}

// unlessLost is an error if the attempt is no longer the supervisor's.
func (d *Desk) unlessLost() error {
	if d.Lost() != supervise.None || d.expired() {
		return pool.ErrGone
	}
	return nil
}

// Inputs has the files come over the link if they are not here.
func (d *Desk) Inputs(ctx context.Context, job launch.Job) (placed launch.Placed, err error) {
	if !d.apart || job.Transfer == nil {
		return job.Place(ctx)
	}
	err = d.carry(ctx, Request{Do: Inputs, Attempt: d.Attempt}, nil, func(r io.Reader) (err error) {
		placed, err = job.Receive(ctx, r)
		return err
	})
	return placed, err
}

// Outputs has the files go over the link if they do not belong here.
func (d *Desk) Outputs(ctx context.Context, job launch.Job, placed launch.Placed, of launch.Files) error {
	if d.apart {
		return d.carry(ctx, Request{Do: Outputs, Attempt: d.Attempt, Files: of}, func(w io.Writer) error {
			return job.SendBack(ctx, w, placed, of)
		}, nil)
	}
	switch of {
	case launch.Checkpoint:
		return job.Transfer.Checkpoint(ctx)
	case launch.Rest:
		return job.Transfer.Keep()
	}
	return job.Transfer.Store(ctx, placed)
}

// carry makes a request with files until they have gone over a link as a whole, or an end of it says why they cannot.
func (d *Desk) carry(ctx context.Context, r Request, send func(io.Writer) error, receive func(io.Reader) error) error {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		watched := &watchedPipe{}
		a, err := d.State.carry(ctx, r, watched.sends(send), watched.receives(receive))
		if answer := a.err(); answer != nil {
			return answer
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ended := fromBody(err); ended != nil {
			return ended
		}
		if watched.files != nil {
			return watched.files
		}
		if err := d.unlessLost(); err != nil {
			return err
		}
		time.Sleep(wait)
	}
}

// fromBody returns the error with which the other end broke off a body; nil: it did not.
func fromBody(err error) error {
	var b *link.BodyError
	if !errors.As(err, &b) {
		return nil
	}
	var f desk.Failure
	if json.Unmarshal([]byte(b.Why), &f) != nil {
		return b
	}
	return f.Err()
}

// watchedPipe tells what goes wrong with files here from what goes wrong with the link.
type watchedPipe struct {
	broken bool
	files  error
}

// note records the result of reading or writing files here.
func (p *watchedPipe) note(err error) error {
	if !p.broken {
		p.files = err
	}
	return err
}

func (p *watchedPipe) sends(send func(io.Writer) error) func(io.Writer) error {
	if send == nil {
		return nil
	}
	return func(w io.Writer) error {
		return p.note(send(writer(func(b []byte) (int, error) {
			n, err := w.Write(b)
			p.broken = p.broken || err != nil
			return n, err
		})))
	}
}

func (p *watchedPipe) receives(receive func(io.Reader) error) func(io.Reader) error {
	if receive == nil {
		return nil
	}
	return func(r io.Reader) error {
		return p.note(receive(reader(func(b []byte) (int, error) {
			n, err := r.Read(b)
			p.broken = p.broken || err != nil && err != io.EOF
			return n, err
		})))
	}
}

type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

type reader func(b []byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// Executing has the job's log record the execution, concurrently with the job, but before any other event. If the job
// ends before that, Finish records both.
func (d *Desk) Executing(fetched time.Duration) {
	d.executed = d.Clock()
	logging := make(chan struct{})
	d.logging = logging
	d.soon = time.AfterFunc(logAfter, func() {
		defer close(logging)
		d.asker.insist(Request{Do: Executing, Attempt: d.Attempt, Executed: d.executed, Fetched: fetched}, d.unlessLost)
	})
}

// logAfter is how long after its beginning a job's execution is logged.
const logAfter = 100 * time.Millisecond

// logKnows reports whether the log knows that the program is executed. If not, it is being told.
func (d *Desk) logKnows() bool {
	if d.logging == nil {
		return true
	}
	select {
	case <-d.logging:
		d.logging = nil
		return true
	default:
		return false
	}
}

// awaitLog waits until the log knows that the program is executed. It has that logged at once, unless the request that
// follows can include it: then awaitLog returns true.
func (d *Desk) awaitLog(follows bool) (tell bool) {
	if d.logging == nil {
		return false
	}
	if d.soon.Stop() {
		if follows {
			d.logging = nil
			return true
		}
		d.soon.Reset(0)
	}
	<-d.logging
	d.logging = nil
	return false
}

// Heed returns the last word about the claim, by the pilot or by what the desk sees
// itself.
func (d *Desk) Heed() (w supervise.Word) {
	if d.lock.Gone() {
		return supervise.Word{Leaves: true, Gone: true, Why: pool.Reason{Text: "the lock of its claim is gone"}}
	}
	if d.expired() {
		return supervise.Word{Leaves: true, Gone: true, Why: pool.Reason{Text: fmt.Sprintf("its machine has not been heard of for %v", d.Lease)}}
	}
	c, without := d.following().look()
	if c.Leave != "" {
		d.bound(c.By)
	}
	switch {
	case c.Gone:
		return supervise.Word{Leaves: true, Gone: true, Why: pool.Reason{Text: "its claim is gone"}}
	case c.State == pool.Vacating:
		w = supervise.Word{Leaves: true, Why: c.Why, Fast: c.Fast}
	case c.Leave != "":
		w = supervise.Word{Leaves: true, Why: pool.PilotLeaves(d.Pilot, c.Leave)}
	case d.term != nil && without > orphanTime:
		d.bound(d.term.warned())
		w = supervise.Word{Leaves: true, Why: pool.PilotLeaves(d.Pilot, d.term.Engine+" has ended it")}
	}
	if w.Until = d.until(); c.Edits != 0 {
		w.Changed = d.edits != 0 && c.Edits != d.edits
		d.edits = c.Edits
	}
	return w
}

// following returns what the pilot knows of the claim. Jobs that are over soon never ask.
func (d *Desk) following() *follower {
	if d.claim == nil {
		d.claim = d.follow(d.Attempt)
	}
	return d.claim
}

// isAbandoned reports whether the attempt has to be left to others: its claim's lock was removed, or the pilot is gone for
// ever. Then its engine gives the machine to others, and the spool's host gives the attempt up when its lease is over.
func (d *Desk) isAbandoned() bool {
	d.abandoned = d.abandoned || d.lock.Gone()
	if d.term == nil || d.abandoned {
		return d.abandoned
	}
	_, without := d.following().look()
	d.abandoned = without > abandonTime
	return d.abandoned
}

func (d *Desk) unlessAbandoned() error {
	if d.isAbandoned() {
		return pool.ErrGone
	}
	return nil
}

// expired reports whether the lease is over.
func (d *Desk) expired() bool {
	now, heard := Uptime(), time.Duration(d.heard.Load())
	if d.Lease <= 0 || now-heard < d.Lease/2 {
		return false
	}
	if last := d.Heard(); last <= now {
		heard = max(heard, last)
		d.heard.Store(int64(heard))
	}
	return now-heard >= d.Lease
}

func (d *Desk) Lost() supervise.Loss {
	if d.lock.Gone() {
		return supervise.OfClaim
	}
	return supervise.None
}

// Terms asks the spool's host, and without an answer uses the ad as it was at the
// beginning.
func (d *Desk) Terms(why pool.Reason) (supervise.Terms, error) {
	t := supervise.Terms{Ad: d.task.Ad, Leaving: launch.Vacated, Fast: lifecycle.HasteOf(why) == lifecycle.Fast}
	a, err := d.asker.ask(Request{Do: Terms, Attempt: d.Attempt, Why: why})
	if err != nil || a.Failed != nil || a.Leave == nil {
		return t, nil
	}
	ad, err := parse(a.Leave.Ad)
	return supervise.Terms{Ad: ad, Leaving: a.Leave.Leaving, Retirement: a.Leave.Retirement, Fast: a.Leave.Fast}, err
}

func (d *Desk) Judge(found jobpolicy.Verdict, used supervise.Spent) (*supervise.Rules, error) {
	a, err := d.asker.ask(Request{Do: Judge, Attempt: d.Attempt, Found: found, Used: &used, Reported: &d.reported})
	if errors.Is(err, errDown) && found.Action == jobpolicy.Stay {
		return nil, nil // it is asked again, and its limits are known here
	}
	if err == nil && !a.Gone {
		err = a.Failed.Err()
	}
	if err != nil && a.NoRoom {
		err = supervise.NoRoom{Err: err}
	}
	return a.Rules, err
}

// Report leaves the progress to the next report while the log cannot take it yet.
func (d *Desk) Report(p pool.Progress) error {
	if !d.logKnows() {
		return nil
	}
	return d.tell(desk.Telling{Now: p})
}

func (d *Desk) Checkpointed(p pool.Progress, bytes int64) error {
	d.awaitLog(false)
	return d.tell(desk.Telling{Now: p, Restarts: true, Sent: bytes})
}

// tell has a report recorded, behind the one that may not be yet. Without a link that is left to the next one.
func (d *Desk) tell(t desk.Telling) error {
	if recorded, err := d.flush(d.asker.ask); !recorded || err != nil {
		return err
	}
	t.Number, t.Before, t.Logged = d.told+1, d.reported, d.logged
	d.pending = &t
	_, err := d.flush(d.asker.ask)
	return err
}

// flush has the report recorded that may not be yet; false: that was not answered.
func (d *Desk) flush(ask func(Request) (Answer, error)) (recorded bool, err error) {
	if d.pending == nil {
		return true, nil
	}
	a, err := ask(Request{Do: Report, Attempt: d.Attempt, Telling: d.pending})
	if err != nil {
		return false, nil
	}
	if err := a.err(); err != nil {
		return false, err
	}
	d.told, d.reported = d.pending.Number, d.pending.Now.After(d.reported)
	d.logged = max(d.logged, d.reported.PeakKB)
	d.pending = nil
	return true, nil
}

// Finish tries until there is an answer.
func (d *Desk) Finish(how pool.Ending, at time.Time, last func() bool) (supervise.Desk, supervise.Task, error) {
	over := Uptime()
	if !at.IsZero() {
		over -= time.Since(at)
	}
	unlogged := d.awaitLog(true)
	insist := func(r Request) (Answer, error) { return d.asker.insist(r, d.unlessAbandoned) }
	for wait := firstWait; d.pending != nil; wait = min(2*wait, lastWait) {
		_, err := d.flush(insist)
		if errors.Is(err, pool.ErrGone) || d.isAbandoned() {
			break
		}
		if err != nil {
			d.Tell(fmt.Errorf("its usage is not recorded yet: %w", err))
			time.Sleep(wait)
		}
	}
	how.Reported = d.reported
	request := func() Request {
		worked := d.Worklife > 0 && Uptime()-d.since >= d.Worklife
		r := Request{Do: Finish, Attempt: d.Attempt, PID: os.Getpid(), Scratch: d.Machine.Folder.Path, How: &how, Ago: Uptime() - over, Last: worked || last()}
		if unlogged {
			r.Executed = d.executed
		}
		return r
	}
	a, err := d.asker.ask(request())
	for wait := firstWait; err != nil || a.Failed != nil; wait = min(2*wait, lastWait) {
		if wait == firstWait { // from now on another process can record it, if this one dies
			d.complain(d.putEnd(d.Attempt, request()))
		}
		if d.isAbandoned() {
			return nil, supervise.Task{}, pool.ErrGone
		}
		time.Sleep(wait)
		if a.Failed != nil {
			d.Tell(fmt.Errorf("its end is not recorded yet: %w", a.Failed.Err()))
		}
		a, err = d.asker.ask(request())
	}
	d.forgetEnd(d.Attempt)
	if d.gone = a.Gone; a.Gone {
		return nil, supervise.Task{}, pool.ErrGone
	}
	d.Reached(desk.Finished)
	if a.Begun == nil {
		return nil, supervise.Task{}, nil
	}
	next, err := d.Desks.Lock(a.Begun.Attempt)
	if errors.Is(err, claimlock.ErrBusy) { // the pilot had it started
		return nil, supervise.Task{}, nil
	}
	if err != nil {
		return nil, supervise.Task{}, err
	}
	next.enter(a.Begun)
	return next, next.task, nil
}

// Close frees the lock.
func (d *Desk) Close() {
	if d.claim != nil {
		d.claim.close()
	}
	if d.abandoned {
		d.lock.Close()
		return
	}
	d.lock.Remove()
	d.Reached(desk.Unlocked)
}

func (d *Desk) complain(err error) {
	if err != nil {
		d.Tell(err)
	}
}

// Tell writes to the log of the state folder, and has the spool's host write to the pool's.
func (d *Desk) Tell(err error) {
	text := clean.Line(strings.ReplaceAll(err.Error(), "\n", `\n`))
	d.log(fmt.Sprintf("job %v, attempt %d: %s", d.Job, d.Number, text))
	go d.asker.ask(Request{Do: Tell, Attempt: d.Attempt, Text: text})
}

// log appends a line to the log of the state folder.
func (s State) log(line string) {
	f, err := os.OpenFile(s.path("log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s\n", time.Now().UTC().Format(time.RFC3339), line)
}

// Write is Tell for a line.
func (d *Desk) Write(line []byte) (int, error) {
	d.Tell(errors.New(strings.TrimSpace(string(line))))
	return len(line), nil
}

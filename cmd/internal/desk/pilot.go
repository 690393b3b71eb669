package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"fairspool/cmd/internal/claimlock"
	"fairspool/cmd/internal/joblog"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/lib/userlog"
	"fairspool/spool"
	"fairspool/spool/carried"
)

// Pilot is the desk of all attempts on the machine of a pilot: their dealings with the queue, the logs and the
// submitters' files, all of which are on this machine. It keeps nothing of an attempt from one request to the
// next, so that another process can go on. One goroutine at a time may call its methods, except Files.
// pool.ErrGone is the answer about a claim that is not the pilot's.
type Pilot struct {
	*Desks
	Machine  string
	Instance string
	executes map[pool.Attempt]userlog.Executing // for the logs, of attempts that have begun
	hooked   map[pool.Attempt]bool              // attempts whose commands for the beginning were run
}

// Pilot returns the desk of a pilot's attempts.
func (n *Desks) Pilot(machine, instance string) *Pilot {
	return &Pilot{n, machine, instance, map[pool.Attempt]userlog.Executing{}, map[pool.Attempt]bool{}}
}

// Beginning is an attempt that has begun on another machine.
type Beginning struct {
	Attempt pool.Attempt
	Slot    string // its name
	// SlotAd is the slot's ad, and Ad the job's without references to the slot, both in the long form. Ad may be
	// missing if Wrong is set.
	SlotAd, Ad string
	Wrong      *Failure
	Input      string // of the job; empty: its file
	// Apart: the files that the job names are not on that machine. Kept is then the folder on this machine that keeps
	// what the job leaves.
	Apart  bool
	Kept   string
	Limits []jobpolicy.Limit
	At     time.Time // when the job is to be executed; zero: at once
	Missed jobpolicy.Verdict
}

// Failure is an error as it travels.
type Failure struct {
	Reason        string
	Code, Subcode int  // of a *launch.StartError
	Passing       bool // it may be over soon
	Start         bool // it is a *launch.StartError
}

// FailureOf returns what tells of an error at the other end; nil for nil.
func FailureOf(err error) *Failure {
	var s *launch.StartError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &s):
		return &Failure{s.Reason, s.Code, s.Subcode, s.Passing, true}
	}
	return &Failure{Reason: err.Error()}
}

// Err returns the error; nil for nil.
func (f *Failure) Err() error {
	switch {
	case f == nil:
		return nil
	case f.Start:
		return &launch.StartError{Reason: f.Reason, Code: f.Code, Subcode: f.Subcode, Passing: f.Passing}
	}
	return errors.New(f.Reason)
}

// desk returns the desk of an attempt on the pilot's machine.
func (p *Pilot) desk(a pool.Attempt) *Desk {
	d := p.Desks.desk(a)
	d.pilot = p
	return d
}

// There is where an attempt runs on the pilot's machine.
type There struct {
	PID    int    // the supervisor's process id
	Folder string // of the scratch directories
}

// Begin records that an attempt runs. One that the pilot has begun already has begun.
func (p *Pilot) Begin(a pool.Attempt, at There) (Beginning, error) {
	d := p.desk(a)
	d.there = at
	if err := d.begin(); err != nil {
		return Beginning{}, err
	}
	p.Reached(Begun)
	return p.begun(d), nil
}

// wrong returns why a job of an owner for whom nothing would run on this machine does not run on the pilot's
// either, or what else keeps it from running.
func (p *Pilot) wrong(b begun) error {
	if b.wrong != nil || b.ad == nil {
		return b.wrong
	}
	owner, _ := b.ad.EvalString(&classad.Context{}, pool.AttrOwner)
	_, err := p.accountOf(owner)
	return err
}

// begun returns the Beginning of an attempt, for the pilot.
func (p *Pilot) begun(d *Desk) Beginning {
	b := Beginning{
		Attempt: d.Attempt, Slot: d.begun.claim.Slot, Wrong: FailureOf(p.wrong(d.begun)), Limits: d.begun.limits,
		At: d.begun.at, Missed: d.begun.missed, Apart: p.apart(d.begun.slot),
	}
	if d.begun.slot != nil {
		b.SlotAd = string(d.begun.slot.AppendLong(nil))
	}
	if b.Apart {
		b.Kept = p.machine.Folder.Kept(d.Job)
	}
	if ad := d.begun.expanded; ad != nil {
		b.Ad = string(ad.AppendLong(nil))
	} else if d.begun.ad != nil {
		b.Ad = string(d.begun.ad.AppendLong(nil))
	}
	if d.joblog.Wanted() {
		p.executes[d.Attempt] = d.executing
	}
	return b
}

// apart reports whether the machine of a slot sees other files than this one.
func (p *Pilot) apart(slot *classad.Ad) bool {
	host, err := p.Host()
	if slot == nil || err != nil {
		return true
	}
	domain, _ := slot.EvalString(&classad.Context{}, pool.AttrFileSystemDomain)
	return !strings.EqualFold(domain, host)
}

// Await waits until the log of an attempt's job has the ends of earlier attempts. It may take long, and may run
// concurrently with all other methods.
func (p *Pilot) Await(a pool.Attempt) {
	log := p.LogOf(a)
	joblog.Await(p.Spool, p.Config.NobodySlotUser, func(format string, args ...any) { log.Add(fmt.Errorf(format, args...)) }, a.Job, a.Number)
}

// Executing tells the job's log that the program of an attempt was executed then, by the pool's time, and for how long the image of its
// container was fetched. Again: the log may know.
func (p *Pilot) Executing(a pool.Attempt, at time.Time, fetched time.Duration, again bool) error {
	var log joblog.Log
	var claim pool.Claim
	err := p.Spool.View(func(v *spool.View) error {
		c, ok := v.Claim(a.Job)
		if ad, there := v.Job(a.Job); ok && there && p.has(c, a) {
			log, claim = joblog.Of(nil, ad, p.operator()), c
			return nil
		}
		return pool.ErrGone
	})
	if err != nil {
		return err
	}
	event := userlog.Event{Job: a.Job, At: within(at, claim.StartedAt, p.Now().Now).Local(), Body: withFetched(p.executingOf(claim), fetched)}
	if !p.hooked[a] {
		p.hooked[a] = log.Wanted()
		p.hook(log, p.desk(a).log.Add, event)
	}
	if again {
		return log.AppendMissing(p.Config.NobodySlotUser, event)
	}
	p.logEvents(log, p.desk(a).log.Add, event)
	return nil
}

// executingOf returns the event of an attempt's beginning, for the log.
func (p *Pilot) executingOf(c pool.Claim) userlog.Executing {
	if body, known := p.executes[pool.Attempt{Job: c.Job, Number: c.Attempt}]; known {
		return body
	}
	return userlog.Executing{Host: c.Machine, Slot: c.Slot} // another process has begun it
}

// within returns a time that another machine names, or the bound that it is beyond.
func within(at, first, last time.Time) time.Time {
	if at.Before(first) {
		return first
	}
	if at.After(last) {
		return last
	}
	return at
}

// has reports whether a claim is of an attempt of the pilot's.
func (p *Pilot) has(c pool.Claim, a pool.Attempt) bool {
	return c.Attempt == a.Number && c.Instance == p.Instance
}

// Terms returns on which terms the job of an attempt leaves.
func (p *Pilot) Terms(a pool.Attempt, why pool.Reason) (supervise.Terms, error) {
	defer p.Spool.Close()
	return p.desk(a).Terms(why)
}

// Judge carries out a verdict, or what the job's policy wants after used, like the desk of an attempt here. Reported is
// what Report has recorded.
func (p *Pilot) Judge(a pool.Attempt, found jobpolicy.Verdict, used supervise.Spent, reported pool.Progress) (*supervise.Rules, error) {
	d := p.desk(a)
	d.reported = reported
	return d.Judge(found, used)
}

// Telling is the content of a report of an attempt.
type Telling struct {
	Number   int // of the attempt's reports, from 1
	Now      pool.Progress
	Before   pool.Progress // as the report before had it
	Logged   int64         // the largest size that the log was told of, in KB
	Restarts bool          // the job has left a checkpoint, and goes on
	Sent     int64         // how many bytes that has
}

// Report records what an attempt has used so far. A report that is recorded already changes nothing.
func (p *Pilot) Report(a pool.Attempt, t Telling) error {
	d := p.desk(a)
	d.reported, d.sizeKB = t.Before, t.Logged
	tell, event := telling(lifecycle.Report), userlog.Body(nil)
	if t.Restarts {
		tell = lifecycle.Checkpointed
		event = userlog.Checkpointed{Run: userlog.Usage{User: t.Now.UserCPU, System: t.Now.SysCPU}, Sent: t.Sent}
	}
	once := func(tx *spool.Tx, id pool.JobID, attempt int, now, before pool.Progress, at time.Time, params accountant.Params) error {
		c, _ := tx.Claim(id)
		if !p.has(c, a) {
			return pool.ErrGone
		}
		if c.Told >= t.Number {
			return errTold
		}
		if err := tell(tx, id, attempt, now, before, at, params); err != nil {
			return err
		}
		c, _ = tx.Claim(id)
		c.Told = t.Number
		tx.PutClaim(c)
		return nil
	}
	err := d.report(t.Now, once, event)
	if errors.Is(err, errTold) {
		return nil
	}
	return err
}

var errTold = errors.New("it is recorded already")

// Finish records how an attempt has ended, so long ago. Unless last says that the supervisor ends, the slot goes on with the attempt
// next; nil: with none.
func (p *Pilot) Finish(a pool.Attempt, at There, how pool.Ending, ago time.Duration, executed time.Time, last bool) (next *Beginning, err error) {
	d := p.desk(a)
	d.there = at
	var after *successor
	if !last {
		after = d.successor(how, true, func() bool { return false })
	}
	now := p.Now()
	e := end{how: how, at: now.Now.Add(-max(ago, 0)), now: now, instance: p.Instance}
	if !executed.IsZero() {
		e.executed, e.executing = executed, p.executingOf
	}
	if err = p.endThere(a, e, after); err != nil {
		after.release()
		return nil, err
	}
	delete(p.executes, a)
	delete(p.hooked, a)
	if after == nil || after.next == nil || after.waited {
		d.complain(p.changed())
	}
	if after == nil || after.next == nil {
		return nil, nil
	}
	b := p.begun(after.next)
	return &b, nil
}

// endThere records the end of an attempt on the pilot's machine.
func (p *Pilot) endThere(a pool.Attempt, e end, after *successor) error {
	log := p.LogOf(a)
	lock, err := claimlock.TakeCharge(p.Spool.ClaimLock(a.String()))
	if err != nil {
		return err
	}
	p.Spool.At(e.at)
	if err := p.finish(a, lock, e, log.Add, after); err != nil {
		lock.Leave() // the end may be recorded in spite of the error, and the log lack it
		return err
	}
	lock.Remove()
	return nil
}

// Files are what an attempt's job has copied from and to this machine.
type Files struct {
	job    launch.Job
	folder interface{ Make() error }
	note   func(carried.State) // how far they are
	forget func()
}

// Files returns the files of an attempt's job.
func (p *Pilot) Files(a pool.Attempt) (f Files, err error) {
	d := p.desk(a)
	defer p.Spool.Close()
	f.folder = p.machine.Folder
	dir := p.Spool.Dir()
	f.note = func(s carried.State) { carried.Note(dir, p.Machine, a, s) } // it is for qstat alone
	f.forget = func() { carried.Forget(dir, p.Machine, a) }
	err = p.Spool.View(func(v *spool.View) error {
		return v.Fork().Update(func(tx *spool.Tx) error {
			claim, _ := tx.Claim(a.Job)
			ad, there := tx.Job(a.Job)
			if !there || !p.has(claim, a) {
				return pool.ErrGone
			}
			starts, _ := ad.EvalInt(&classad.Context{}, pool.AttrNumJobStarts)
			ad = classad.New().Chain(ad)
			ad.SetInt(pool.AttrNumJobStarts, max(starts-1, 0)) // as it was when the attempt began
			slot := lifecycle.SlotOf(&tx.View, claim)
			expanded, _, err := launch.Expand(ad, slot, func(e *classad.Expr) classad.Value { return lifecycle.Value(tx, e, ad, slot) })
			if err != nil {
				return err
			}
			folder := p.machine.Folder
			f.job, err = d.job(expanded, launch.Place{
				Slot: claim.Slot, SlotAd: slot, Scratch: folder.Scratch(a), Kept: folder.Kept(a.Job), Apart: true,
			})
			return err
		})
	})
	return f, err
}

// Send writes the input files. It may run concurrently with all other methods.
func (f Files) Send(ctx context.Context, w io.Writer) error {
	defer f.forget()
	return f.job.Send(ctx, &counted{Files: f, w: w, last: time.Now()})
}

// counted counts the bytes carried, and notes them each noteEvery.
type counted struct {
	Files
	w     io.Writer
	r     io.Reader
	state carried.State
	last  time.Time
}

const noteEvery = time.Second

func (c *counted) add(n int) {
	c.state.Bytes += int64(n)
	if now := time.Now(); now.Sub(c.last) >= noteEvery {
		c.last = now
		c.note(c.state)
	}
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.add(n)
	return n, err
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.add(n)
	return n, err
}

// TakeBack reads what the job has left, and puts it where it belongs. It may run concurrently with all
// other methods.
func (f Files) TakeBack(ctx context.Context, r io.Reader, of launch.Files) error {
	if err := f.folder.Make(); err != nil {
		return err
	}
	defer f.forget()
	return f.job.TakeBack(ctx, &counted{Files: f, r: r, state: carried.State{Back: true}, last: time.Now()}, of)
}

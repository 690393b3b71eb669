package desk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fairspool/cmd/internal/claimlock"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/trouble"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/launch/local"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// Settings are what the desks of a supervisor need.
type Settings struct {
	Spool  *spool.Spool
	Config *config.Config
	Now    func() accountant.Reading // the policy time
	Host   func() (string, error)    // what claims call this machine
	// Cycles starts a cycle now and then, and for changes that have none; nil: none are started.
	Cycles *onchange.Watch
	// GoneLooks is how many looks in a row have to find the spool gone before that counts, so that
	// a folder that is renamed and put back ends no job. It counts looks, as time also passes while
	// a file system does not answer or the machine is suspended. Between two looks it is LookEvery.
	GoneLooks int
	LookEvery time.Duration
	// Reached is called at each step; tests have the process end there.
	Reached func(supervise.Step)
}

// Desks is what the desks of one supervisor share.
type Desks struct {
	Settings
	params  accountant.Params
	cycle   negotiator.Config // Params and weights of slots, for successors
	machine local.Settings
	// retirement is MAXJOBRETIREMENTTIME.
	retirement *classad.Expr
	since      time.Time                 // when the supervisor began, in process time
	answers    lifecycle.Answers         // of the ends of its attempts
	accounts   map[string]launch.Account // of owners: looking one up may take a question to another machine
	missing    int                       // looks in a row that found the spool gone
}

// New returns the desks of a supervisor that begins now.
func New(s Settings) (*Desks, error) {
	n := &Desks{Settings: s, params: s.Config.Params, machine: Machine(s.Config, folderOf(s.Config, s.Spool), Prefix(s.Spool)), since: time.Now(), accounts: map[string]launch.Account{}}
	n.cycle = s.Config.Cycle
	n.cycle.Params = n.params
	var err error
	if n.cycle.SlotWeight, err = s.Config.Expr("SLOT_WEIGHT"); err == nil {
		n.retirement, err = s.Config.Expr("MAXJOBRETIREMENTTIME")
	}
	return n, err
}

// Lock returns the desk of an attempt, with the lock of its claim; claimlock.ErrBusy: another process has that.
func (n *Desks) Lock(a pool.Attempt) (*Desk, error) {
	d := n.desk(a)
	if err := d.lockHere(); err != nil {
		return nil, err
	}
	n.Reached(Locked)
	return d, nil
}

// lockHere takes the lock of the claim of an attempt that runs on this machine.
func (d *Desk) lockHere() (err error) {
	if d.pilot == nil {
		d.lock, err = claimlock.Open(d.Spool.ClaimLock(d.Attempt.String()))
	}
	return err
}

// Desk is the desk of an attempt in a spool on the same machine. It is a supervise.Desk.
type Desk struct {
	*Desks
	pool.Attempt
	log  *trouble.Log
	lock *claimlock.Lock // nil: a fork's, or another machine's
	on   *local.Machine  // nil before the beginning, and for an attempt on another machine
	// pilot is the pilot of the machine where the attempt runs; nil: the attempt runs
	// here.
	pilot *Pilot
	there There // where it runs, on whichever machine
	begun begun
	task  supervise.Task

	joblog    joblog.Log
	executing userlog.Executing // for the log's event when the program is executed
	known     *classad.Ad       // the policy attributes of the job's ad when the attempt begins
	followed  *spool.Watch      // nil: not yet
	reported  pool.Progress
	sizeKB    int64     // as it was logged last
	signed    time.Time // of the last sign of life
	forgot    time.Time // when the queue was last forgotten
	gone      bool      // Finish found that the claim is
}

// desk returns the desk of an attempt.
func (n *Desks) desk(a pool.Attempt) *Desk {
	now := time.Now()
	return &Desk{Desks: n, Attempt: a, log: n.LogOf(a), signed: now, forgot: now}
}

// LogOf returns the log of an attempt's supervisor: starter.log in the spool.
func (n *Desks) LogOf(a pool.Attempt) *trouble.Log {
	return &trouble.Log{
		Path: filepath.Join(n.Spool.Dir(), "starter.log"), About: fmt.Sprintf("job %v, attempt %d", a.Job, a.Number),
	}
}

// Log returns where the supervisor of the attempt complains.
func (d *Desk) Log() *trouble.Log { return d.log }

func (d *Desk) Tell(err error) { d.log.Add(err) }

func (d *Desk) complain(err error) {
	if err != nil {
		d.log.Add(err)
	}
}

// tell writes a line to the log.
func (d *Desk) tell(format string, args ...any) { d.log.Add(fmt.Errorf(format, args...)) }

// Begin begins the attempt. The desk has the lock of its claim.
func (d *Desk) Begin() (supervise.Task, error) {
	if err := d.begin(); err != nil {
		d.lock.Remove()
		return d.task, err
	}
	d.Reached(Begun)
	return d.task, nil
}

// begin commits that the attempt runs.
func (d *Desk) begin() error {
	d.ask()
	at := d.Now()
	return lifecycle.Account(d.Spool, at, func(tx *spool.Tx) error { return d.enter(tx, at.Now) })
}

// here returns the machine for the attempt: this one.
func (d *Desk) here() *local.Machine {
	var pipe *os.File
	if d.lock != nil { // a fork has none
		pipe = d.lock.Pipe
	}
	return local.New(d.machine, d.Attempt, pipe, d.complain)
}

// ask looks up the owner of the job before the spool is locked for the job. Begin reports errors.
func (d *Desk) ask() {
	var owner string
	err := d.Spool.View(func(v *spool.View) error {
		if ad, ok := v.Job(d.Job); ok {
			owner, _ = ad.EvalString(&classad.Context{}, pool.AttrOwner)
		}
		return nil
	})
	if err == nil && owner != "" {
		d.accountOf(owner)
	}
}

// accountOf returns the account of an owner's jobs.
func (n *Desks) accountOf(owner string) (launch.Account, error) {
	if a, known := n.accounts[owner]; known {
		return a, nil
	}
	a, err := launch.AccountOf(owner, n.Config.NobodySlotUser)
	if err == nil {
		n.accounts[owner] = a
	}
	return a, err
}

// enter begins the attempt in a transaction. It sets begun and, for an attempt on this machine, task.
func (d *Desk) enter(tx *spool.Tx, now time.Time) error {
	if d.pilot != nil {
		return d.start(tx, now)
	}
	if d.on == nil { // the transaction may be tried again
		d.on = d.here()
	}
	d.there = There{os.Getpid(), d.machine.Folder.Path}
	if err := d.start(tx, now); err != nil {
		return err
	}
	b := &d.begun
	d.task = supervise.Task{Attempt: d.Attempt, On: d.on, Wrong: b.wrong, Ad: b.ad, Limits: b.limits, At: b.at, Missed: b.missed}
	if b.expanded != nil {
		place := launch.Place{Slot: b.claim.Slot, SlotAd: b.slot, Scratch: d.on.Scratch(), Kept: d.machine.Folder.Kept(d.Job)}
		if d.Config.AssignCPUAffinity {
			place.CPUs = processorsFor(&tx.View, b.claim, b.slot)
			d.note(tx, bound(place.CPUs))
		}
		d.task.Run, d.task.Wrong = d.job(b.expanded, place)
		d.task.Run.Input = b.input
	}
	if tx.Forked { // nothing outside of a fork may change
		return nil
	}
	for _, f := range d.on.Prepare(b.ad, b.slot) {
		noteLimit(tx, d.Job, f)
	}
	return nil
}

// begun is an attempt that has begun, as the queue has it.
type begun struct {
	claim    pool.Claim
	slot     *classad.Ad // nil: it is unknown
	ad       *classad.Ad // of the job; nil: it has left the queue
	expanded *classad.Ad // the ad with what references to the slot stand for; nil: it cannot be run
	wrong    error       // why
	input    string      // of the job; empty: its file
	limits   []jobpolicy.Limit
	at       time.Time // when the job is to be executed; zero: at once
	missed   jobpolicy.Verdict
}

// start records that the attempt runs.
func (d *Desk) start(tx *spool.Tx, now time.Time) error {
	b := begun{}
	b.claim, _ = tx.Claim(d.Job)
	b.slot = lifecycle.SlotOf(&tx.View, b.claim)
	var found []launch.Found
	if ad, ok := tx.Job(d.Job); ok {
		if d.joblog = joblog.Of(tx, ad, d.operator()); d.joblog.Wanted() {
			d.executing = executing(tx, ad, b.slot, b.claim, filepath.Join(d.there.Folder, d.Attempt.String()))
		}
		b.expanded, found, b.wrong = launch.Expand(ad, b.slot, func(e *classad.Expr) classad.Value { return lifecycle.Value(tx, e, ad, b.slot) })
		b.at, b.missed = lifecycle.Deferral(tx, ad, now)
	}
	if err := lifecycle.Begin(tx, d.Job, d.Number, now, d.there.PID, d.instance(), d.params); err != nil {
		return err
	}
	d.note(tx, found)
	b.ad, _ = tx.Job(d.Job)
	d.joblog = d.joblog.Now(b.ad)
	b.limits = lifecycle.Limits(tx, b.ad, now)
	if b.ad != nil && b.ad.Has(pool.AttrFlockedFrom) {
		in, _ := spool.Inputs.Get(&tx.View, d.Job.Cluster)
		b.input = in.Text
	}
	d.know(b.ad)
	d.begun = b
	return nil
}

// instance returns the pilot's instance, empty without a pilot.
func (d *Desk) instance() string {
	if d.pilot == nil {
		return ""
	}
	return d.pilot.Instance
}

// note sets attributes of the job's ad to what was found for the attempt.
func (d *Desk) note(tx *spool.Tx, found []launch.Found) {
	for _, f := range found {
		tx.Set(d.Job, f.Name, f.Expr)
	}
}

// noteLimit sets an attribute of the job's ad to f.Expr, or unsets it if that is nil.
func noteLimit(tx *spool.Tx, id pool.JobID, f launch.Found) {
	ad, _ := tx.Job(id)
	before, _ := ad.EvalString(&classad.Context{}, f.Name)
	by := ""
	if f.Expr != nil {
		v, _ := f.Expr.Constant()
		by, _ = v.Text()
	}
	if by != before {
		tx.Set(id, f.Name, f.Expr)
	}
}

// job returns the job to run at a place, from its ad without references to a slot.
func (d *Desk) job(expanded *classad.Ad, at launch.Place) (launch.Job, error) {
	owner, _ := expanded.EvalString(&classad.Context{}, pool.AttrOwner)
	account, err := d.accountOf(owner)
	if err != nil {
		return launch.Job{}, err
	}
	return launch.FromAd(expanded, at, account)
}

// know remembers the policy attributes of the job's ad; Heed reports their changes.
func (d *Desk) know(ad *classad.Ad) {
	d.known = classad.New()
	for _, name := range policyAttributes() {
		if e, ok := ad.Lookup(name); ok {
			d.known.Set(name, e)
		}
	}
}

// policyAttributes are the names of the attributes that matter while an attempt goes on.
func policyAttributes() []string { return append(jobpolicy.AttemptAttributes(), pool.AttrJobStatus) }

func (d *Desk) Await() {
	if d.joblog.Path != "" && d.Number > 1 {
		joblog.Await(d.Spool, d.Config.NobodySlotUser, d.tell, d.Job, d.Number)
	}
}

// Inputs copies from the place where the files are, which is on this machine.
func (d *Desk) Inputs(ctx context.Context, job launch.Job) (launch.Placed, error) {
	return job.Place(ctx)
}

func (d *Desk) Outputs(ctx context.Context, job launch.Job, placed launch.Placed, of launch.Files) error {
	switch of {
	case launch.Checkpoint:
		return job.Transfer.Checkpoint(ctx)
	case launch.Rest:
		return job.Transfer.Keep()
	}
	return job.Transfer.Store(ctx, placed)
}

func (d *Desk) Executing(fetched time.Duration) {
	d.deliver(d.joblog, d.log.Add, userlog.Event{Job: d.Job, At: d.Now().Now.Local(), Body: withFetched(d.executing, fetched)})
}

func (d *Desk) logEvents(events ...userlog.Event) {
	d.Desks.logEvents(d.joblog, d.log.Add, events...)
}

const (
	// signEvery is how often a supervisor leaves a sign of life. At most this time of an attempt
	// that ends with the machine is not charged.
	signEvery = 30 * time.Second
	// forgetAfter is how long a supervisor keeps in memory what it has read of the queue, as a machine
	// may have many supervisors. It is not zero: a supervisor of short jobs would read the whole queue
	// for each job.
	forgetAfter = 10 * time.Second
)

// Heed follows the journal.
func (d *Desk) Heed() (w supervise.Word) {
	now := time.Now()
	if now.Sub(d.signed) >= signEvery {
		d.signed = now
		d.lock.Sign(d.Now()) // an error matters only after a reboot
	}
	if now.Sub(d.forgot) >= forgetAfter {
		d.forgot = now
		d.Spool.Close()
	}
	if err := d.lost(); err != nil {
		return supervise.Word{Leaves: true, Gone: true, Why: pool.Reason{Text: err.Error()}}
	}
	if d.missing > 0 {
		return w
	}
	d.complain(d.seeToCycles())
	claim, ok, err := d.claim()
	switch {
	case err != nil:
		d.complain(err)
	case !ok || claim.Attempt != d.Number:
		return supervise.Word{Leaves: true, Gone: true, Why: pool.Reason{Text: "its claim is gone"}}
	case claim.State == pool.Vacating:
		w = supervise.Word{Leaves: true, Why: pool.Reason{Text: claim.VacateReason, Code: claim.VacateCode, Subcode: claim.VacateSubcode}}
		w.Fast = lifecycle.HasteOf(w.Why) == lifecycle.Fast
	}
	w.Changed = d.followed.Changed()
	return w
}

// claim returns the claim as the journal has it.
func (d *Desk) claim() (claim pool.Claim, ok bool, err error) {
	if d.followed == nil {
		d.followed, err = d.Spool.Watch(d.Job, d.known, policyAttributes()...)
		d.complain(err) // the first look tries again
	}
	return d.followed.Claim()
}

var (
	// errLockGone says that the claim's file was removed or replaced: another
	// attempt of the job may begin at any time.
	errLockGone = errors.New("the lock of its claim is gone")
	// ErrSpoolGone says that the spool was removed or renamed: nothing that the job does
	// can be recorded.
	ErrSpoolGone = errors.New("the spool is gone")
)

func (d *Desk) Lost() supervise.Loss {
	switch {
	case d.lock.Gone():
		return supervise.OfClaim
	case spool.Gone(d.Spool.Dir()):
		return supervise.OfQueue
	}
	return supervise.None
}

// lost returns why the attempt is no longer the supervisor's: errLockGone or ErrSpoolGone; nil while it
// is, or its spool was not gone for long enough to count (missing). It is one look.
func (d *Desk) lost() error {
	switch loss := d.Lost(); {
	case loss == supervise.OfClaim:
		return errLockGone
	case loss == supervise.None:
		d.missing = 0
	case d.missing == d.GoneLooks:
		return ErrSpoolGone
	default:
		d.missing++
	}
	return nil
}

// awaitSpool waits for a spool that is gone to come back, until that counts, and returns what
// lost does.
func (d *Desk) awaitSpool() error {
	for {
		if err := d.lost(); err != nil || d.missing == 0 {
			return err
		}
		time.Sleep(d.LookEvery)
	}
}

// seeToCycles starts a driver if the pool needs one and has none. The driver is no child of this
// process, as the children of a supervisor count as the job's.
func (n *Desks) seeToCycles() error {
	if n.Cycles == nil {
		return nil
	}
	driver, err := n.Cycles.Look()
	if driver != nil {
		driver.Process.Release() // it is our parent's child
	}
	return err
}

// changed notes that the queue was changed. Another process, or the next look, starts the driver.
func (n *Desks) changed() error {
	if n.Cycles == nil {
		return nil
	}
	return n.Cycles.Note()
}

func (d *Desk) Terms(why pool.Reason) (t supervise.Terms, err error) {
	t.Fast = lifecycle.HasteOf(why) == lifecycle.Fast
	err = d.Spool.View(func(v *spool.View) error {
		ad, ok := v.Job(d.Job)
		if !ok {
			return nil
		}
		t.Ad, t.Leaving = ad, leaving(ad, why.Code)
		if claim, ok := v.Claim(d.Job); ok && t.Leaving.Retires() && lifecycle.LetsRetire(why) {
			if slot := lifecycle.SlotOf(v, claim); slot != nil {
				t.Retirement = launch.Retirement(&classad.Context{Now: d.Now().Now}, d.retirement, slot, ad)
			}
		}
		return nil
	})
	return t, err
}

// leaving returns why a job has to leave, as its state tells and the code of its claim.
func leaving(ad *classad.Ad, code int) launch.Leaving {
	switch statusOf(ad) {
	case pool.Removed:
		return launch.Removed
	case pool.Held:
		return launch.Held
	}
	switch code {
	case lifecycle.MachineDrained:
		return launch.Drained
	case lifecycle.PreemptedByRank, lifecycle.PreemptedByPriority:
		return launch.Preempted
	}
	return launch.Vacated
}

// statusOf returns the state that a job's ad says.
func statusOf(ad *classad.Ad) pool.Status {
	status, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
	return pool.Status(status)
}

func (d *Desk) Report(p pool.Progress) error { return d.report(p, lifecycle.Report, nil) }

func (d *Desk) Checkpointed(p pool.Progress, bytes int64) error {
	usage := userlog.Usage{User: p.UserCPU, System: p.SysCPU}
	return d.report(p, lifecycle.Checkpointed, userlog.Checkpointed{Run: usage, Sent: bytes})
}

// telling is Report or Checkpointed of package lifecycle.
type telling func(tx *spool.Tx, id pool.JobID, attempt int, p, before pool.Progress, at time.Time, params accountant.Params) error

// report records the attempt's usage in a transaction, and then writes the event to its log, unless that is
// nil, and another one if the job has grown. After an error the next report includes the usage.
func (d *Desk) report(p pool.Progress, tell telling, event userlog.Body) error {
	now := d.Now()
	d.Spool.At(now.Now)
	size := userlog.ImageSize{}
	err := lifecycle.Account(d.Spool, now, func(tx *spool.Tx) error {
		if err := tell(tx, d.Job, d.Number, p, d.reported, now.Now, d.params); err != nil {
			return err
		}
		ad, _ := tx.Job(d.Job)
		d.joblog, size = joblog.Of(tx, ad, d.operator()), sizeOf(ad)
		return nil
	})
	d.Spool.Close() // a machine may have many supervisors: none keeps the queue in memory
	if err != nil {
		return err
	}
	d.reported = p.After(d.reported)
	var events []userlog.Event
	add := func(body userlog.Body) {
		events = append(events, userlog.Event{Job: d.Job, At: now.Now.Local(), Body: body})
	}
	if event != nil {
		add(event)
	}
	if d.reported.PeakKB > d.sizeKB {
		d.sizeKB = d.reported.PeakKB
		add(size)
	}
	d.logEvents(events...)
	return nil
}

// sizeOf returns the event of a job that has grown, with the size in its ad.
func sizeOf(ad *classad.Ad) userlog.ImageSize {
	number := func(name string) int64 { n, _ := ad.EvalInt(&classad.Context{}, name); return n }
	return userlog.ImageSize{
		ImageKB: number(pool.AttrImageSize), MemoryMB: number(pool.AttrMemoryUsage),
		ResidentKB: number(pool.AttrResidentSetSize), ProportionalKB: -1,
	}
}

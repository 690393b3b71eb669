package starter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/account"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/door"
	"fairspool/cmd/internal/hooks"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/stir"
	"fairspool/cmd/internal/systemd"
	"fairspool/lib/asuser"
	"fairspool/lib/clean"
	"fairspool/lib/config"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

const (
	// passEvery is how often it makes a whole pass, for what no journal tells.
	passEvery = time.Minute
	// linksEvery is how long passes for the sake of links are apart, at least.
	linksEvery = 5 * time.Second
	// mostBatches is how many groups of supervisors may be starting at a time. Only jobs
	// with files to copy make a group wait for long.
	mostBatches = 8
	// lastWords is how long a watch that ends waits for those on their way.
	lastWords = 2 * time.Second
)

// follower is a starter that stays: it follows the claims of its machine in the journal,
// starts what was matched when that has been committed, and makes a pass now and then.
// Only its loop touches it and its spool; supervisors are started, and passes made,
// concurrently.
type follower struct {
	options
	call   *cmdline.Call
	spool  *spool.Spool
	host   string
	claims *spool.MachineWatch
	// elsewhere: host is another machine, and its pilot looks after the claims.
	elsewhere bool
	starts    bool // starts what is matched; else it only waits until the machine is empty
	// cycles sees to it that there is a cycle now and then, and after each change; nil: that is
	// left to others.
	cycles *onchange.Watch
	// tried are the matches that were taken up since the last pass: what could not be started is tried again by
	// the next.
	tried    map[pool.Attempt]bool
	batches  int             // of supervisors that are on their way
	hooks    string          // the last file with commands for events, as of the last look
	owed     string          // the last file with events that are owed to logs, as of the last look
	passing  bool            // a pass is under way
	passed   time.Time       // when the last one began
	cycled   time.Time       // when the cycle's report was written that the last one came of
	once     bool            // and another is to follow
	stuck    map[string]bool // jobs that the last pass could not look after
	done     chan done
	ended    chan int   // process ids of supervisors of ours that have ended
	leaving  *departure // nil: the machine is not being drained
	troubled string     // the last complaint
	rest     time.Time
}

// done is what came of a pass or a batch.
type done struct {
	report
	supervisors []*exec.Cmd
	err         error
	pass        bool
}

func newFollower(c *cmdline.Call, o options, sp *spool.Spool, host string) (*follower, error) {
	claims, err := sp.WatchMachine(host)
	return &follower{
		options: o, call: c, spool: sp, host: host, claims: claims, tried: map[pool.Attempt]bool{},
		done: make(chan done, mostBatches+1), ended: make(chan int, 64),
	}, err
}

// loop goes on until a signal ends it, or the machine is empty that is being drained.
func (f *follower) loop(signals <-chan os.Signal, every time.Duration) error {
	stirs, often := stir.Watch(f.spool.Dir())
	look, passes := time.NewTicker(often), time.NewTicker(every)
	defer look.Stop()
	defer passes.Stop()
	f.pass()
	for {
		var err error
		select {
		case <-stirs:
			err = f.look()
		case <-look.C:
			err = f.look()
		case <-passes.C:
			clear(f.tried)
			f.pass()
		case d := <-f.done:
			err = f.take(d)
		case pid := <-f.ended:
			err = f.supervisorEnded(pid)
		case sig := <-signals:
			if sig == unix.SIGHUP {
				err = f.reload()
			} else {
				var over bool
				if over, err = f.stopped(); over {
					return err
				}
			}
		}
		if err == nil && f.leaving != nil {
			err = f.leaving.look(f)
		}
		if err != nil {
			return err
		}
	}
}

// look starts what was matched since the last look. If nothing was committed since, it
// costs next to nothing.
func (f *follower) look() error {
	if time.Now().Before(f.rest) {
		return nil
	}
	changed, err := f.claims.Look()
	if err != nil {
		if spool.Gone(f.spool.Dir()) {
			return desk.ErrSpoolGone
		}
		f.complain(err)
		f.rest = time.Now().Add(restAfterTrouble)
		return nil
	}
	f.troubled = ""
	if changed {
		f.tellJobs()
	}
	f.cycles.See(f.complain)
	f.linksAfterCycle()
	f.deliver()
	f.runHooks()
	if f.starts {
		f.startMatched()
	}
	return nil
}

// deliver writes owed events to the logs of jobs, concurrently with the loop, as a log may be locked.
// The next pass tries again what could not be written.
func (f *follower) deliver() {
	owed := joblog.Owed(f.spool)
	if len(owed) == 0 || owed[len(owed)-1] <= f.owed {
		return
	}
	f.owed = owed[len(owed)-1]
	go joblog.Deliver(f.spool, f.call.Config.NobodySlotUser, f.call.Warn)
}

// runHooks starts a runner for commands that the spool's account has left to root's starter. Others that are
// left over are started by the next pass.
func (f *follower) runHooks() {
	if _, serves := asuser.Served(); !serves {
		return
	}
	due := hooks.Due(f.spool.ClaimLock(""))
	if len(due) == 0 || due[len(due)-1] <= f.hooks {
		return
	}
	f.hooks = due[len(due)-1]
	if err := startHooks(f.call, f.spool); err != nil {
		f.complain(err)
	}
}

// linksAfterCycle makes a pass after a cycle if engines queue pilots, as the cycle's jobs may want
// some.
func (f *follower) linksAfterCycle() {
	if !f.starts || time.Since(f.passed) < linksEvery || !slices.ContainsFunc(f.call.Config.Engines, config.Engine.Queues) {
		return
	}
	if info, err := os.Stat(filepath.Join(f.spool.Dir(), "cycle.json")); err == nil && !info.ModTime().Equal(f.cycled) {
		f.cycled = info.ModTime()
		f.pass()
	}
}

// followCycles has the watch see to cycles from now on, as the configuration says.
func (f *follower) followCycles() error {
	p, on, err := f.call.OnChange()
	if f.cycles = nil; on {
		f.cycles = &onchange.Watch{Pool: p, Interval: f.call.Config.CycleInterval}
	}
	return err
}

// restAfterTrouble is how long a watch leaves a spool alone that it could not read.
const restAfterTrouble = 5 * time.Second

// complain tells of an error once, however often it happens in a row.
func (f *follower) complain(err error) {
	if err.Error() != f.troubled {
		f.troubled = err.Error()
		f.call.Warn("%v", err)
	}
}

// startMatched starts the supervisors of new matches, and makes a pass if the ad of a
// slot has changed that a claim waits for.
func (f *follower) startMatched() {
	if f.batches >= mostBatches {
		return
	}
	var matched []pool.Attempt
	promised := false
	for _, c := range f.claims.Claims() {
		switch {
		case c.State == pool.Promised:
			promised = true
		case c.State == pool.Matched && !f.tried[c.Attempt]:
			f.tried[c.Attempt] = true
			matched = append(matched, c.Attempt)
		}
	}
	if f.claims.SlotsChanged() && promised {
		f.pass()
	}
	if len(matched) == 0 {
		return
	}
	f.batches++
	call, prefix := f.call.Again(), desk.Prefix(f.spool)
	go func() {
		d := done{report: newReport()}
		d.supervisors, d.err = d.start(call, prefix, matched)
		f.done <- d
	}()
}

// pass makes a pass without starting jobs, concurrently with the loop: it looks after
// claims whose supervisors are gone, and does the rest of a pass.
func (f *follower) pass() {
	if f.elsewhere {
		return
	}
	if f.passing {
		f.once = true
		return
	}
	f.passing, f.once, f.passed = true, false, time.Now()
	call, links := f.call.Again().Anew(), f.starts
	go func() {
		d := done{report: newReport(), pass: true}
		sp, err := call.ExistingSpool() // one that is gone is not to be made again
		if err == nil {
			_, err = d.around(call, sp)
			sp.Close()
		}
		if err == nil && links {
			err = keepLinks(call)
		}
		d.err = err
		f.done <- d
	}()
}

// keepLinks has glidein start the links that are missing, if the pool has engines. Root's glidein takes the rights of
// the spool's account itself.
func keepLinks(c *cmdline.Call) error {
	folder, prefix, ok := onchange.Siblings(c.Name)
	if len(c.Config.Engines) == 0 || !ok {
		return nil
	}
	common, err := c.Common()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	g := exec.Command(onchange.Pool{Programs: folder, Prefix: prefix}.Program("glidein"), append(common, "-q")...)
	g.Dir, g.Stdout, g.Stderr = "/", &said, &said
	g.WaitDelay = time.Second // processes that it has started may keep the output open
	if e := asuser.Root(func() { err = g.Start() }); e != nil || err != nil {
		return errors.Join(e, err)
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("glidein: %w: %s", err, clean.Line(said.String()))
	}
	return nil
}

// take notes the result of a pass or a batch.
func (f *follower) take(d done) error {
	if d.pass {
		f.passing, f.stuck = false, map[string]bool{}
		for _, failed := range d.Failed {
			f.stuck[failed.Job] = true
		}
	} else {
		f.batches--
	}
	for _, s := range d.supervisors {
		go func() { s.Wait(); f.ended <- s.Process.Pid }()
	}
	if f.once {
		f.pass()
	}
	if d.err != nil {
		f.complain(d.err)
	}
	return f.tell(d.report)
}

// supervisorEnded makes a pass when a supervisor has ended and left its claim behind.
func (f *follower) supervisorEnded(pid int) error {
	if err := f.look(); err != nil {
		return err
	}
	for _, c := range f.claims.Claims() {
		if c.PID == pid && (c.State == pool.RunningClaim || c.State == pool.Vacating) {
			f.pass()
			break
		}
	}
	return nil
}

// stopped acts on a signal to end. With -drain the first signal drains the machine, and
// the next one ends the watch. Without, jobs go on under their supervisors, and stopped
// waits a little for those that are starting.
func (f *follower) stopped() (over bool, err error) {
	systemd.Notify("STOPPING=1")
	switch {
	case f.leaving != nil:
		return true, f.leaving.interrupted(f)
	case f.Drain:
		err := f.close(true)
		return err != nil, err
	}
	for late := time.After(lastWords); f.batches > 0; {
		select {
		case d := <-f.done:
			if err := f.take(d); err != nil {
				return true, err
			}
		case <-late:
			return true, nil
		}
	}
	return true, nil
}

// reload reads the configuration again. One that cannot be used changes nothing.
func (f *follower) reload() error {
	systemd.Notify("RELOADING=1", systemd.Monotonic())
	defer systemd.Notify("READY=1")
	again, err := f.reloaded()
	if err != nil {
		f.call.Warn("the configuration stays as it was: %v", err)
		return nil
	}
	f.call = again
	if err := f.followCycles(); err != nil {
		f.complain(err)
	}
	return f.say(reloaded{f.call.Again().Now.Unix(), true}, "configuration read again.\n")
}

// reloaded is what -json prints then.
type reloaded struct {
	Time     int64
	Reloaded bool
}

// reloaded returns the call with the configuration as it is now, if that is of the same
// machine and spool.
func (f *follower) reloaded() (*cmdline.Call, error) {
	again, err := f.call.Reload()
	if err != nil {
		return nil, err
	}
	host, err := again.Hostname()
	if err == nil && host != f.host {
		err = errors.New("NETWORK_HOSTNAME is now " + host + ": restart starter")
	}
	if err != nil {
		return nil, err
	}
	sp, err := again.Anew().Spool()
	if err != nil {
		return nil, err
	}
	defer sp.Close()
	if sp.Dir() != f.spool.Dir() {
		return nil, errors.New("SPOOL is now " + sp.Dir() + ": restart starter")
	}
	if served, serves := asuser.Served(); serves {
		if err := account.IsRoots(again); err != nil {
			return nil, err
		}
		if err := asuser.Serve(served, again.Config.MinUID); err != nil {
			return nil, fmt.Errorf("MIN_UID: %w", err)
		}
	}
	return again, nil
}

// follow is starter -watch.
func follow(c *cmdline.Call, o options) error {
	signals := make(chan os.Signal, 4) // from now on, as its first pass may take a while
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	sp, host, err := here(c)
	if err != nil {
		return err
	}
	err = sp.Watching(host, func() error { return watchOver(c, o, sp, host, signals) })
	if err != nil && spool.Gone(sp.Dir()) {
		return desk.ErrSpoolGone // whatever was missing of it first
	}
	return err
}

// watchOver starts what is matched on this machine until a signal ends it.
func watchOver(c *cmdline.Call, o options, sp *spool.Spool, host string, signals <-chan os.Signal) error {
	if err := reopenStopped(c, sp, host); err != nil {
		return err
	}
	f, err := newFollower(c, o, sp, host)
	if err != nil {
		return err
	}
	f.starts = true
	if err := f.followCycles(); err != nil {
		return err
	}
	if err := f.tellClosed(); err != nil {
		return err
	}
	if o.door {
		shut, err := openDoor(c, sp.Dir())
		if err != nil {
			return err
		}
		defer shut()
	}
	systemd.Notify("READY=1")
	return left(f.loop(signals, passEvery))
}

// here returns the spool and the name of this machine.
func here(c *cmdline.Call) (*spool.Spool, string, error) {
	host, err := c.Hostname()
	if err != nil {
		return nil, "", err
	}
	sp, err := c.Spool()
	if err == nil {
		sp.FollowDomain()
	}
	return sp, host, err
}

// reopenStopped opens a machine that the stop of another watch has drained. A machine
// that a person has drained stays drained.
func reopenStopped(c *cmdline.Call, sp *spool.Spool, host string) error {
	stopped := func(v *spool.View) bool { d, _ := lifecycle.DrainOf(v, host); return d.Stopped }
	is := false
	if err := sp.View(func(v *spool.View) error { is = stopped(v); return nil }); err != nil || !is {
		return err
	}
	return lifecycle.Account(sp, c.Reading(), func(tx *spool.Tx) error {
		if stopped(&tx.View) {
			lifecycle.Reopen(tx, host)
		}
		return nil
	})
}

// tell prints what was done, nothing if nothing was. Bad news has been printed already.
func (f *follower) tell(r report) error {
	if len(r.Started)+len(r.Failed)+len(r.Lost) == 0 {
		return nil
	}
	text := ""
	if len(r.Started) > 0 {
		text = plural.Count(len(r.Started), "job") + " started.\n"
	}
	return f.say(passed{f.call.Again().Now.Unix(), r}, text)
}

// passed is a report of a watch, which -json prints on a line.
type passed struct {
	Time int64
	report
}

// tellClosed says, when the watch begins, that the machine is drained and stays so.
func (f *follower) tellClosed() error {
	if f.json || f.quiet {
		return nil
	}
	words, err := closed(f.spool, f.host)
	if err != nil || words == "" {
		return err
	}
	return f.say(nil, words)
}

// say prints a line: v with -json, else the text, unless it has to be quiet.
func (f *follower) say(v any, text string) error {
	if f.json {
		line, err := cmdline.Line(v)
		if err != nil {
			return err
		}
		text = string(line)
	} else if f.quiet {
		return nil
	}
	if _, err := f.call.Stdout.Write([]byte(text)); err != nil {
		return err
	}
	return f.call.Flush()
}

// tellJobs tells systemd how many jobs run, for its status.
func (f *follower) tellJobs() {
	n := 0
	for _, c := range f.claims.Claims() {
		if c.State == pool.RunningClaim || c.State == pool.Vacating {
			n++
		}
	}
	systemd.Notify(fmt.Sprintf("STATUS=%s on %s", plural.Count(n, "job"), f.host))
}

// openDoor lets users of other accounts use the spool: it keeps processes of serve, with the rights of the
// spool's account, waiting at the socket in the spool. shut ends that; callers that are served have
// their answers first. It is called while this process alone watches over the machine.
func openDoor(c *cmdline.Call, dir string) (shut func(), err error) {
	folder, prefix, ok := onchange.Siblings(c.Name)
	if !ok {
		return nil, errors.New("-door: serve is not in the folder of starter: install all programs of fairspool in one folder")
	}
	program := onchange.Pool{Programs: folder, Prefix: prefix}.Program("serve")
	common, err := c.Common()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
		if err := os.Chmod(dir, 0o711); err != nil { // to pass through to the socket, and no more
			return nil, fmt.Errorf("-door: %w", err)
		}
	}
	l, err := door.Listen(dir)
	if err != nil {
		return nil, err
	}
	socket, err := l.File()
	if err != nil {
		l.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		door.Keep(ctx, socket, func(socket, taken *os.File) (*exec.Cmd, error) {
			p := exec.Command(program, common...)
			p.Dir, p.Stdin, p.ExtraFiles, p.Stderr = "/", socket, []*os.File{taken}, os.Stderr
			return p, asuser.Start(p)
		}, func(err error) { c.Warn("serve: %v", err) })
	}()
	return func() {
		cancel()
		l.Close() // which removes the socket
		socket.Close()
		<-over
	}, nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/systemd"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/spool"
)

// supervisor is the life of a supervisor, which begins with the named attempt. It does nothing, without
// an error, if the attempt is not there to be started or has another supervisor.
func supervisor(c *cmdline.Call, name string) error {
	a, err := pool.ParseAttempt(name)
	if err != nil {
		return cmdline.Usagef("-supervise: %v", err)
	}
	sp, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	sp.FollowDomain()
	n, err := desksOf(c, sp)
	if err != nil {
		return err
	}
	stop := prepare()
	d := n.desk(a)
	d.lock, err = lockClaim(sp.ClaimLock(name))
	if errors.Is(err, errBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	reached(stepLocked)
	err = supervise.Serve(d, n.settings(d, stop))
	if errors.Is(err, pool.ErrGone) {
		return nil
	}
	return err
}

// desksOf returns the desks of a supervisor.
func desksOf(c *cmdline.Call, sp *spool.Spool) (*desks, error) {
	n := &desks{
		call: c, config: c.Config, spool: sp, params: c.Config.Params, machine: machineFor(c.Config, sp),
		since: time.Now(), accounts: map[string]launch.Account{},
	}
	var err error
	if n.retirement, err = c.Config.Expr("MAXJOBRETIREMENTTIME"); err != nil {
		return nil, err
	}
	if p, on, err := c.OnChange(); err != nil {
		return nil, err
	} else if on {
		p.Beside = true
		n.cycles = &onchange.Watch{Pool: p, Interval: c.Config.CycleInterval}
	}
	return n, nil
}

// Tests look and measure more often, and wait for a shorter or longer time.
var (
	lookEvery = 500 * time.Millisecond
	// measureEvery is how often the processes of a job are measured. The peak of their memory
	// is the largest measured value.
	measureEvery = time.Second
	stopLag      = 5 * time.Second
)

// settings returns those of a supervisor whose first desk is d.
func (n *desks) settings(d *spoolDesk, stop <-chan os.Signal) supervise.Settings {
	return supervise.Settings{
		Vacate: n.config.MachineMaxVacateTime, PeriodicEvery: n.config.PeriodicInterval,
		FirstUpdate: n.config.InitialUpdateInterval, UpdateEvery: n.config.UpdateInterval,
		LookEvery: lookEvery, MeasureEvery: measureEvery, StopLag: stopLag,
		Now:  func() time.Time { return n.call.Later().Now },
		Stop: stop, Stopping: systemd.Stopping,
		UnderWay: func() {
			fmt.Fprintln(n.call.Stdout, running)
			n.call.Flush() // a pass that has gone away does not matter
			d.log.Detach()
			n.call.Stderr = d.log
		},
		Left:    n.call.Changed,
		Chore:   n.nice,
		Reached: func(s supervise.Step) { reached(s) },
	}
}

// prepare makes the process a supervisor, and returns the signals that are to end it: signals that would
// end it end the job first (also where the caller ignores them, which the job would
// inherit), a pass that has closed its pipe does no harm, processes that the job
// leaves behind become the supervisor's children, and the job gets the usual umask.
func prepare() chan os.Signal {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, supervise.StopSignals...)
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT)
	unix.Umask(0o022)
	return stop
}

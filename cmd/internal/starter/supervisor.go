package starter

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/claimlock"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/systemd"
	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/spool"
)

// supervisor is the life of a supervisor, which begins with an attempt. It does nothing, without
// an error, if the attempt is not there to be started or has another supervisor.
func supervisor(c *cmdline.Call, a pool.Attempt) error {
	sp, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	sp.FollowDomain()
	sp.Queue()
	var cycles *onchange.Watch
	if p, on, err := c.OnChange(); err != nil {
		return err
	} else if on {
		p.Beside = true
		cycles = &onchange.Watch{Pool: p, Interval: c.Config.CycleInterval}
	}
	n, err := desksOf(c, sp, c.Later, cycles)
	if err != nil {
		return err
	}
	stop := prepare()
	d, err := n.Lock(a)
	if errors.Is(err, claimlock.ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	err = supervise.Serve(d, settings(c, n, d, stop))
	if errors.Is(err, pool.ErrGone) {
		return nil
	}
	return err
}

// desksOf returns the desks of a process that supervises attempts, or ends those of dead supervisors.
func desksOf(c *cmdline.Call, sp *spool.Spool, now func() accountant.Reading, cycles *onchange.Watch) (*desk.Desks, error) {
	return desk.New(desk.Settings{
		Spool: sp, Config: c.Config, Now: now, Host: c.Hostname, Cycles: cycles, GoneLooks: goneLooks, LookEvery: lookEvery,
		Reached: func(s supervise.Step) { reached(s) },
	})
}

// Tests look and measure more often, and wait for a shorter or longer time.
var (
	lookEvery = 500 * time.Millisecond
	// measureEvery is how often the processes of a job are measured. The peak of their memory
	// is the largest measured value.
	measureEvery = time.Second
	stopLag      = 5 * time.Second
	// goneLooks is how many looks in a row have to find the spool gone before that counts.
	goneLooks = 10
	// reached is called at each step. It does nothing; tests have it end the process
	// there.
	reached = func(supervise.Step) {}
)

// settings returns the settings of a supervisor with first desk d.
func settings(c *cmdline.Call, n *desk.Desks, d *desk.Desk, stop <-chan os.Signal) supervise.Settings {
	return supervise.Settings{
		Vacate: c.Config.MachineMaxVacateTime, PeriodicEvery: c.Config.PeriodicInterval,
		FirstUpdate: c.Config.InitialUpdateInterval, UpdateEvery: c.Config.UpdateInterval,
		LookEvery: lookEvery, MeasureEvery: measureEvery, StopLag: stopLag,
		Now:  func() time.Time { return c.Later().Now },
		Stop: stop, Stopping: systemd.Stopping,
		UnderWay: func() {
			fmt.Fprintln(c.Stdout, running)
			c.Flush() // a pass that has gone away does not matter
			d.Log().Detach()
			c.Stderr = d.Log()
		},
		Left:    c.Changed,
		Chore:   n.Nice,
		Reached: func(s supervise.Step) { reached(s) },
	}
}

// gcPercent keeps the heap of a supervisor small: new memory costs it more than collecting garbage.
const gcPercent = 100

// sparing has the process use one core and little memory: a machine has one for each job.
func sparing() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	runtime.GOMAXPROCS(1)
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
	sparing()
	return stop
}

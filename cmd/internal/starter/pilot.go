package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/account"
	"fairspool/cmd/internal/claimlock"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/machine"
	"fairspool/cmd/internal/pilot"
	"fairspool/cmd/internal/systemd"
	"fairspool/lib/classad"
	"fairspool/lib/launch/local"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
)

// pilotHere is starter -pilot, and with -supervise one of its supervisors.
func pilotHere(c *cmdline.Call, o options) error {
	if os.Geteuid() == 0 {
		if err := account.IsRoots(c); err != nil {
			return err
		}
	}
	dir, err := stateFolder(o)
	if err != nil {
		return err
	}
	if o.supervise != nil {
		return pilotSupervisor(c, pilot.State{Dir: dir}, *o.supervise)
	}
	sparing()
	state, err := pilot.OpenState(dir)
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 4)
	signal.Notify(stop, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	if o.idle+o.time > 0 { // a batch engine's job
		signal.Notify(stop, unix.SIGUSR1, unix.SIGUSR2)
	}
	p := newPilot(c, o, state, stop)
	if err := state.Lock(pilot.Patience, !p.HasTerm()); err != nil {
		return err
	}
	if err := p.Open(); err != nil {
		return err
	}
	if o.home == "" {
		pipe, err := pilot.Stdio()
		if err == nil {
			err = p.Serve(context.Background(), pipe)
		}
		return ended(err)
	}
	if p.ID, p.Token, err = readToken(o.token); err != nil {
		return err
	}
	systemd.Notify("READY=1")
	return goHome(c, p, strings.Fields(o.home), stop)
}

// ended returns the error of a pilot that has ended; nil for one that was told to.
func ended(err error) error {
	if errors.Is(err, pilot.ErrStopped) {
		return nil
	}
	return err
}

// goHome opens one pipe to the spool's host after the other, until a signal ends the pilot, or its token is good no more.
func goHome(c *cmdline.Call, p *pilot.Pilot, command []string, stop <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if p.HasTerm() {
		stop = nil // the pilot heeds it
		go func() {
			<-p.Over()
			time.AfterFunc(pilot.Parting, cancel) // also of an end of the link that does not answer
		}()
	}
	troubled := ""
	for tries := 0; ; tries++ {
		began := time.Now()
		pipe, told, err := pilot.Run(exec.Command(command[0], command[1:]...))
		if err == nil {
			err = p.Serve(ctx, pipe)
			err = told().Why(err, "install fairspool there, or name the program by its whole path")
		}
		var refused *pilot.RefusedError
		switch {
		case errors.Is(err, pilot.ErrStopped):
			return nil
		case errors.As(err, &refused) && refused.Over:
			return err
		case err != nil && err.Error() != troubled:
			troubled = err.Error()
			c.Warn("%v; trying again", err)
		}
		if time.Since(began) > pilot.Patience {
			tries, troubled = 0, ""
		}
		select {
		case <-stop:
			return nil
		case <-p.Over():
			return nil
		case <-time.After(pilot.WaitAfter(tries)):
		}
	}
}

// stateFolder returns the path of the pilot's state folder.
func stateFolder(o options) (string, error) {
	switch {
	case o.state != "":
		return filepath.Abs(o.state)
	case os.Geteuid() == 0:
		return "/var/lib/fairspool-pilot", nil
	}
	return "/var/tmp/fairspool-" + strconv.Itoa(os.Geteuid()), nil
}

// newPilot returns the pilot of this machine.
func newPilot(c *cmdline.Call, o options, state pilot.State, stop <-chan os.Signal) *pilot.Pilot {
	p := &pilot.Pilot{
		State: state, Version: cmdline.Version, Execute: c.Config.Execute, Patience: c.Config.KillingTimeout, Stop: stop,
		Machine: func(folder local.Folder, prefix string) local.Settings { return desk.Machine(c.Config, folder, prefix) },
		Tell:    func(err error) { c.Warn("%v", err) },
		Say:     func(string, ...any) {},
		Idle:    o.idle, Time: o.time, Grace: cmp.Or(o.grace, pilot.DefaultGrace),
	}
	p.Slots = func(w pilot.Welcome) ([]string, error) {
		left, ends := p.Left(w.Vacate)
		return slotsOf(c, state, w, left, ends)
	}
	p.Hello.Root = os.Geteuid() == 0
	if u, err := user.Current(); err == nil {
		p.Account = u.Username
	}
	if o.home != "" && !o.quiet {
		p.Say = func(format string, args ...any) {
			fmt.Fprintf(c.Stdout, format+".\n", args...)
			c.Flush()
		}
	}
	p.Start = func(attempts []pool.Attempt, ended func(pool.Attempt)) {
		flags, err := c.Settings() // a spool of this machine is not the pilot's
		var answers []answer
		if err == nil {
			answers, err = spawnAll(c, state.Prefix(), append(flags, "-pilot", "-state", state.Dir), attempts)
		}
		if err != nil {
			p.Tell(err)
		}
		for i, a := range answers {
			for _, line := range a.lines {
				c.Warn("job %v: %s", attempts[i].Job, line)
			}
			if !a.running {
				ended(attempts[i])
				continue
			}
			go func() { a.process.Wait(); ended(attempts[i]) }()
		}
	}
	return p
}

// slotsOf returns the ad of the one partitionable slot that this machine is in a pool; ends: its jobs have to leave when
// so much time is over.
func slotsOf(c *cmdline.Call, state pilot.State, w pilot.Welcome, left time.Duration, ends bool) ([]string, error) {
	m, err := machine.Called(c, w.Machine, state.Dir)
	if err != nil {
		return nil, err
	}
	m.Try(c)
	ad, err := m.Whole(c)
	if err != nil {
		return nil, err
	}
	if w.FileSystemDomain != "" {
		ad.SetString(pool.AttrFileSystemDomain, w.FileSystemDomain)
	}
	var start []string
	if w.Owner != "" {
		start = append(start, pool.OwnedBy(w.Owner))
	}
	if ends {
		ad.SetInt("PilotEnds", w.Now.Add(left).Unix())
		start = append(start, machine.FitsPilot)
	}
	if len(start) > 0 {
		only, err := classad.ParseExpr(strings.Join(start, " && "))
		if err != nil {
			return nil, err
		}
		ad.Set("Start", only)
	}
	return []string{string(ad.AppendLong(nil))}, nil
}

// readToken reads the file that glidein -token has made: the pilot's number, and its token.
func readToken(path string) (id int, token string, err error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return 0, "", fmt.Errorf("token %s: others may read it: chmod 600 it", path)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return 0, "", fmt.Errorf("token %s: no such file: glidein -token MACHINE on the spool's host makes one", path)
	}
	if err != nil {
		return 0, "", fmt.Errorf("token %s: %w", path, cmdline.Cause(err))
	}
	words := strings.Fields(string(text))
	if len(words) == 2 {
		id, err = strconv.Atoi(words[0])
	}
	if len(words) != 2 || err != nil {
		return 0, "", fmt.Errorf("token %s: want a number and a token, as glidein -token prints them", path)
	}
	return id, words[1], nil
}

// pilotSupervisor is the life of a supervisor that a pilot has started.
func pilotSupervisor(c *cmdline.Call, state pilot.State, a pool.Attempt) error {
	n, err := pilot.NewDesks(state, func(folder local.Folder, prefix string) local.Settings { return desk.Machine(c.Config, folder, prefix) }, c.Config.Execute, func(s supervise.Step) { reached(s) })
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
	s := supervise.Settings{
		Vacate: n.Vacate, PeriodicEvery: n.Periodic, FirstUpdate: n.FirstUpdate, UpdateEvery: n.UpdateEvery,
		LookEvery: lookEvery, MeasureEvery: measureEvery, StopLag: stopLag,
		Now: n.Clock, Stop: stop, Stopping: systemd.Stopping,
		UnderWay: func() {
			fmt.Fprintln(c.Stdout, running)
			c.Flush()
			c.Stderr = d
		},
		Left:    func() {},
		Chore:   func(supervise.Task, func(error)) supervise.Chore { return &local.Nice{} },
		Reached: func(s supervise.Step) { reached(s) },
	}
	if n.HasTerm() {
		s.Engine = n.Signalled
	}
	err = supervise.Serve(d, s)
	if errors.Is(err, pool.ErrGone) {
		return nil
	}
	return err
}

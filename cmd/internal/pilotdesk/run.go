package pilotdesk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/account"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/pilot"
	"fairspool/lib/asuser"
	"fairspool/lib/config"
	"fairspool/lib/engine"
	"fairspool/lib/supervise"
	"fairspool/spool/heard"
)

// reached is called at each step. It does nothing; tests have it end the process there.
var reached = func(supervise.Step) {}

// Run is serve -pilot.
func Run(c *cmdline.Call) error {
	if c.Has("engine") != c.Has("machine") {
		return cmdline.Usagef("-engine and -machine: give both")
	}
	if err := account.Serve(c); err != nil {
		return err
	}
	sp, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	if err := account.NoteRoot(sp); err != nil {
		return err
	}
	sp.FollowDomain()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	signal.Ignore(unix.SIGPIPE)
	const percent = 25 // a host may have many of these processes
	debug.SetGCPercent(percent)
	runtime.GOMAXPROCS(1)
	var cycles *onchange.Watch
	if p, on, err := c.OnChange(); err != nil {
		return err
	} else if on {
		cycles = &onchange.Watch{Pool: p, Interval: c.Config.CycleInterval}
	}
	n, err := desk.New(desk.Settings{
		Spool: sp, Cycles: cycles, Config: c.Config, Now: c.Later, Host: c.Hostname, GoneLooks: 10, LookEvery: 500 * time.Millisecond,
		Reached: func(s supervise.Step) { reached(s) },
	})
	if err != nil {
		return err
	}
	s := &Server{Call: c, Spool: sp, Cycles: cycles, Desks: n, Signal: signals, Owners: asuser.Privileged()}
	if !c.Has("machine") {
		pipe, err := pilot.Stdio()
		if err != nil {
			return err
		}
		return s.Serve(pipe)
	}
	return s.attach(c.Value("engine"), c.Value("machine"))
}

// attach calls a machine of an engine, and serves its pilot.
func (s *Server) attach(engine, host string) error {
	c := s.Call
	i := slices.IndexFunc(c.Config.Engines, func(e config.Engine) bool { return e.Name == engine })
	if i < 0 {
		return fmt.Errorf("-engine %s: the configuration has no table [engine.%s]", engine, engine)
	}
	e := c.Config.Engines[i]
	if !slices.Contains(e.Hosts, host) {
		return fmt.Errorf("-machine %s: HOSTS of engine %s lacks it", host, engine)
	}
	s.Engine, s.Machine = engine, host
	command := slices.Concat(e.SSH, []string{host, remoteCommand(e)})
	return s.Spool.Watching(host, func() error {
		program := exec.Command(command[0], command[1:]...)
		program.Env = environment()
		var pipe io.ReadWriteCloser
		var told func() pilot.Told
		var err error
		if e := asuser.Root(func() { pipe, told, err = pilot.Run(program) }); e != nil || err != nil {
			return fmt.Errorf("SSH of engine %s: %w", engine, errors.Join(e, err))
		}
		err = s.Serve(pipe)
		return told().Why(err, "glidein -install "+host+" puts it there")
	})
}

// environment returns the environment of ssh, which for root has only the necessary variables of
// the caller's.
func environment() []string {
	if os.Getuid() != 0 {
		return nil // the caller's
	}
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "USER=root", "LOGNAME=root"}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && u.HomeDir != "" {
		env[1] = "HOME=" + u.HomeDir
	}
	return env
}

// remoteCommand returns the command for a shell on the machine.
func remoteCommand(e config.Engine) string {
	command := "exec " + engine.Quoted(engine.Below(e.Starter)) + " -pilot"
	if e.State != "" {
		command += " -state " + engine.Quoted(engine.Below(e.State))
	}
	return command
}

// tally counts a pilot's work over all its links. It is kept with the signs of its life.
type tally struct {
	heard.Served
	last heard.Sign
	free time.Time // since when it has had no job; zero: it has some
}

// begin goes on where an earlier link of the pilot ended, by the last sign of its machine.
func (t *tally) begin(before heard.Sign, pilot int) {
	t.Served = heard.Served{Pilot: pilot}
	if before.Pilot == pilot {
		t.Served = before.Served
	}
}

// busy notes whether the pilot has jobs.
func (t *tally) busy(is bool) {
	t.count()
	switch {
	case is:
		t.free = time.Time{}
	case t.free.IsZero():
		t.free = time.Now()
	}
}

// count counts the time without jobs until now.
func (t *tally) count() {
	if !t.free.IsZero() {
		now := time.Now()
		t.Idle += now.Sub(t.free)
		t.free = now
	}
}

// keep keeps the number of jobs with the last sign.
func (t *tally) keep(dir, machine string) error {
	if t.Jobs == t.last.Jobs {
		return nil
	}
	return t.note(dir, machine, t.last)
}

// note makes a sign the machine's last one, with the pilot's work until now.
func (t *tally) note(dir, machine string, s heard.Sign) error {
	t.count()
	s.Served = t.Served
	t.last = s
	return heard.Note(dir, machine, s)
}

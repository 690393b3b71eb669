package starter

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/account"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/drain"
	"fairspool/cmd/internal/hooks"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:   "starter",
		AsRoot: func(*cmdline.Call) bool { return true },
		Here:   func(c *cmdline.Call) bool { return c.Has("pilot") },
		Brief:  "run matched jobs on this machine",
		Synopsis: []string{
			"[-json | -q] [-wait] [options]",
			"-watch [-door] [-drain [-quick | -fast]] [-json | -q] [options]",
			"-drain [-machine HOST] [-graceful | -quick | -fast] [-reason TEXT] [-json | -q] [options]",
			"-drain -cancel [-machine HOST] [-json | -q] [options]",
			"-pilot [-state DIR] [-home COMMAND -token FILE] [-idle SECONDS] [-time SECONDS] [-q] [options]",
		},
		About: `Starts, in one pass, each job that is matched with a slot of this machine (NETWORK_HOSTNAME). Each job gets a supervisor: a background process that outlives the pass, records how the job ends, and ends the job when it is held or removed, must leave its slot, or exceeds a limit. Run it from cron, or with -watch as a service.

If a supervisor has died, starter kills what is left of its job and makes the job idle again. A job that cannot be started is held, with the reason. A job with a deferral_time waits for that time in its slot.

With -watch starter stays, starts each job as soon as it is matched, and makes a pass every minute. SIGTERM and SIGINT end it; its jobs go on. SIGHUP makes it read the configuration again.

With -drain this machine takes no more jobs, and its jobs leave it, to run again elsewhere. -machine names another machine, where a pilot runs jobs.

Supervisors write errors to starter.log in the spool.`,
		Flags: slices.Concat([]cmdline.Flag{
			{Name: "q", Aliases: []string{"quiet"}, Help: "print errors only"},
			{Name: "json", Help: "report as JSON; with -watch, one object a line"},
			{Name: "wait", Help: "wait until the jobs that this pass started have ended"},
			{Name: "watch", Help: "stay, and start jobs as soon as they are matched"},
			{Name: "door", Help: "-watch: let users of other accounts use the pool, by serve"},
			{Name: "pilot", Help: "run jobs of a spool on another machine, to which standard input and output lead"},
			{Name: "home", Args: []string{"COMMAND"}, Help: "-pilot: the command that connects to the pool, such as 'ssh -T pool@head serve -pilot'"},
			{Name: "token", Args: []string{"FILE"}, Help: "-home: the file with the pilot's token, from glidein -token"},
			{Name: "state", Args: []string{"DIR"}, Help: "-pilot: keep the state of the jobs here in DIR"},
			{Name: "idle", Args: []string{"SECONDS"}, Help: "-pilot, as a batch engine's job: end after SECONDS without a job"},
			{Name: "time", Args: []string{"SECONDS"}, Help: "-pilot, as a batch engine's job: end within SECONDS"},
			{Name: "grace", Args: []string{"SECONDS"}, Help: "-pilot, as a batch engine's job: the seconds between the engine's signal and its kill (default 30)"},
		}, drain.Flags(), []cmdline.Flag{
			cmdline.Force,
			{Name: hooks.Flag, Help: "internal: run the commands that wait for job events; started by the command that caused one"},
			{Name: "supervise", Args: []string{"CLUSTER.PROC.ATTEMPT"}, Help: "internal: supervise one attempt; started by a pass"},
		}),
		Examples: []cmdline.Example{
			{Does: "start matched jobs, from cron", Line: "starter -q"},
			{Does: "start matched jobs, and wait until they have ended", Line: "starter -wait"},
			{Does: "stay, as a service", Line: "starter -watch"},
			{Does: "stay, and let all users of the machine use the pool", Line: "starter -watch -door"},
			{Does: "empty the machine for an upgrade", Line: "starter -drain -reason 'new kernel'"},
			{Does: "let it take jobs again", Line: "starter -drain -cancel"},
			{Does: "run jobs for the pool of another machine, which this one calls", Line: "starter -pilot -home 'ssh -T pool@head serve -pilot' -token pilot.token"},
			{Does: "empty another machine, where a pilot runs jobs", Line: "starter -drain -machine node7"},
		},
		Outputs: outputs, Run: run,
	}
}

func run(c *cmdline.Call) error {
	cmdline.HandNothingOn()
	o, err := read(c)
	if err != nil {
		return err
	}
	if o.pilot {
		return pilotHere(c, o)
	}
	if err := account.Serve(c); err != nil {
		return err
	}
	if o.supervise != nil {
		return supervisor(c, *o.supervise)
	}
	if c.Has(hooks.Flag) {
		return runHooks(c)
	}
	sp, err := c.Spool()
	if err == nil {
		err = account.NoteRoot(sp)
	}
	if err == nil {
		err = sp.View(func(v *spool.View) error { return lifecycle.Refuse(v, c.Reading()) })
	}
	if err != nil {
		return err
	}
	switch {
	case o.watch:
		return follow(c, o)
	case o.Drain:
		return drainMachine(c, o)
	}
	return pass(c, o)
}

// options are the options of the command line.
type options struct {
	supervise *pool.Attempt // what this process supervises; nil: it is no supervisor

	json, quiet, wait bool
	watch, door       bool
	pilot             bool
	home, token       string
	state             string
	idle, time, grace time.Duration
	drain.Options
}

// read returns the options of a call, and refuses those that have no meaning together.
func read(c *cmdline.Call) (o options, err error) {
	if len(c.Args) > 0 {
		return o, cmdline.Usagef("%s: takes no arguments; see starter -help", c.Args[0])
	}
	o.pilot, o.home, o.token, o.state, o.quiet = c.Has("pilot"), c.Value("home"), c.Value("token"), c.Value("state"), c.Has("q")
	if c.Has("supervise") {
		a, err := pool.ParseAttempt(c.Value("supervise"))
		if err != nil {
			return o, cmdline.Usagef("-supervise: %v", err)
		}
		o.supervise = &a
		return o, nil
	}
	for _, pair := range [][]string{
		{"json", "q"}, {"pilot", "json"}, {"pilot", "wait"}, {"pilot", "watch"}, {"pilot", "drain"}, {"watch", "wait"}, {"drain", "wait"}, {"watch", "cancel"}, {"watch", "reason"}, {"watch", "machine"},
	} {
		if _, err := c.One(pair...); err != nil {
			return o, err
		}
	}
	if c.Has("door") && !c.Has("watch") {
		return o, cmdline.Usagef("-door: only with -watch")
	}
	for flag, to := range map[string]*time.Duration{"idle": &o.idle, "time": &o.time, "grace": &o.grace} {
		if !c.Has(flag) {
			continue
		}
		n, err := strconv.Atoi(c.Value(flag))
		if err != nil || n < 1 || n > math.MaxInt32 {
			return o, cmdline.Usagef("-%s %s: want a whole number of seconds, 1 or more", flag, c.Value(flag))
		}
		*to = time.Duration(n) * time.Second
	}
	for _, flag := range []string{"home", "token", "state", "idle", "time", "grace"} {
		if c.Has(flag) && !o.pilot {
			return o, cmdline.Usagef("-%s: only with -pilot", flag)
		}
		if c.Has(flag) && strings.TrimSpace(c.Value(flag)) == "" {
			return o, cmdline.Usagef("-%s: wants a value", flag)
		}
	}
	if c.Has("home") != c.Has("token") {
		return o, cmdline.Usagef("-home and -token: give both: glidein -token MACHINE on the spool's host makes a token")
	}
	o.json, o.wait = c.Has("json"), c.Has("wait")
	o.watch, o.door = c.Has("watch"), c.Has("door")
	o.Options, err = drain.Read(c)
	return o, err
}

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
		About: `One pass, to be run from cron. Each job that was matched to a slot of this machine (NETWORK_HOSTNAME) is started under a supervisor: a process in the background that outlives the pass, records how the job ends, and makes it end when it is held or removed, has to leave its slot, or takes longer than it may.

A job whose supervisor has died is made idle again, after what was left of it has been killed. A job that cannot be started is held with the reason. One with a deferral_time waits for that in its slot.

With -watch it stays, starts what was matched as soon as that is so, and makes a pass every minute. SIGTERM and SIGINT end it, and the jobs go on; at SIGHUP it reads the configuration again.

With -drain this machine, or with -machine another one where a pilot runs jobs, takes no more jobs, and those that are there leave it, to run again elsewhere.

Supervisors tell of trouble in starter.log in the spool.`,
		Flags: slices.Concat([]cmdline.Flag{
			{Name: "q", Aliases: []string{"quiet"}, Help: "say nothing but bad news"},
			{Name: "json", Help: "report as JSON; with -watch, one object a line"},
			{Name: "wait", Help: "wait until the jobs that this pass started have ended"},
			{Name: "watch", Help: "stay, and start what is matched at once"},
			{Name: "door", Help: "-watch: let users of other accounts use the pool, by serve"},
			{Name: "pilot", Help: "run the jobs of a pool whose spool is on another machine, to which standard input and output lead"},
			{Name: "home", Args: []string{"COMMAND"}, Help: "-pilot: the command that leads there, such as 'ssh -T pool@head serve -pilot'"},
			{Name: "token", Args: []string{"FILE"}, Help: "-home: the file with the pilot's token, by glidein -token"},
			{Name: "state", Args: []string{"DIR"}, Help: "-pilot: keep in DIR what is known of the jobs here"},
			{Name: "idle", Args: []string{"SECONDS"}, Help: "-pilot, as a batch engine's job: end after so long without a job"},
			{Name: "time", Args: []string{"SECONDS"}, Help: "-pilot, as a batch engine's job: have no more time than that"},
			{Name: "grace", Args: []string{"SECONDS"}, Help: "-pilot, as a batch engine's job: be killed so long after a signal; 30 seconds without it"},
		}, drain.Flags(), []cmdline.Flag{
			cmdline.Force,
			{Name: hooks.Flag, Help: "internal: run the commands that wait for job events; a command that has brought one about calls it so"},
			{Name: "supervise", Args: []string{"CLUSTER.PROC.ATTEMPT"}, Help: "internal: supervise one attempt; a pass calls itself so"},
		}),
		Examples: []cmdline.Example{
			{Does: "start what was matched, from cron", Line: "starter -q"},
			{Does: "start it and wait until all of it has ended", Line: "starter -wait"},
			{Does: "stay, as a service", Line: "starter -watch"},
			{Does: "stay, and let all users of the machine use the pool", Line: "starter -watch -door"},
			{Does: "empty the machine for an upgrade", Line: "starter -drain -reason 'new kernel'"},
			{Does: "open it again", Line: "starter -drain -cancel"},
			{Does: "run jobs for the pool of another machine, which lets this one call it", Line: "starter -pilot -home 'ssh -T pool@head serve -pilot' -token pilot.token"},
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

// options are what the command line asks for.
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
		return o, cmdline.Usagef("-door: has a meaning with -watch only")
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
			return o, cmdline.Usagef("-%s: has a meaning with -pilot only", flag)
		}
		if c.Has(flag) && strings.TrimSpace(c.Value(flag)) == "" {
			return o, cmdline.Usagef("-%s: wants a value", flag)
		}
	}
	if c.Has("home") != c.Has("token") {
		return o, cmdline.Usagef("-home and -token: go together: glidein -token MACHINE on the spool's host makes a token")
	}
	o.json, o.wait = c.Has("json"), c.Has("wait")
	o.watch, o.door = c.Has("watch"), c.Has("door")
	o.Options, err = drain.Read(c)
	return o, err
}

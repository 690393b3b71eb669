package main

import (
	"strings"
	"unicode"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/spool"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:   "starter",
		AsRoot: true,
		Brief:  "run matched jobs on this machine",
		Synopsis: []string{
			"[-json | -q] [-wait] [options]",
			"-watch [-door] [-drain [-quick | -fast]] [-json | -q] [options]",
			"-drain [-graceful | -quick | -fast] [-reason TEXT] [-json | -q] [options]",
			"-drain -cancel [-json | -q] [options]",
		},
		About: `One pass, to be run from cron. Each job that was matched to a slot of this machine (NETWORK_HOSTNAME) is started under a supervisor: a process in the background that outlives the pass, records how the job ends, and makes it end when it is held or removed, has to leave its slot, or takes longer than it may.

A job whose supervisor has died is made idle again, after what was left of it has been killed. A job that cannot be started is held with the reason. One with a deferral_time waits for that in its slot.

With -watch it stays, starts what was matched as soon as that is so, and makes a pass every minute. SIGTERM and SIGINT end it, and the jobs go on; at SIGHUP it reads the configuration again.

With -drain this machine takes no more jobs, and those that are there leave it, to run again elsewhere.

Supervisors tell of trouble in starter.log in the spool.`,
		Flags: []cmdline.Flag{
			{Name: "q", Aliases: []string{"quiet"}, Help: "say nothing but bad news"},
			{Name: "json", Help: "report as JSON; with -watch, one object a line"},
			{Name: "wait", Help: "wait until the jobs that this pass started have ended"},
			{Name: "watch", Help: "stay, and start what is matched at once"},
			{Name: "door", Help: "-watch: let users of other accounts use the pool, by serve"},
			{Name: "drain", Help: "drain this machine and wait until its jobs have left; with -watch, when that is told to end"},
			{Name: "graceful", Help: "-drain: jobs have their retirement time, and then the time to vacate"},
			{Name: "quick", Help: "-drain: jobs have the time to vacate only"},
			{Name: "fast", Help: "-drain: jobs are killed at once"},
			{Name: "reason", Args: []string{"TEXT"}, Help: "-drain: why, for slots and jobs to say"},
			{Name: "cancel", Help: "-drain: let jobs come to this machine again"},
			cmdline.Force,
			{Name: "supervise", Args: []string{"CLUSTER.PROC.ATTEMPT"}, Help: "internal: supervise one attempt; a pass calls itself so"},
		},
		Examples: []cmdline.Example{
			{Does: "start what was matched, from cron", Line: "starter -q"},
			{Does: "start it and wait until all of it has ended", Line: "starter -wait"},
			{Does: "stay, as a service", Line: "starter -watch"},
			{Does: "stay, and let all users of the machine use the pool", Line: "starter -watch -door"},
			{Does: "empty the machine for an upgrade", Line: "starter -drain -reason 'new kernel'"},
			{Does: "open it again", Line: "starter -drain -cancel"},
		},
		Run: run,
	}
}

func run(c *cmdline.Call) error {
	handNothingOn()
	if err := serveAccount(c); err != nil {
		return err
	}
	if len(c.Args) > 0 {
		return cmdline.Usagef("%s: takes no arguments; see starter -help", c.Args[0])
	}
	if c.Has("supervise") {
		return supervise(c, c.Value("supervise"))
	}
	if err := fit(c); err != nil {
		return err
	}
	sp, err := c.Spool()
	if err == nil {
		err = noteRoot(sp)
	}
	if err == nil {
		err = sp.View(func(v *spool.View) error { return operation.Refuse(v, c.Reading()) })
	}
	if err != nil {
		return err
	}
	switch {
	case c.Has("watch"):
		return follow(c)
	case c.Has("drain"):
		return drain(c)
	}
	return pass(c)
}

// fit refuses options that have no meaning together.
func fit(c *cmdline.Call) error {
	for _, pair := range [][]string{
		{"json", "q"}, {"watch", "wait"}, {"drain", "wait"}, {"watch", "cancel"},
		{"graceful", "quick", "fast", "cancel"}, {"reason", "cancel"}, {"watch", "reason"},
	} {
		if _, err := c.One(pair...); err != nil {
			return err
		}
	}
	for _, flag := range []string{"graceful", "quick", "fast", "reason", "cancel"} {
		if c.Has(flag) && !c.Has("drain") {
			return cmdline.Usagef("-%s: has a meaning with -drain only", flag)
		}
	}
	if c.Has("door") && !c.Has("watch") {
		return cmdline.Usagef("-door: has a meaning with -watch only")
	}
	if strings.ContainsFunc(c.Value("reason"), unicode.IsControl) {
		return cmdline.Usagef("-reason: want one line, without control characters")
	}
	return nil
}

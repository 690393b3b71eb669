package main

import "fairspool/cmd/internal/cmdline"

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:     "starter",
		Brief:    "run matched jobs on this machine",
		Synopsis: []string{"[options]"},
		About: `One pass, to be run from cron. Each job that was matched to a slot of this machine (NETWORK_HOSTNAME) is started under a supervisor: a process in the background that outlives the pass, records how the job ends, and makes it end when it is held or removed, has to leave its slot, or takes longer than it may.

A job whose supervisor has died is made idle again, after what was left of it has been killed. A job that cannot be started is held with the reason. One with a deferral_time waits for that in its slot.

Supervisors tell of trouble in starter.log in the spool.`,
		Flags: []cmdline.Flag{
			{Name: "q", Aliases: []string{"quiet"}, Help: "do not say how many jobs were started"},
			{Name: "json", Help: "report as JSON"},
			{Name: "wait", Help: "wait until the jobs that this pass started have ended"},
			{Name: "supervise", Args: []string{"CLUSTER.PROC.ATTEMPT"}, Help: "internal: supervise one attempt; a pass calls itself so"},
		},
		Examples: []cmdline.Example{
			{Does: "start what was matched, from cron", Line: "starter -q"},
			{Does: "start it and wait until all of it has ended", Line: "starter -wait"},
		},
		Run: run,
	}
}

func run(c *cmdline.Call) error {
	if len(c.Args) > 0 {
		return cmdline.Usagef("%s: takes no arguments", c.Args[0])
	}
	handNothingOn()
	if c.Has("supervise") {
		return supervise(c, c.Value("supervise"))
	}
	return pass(c)
}

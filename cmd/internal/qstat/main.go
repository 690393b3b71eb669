package qstat

import (
	"slices"
	"sync"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/complete"
	"fairspool/cmd/internal/health"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:     "qstat",
		Served:   true,
		Here:     waits,
		Before:   before,
		Brief:    "show the queue",
		Synopsis: []string{"[options] [CLUSTER | CLUSTER.PROC | USER ...]", "-f [-ne] [options] [CLUSTER | CLUSTER.PROC | USER ...]", "-g c [options]", "-j [ID[,ID...]] [-json | -xml]", "-start [-json] [CLUSTER | CLUSTER.PROC | USER ...]", "-history [options] [CLUSTER | CLUSTER.PROC | USER ...]", "-wait LOG [-timeout SECONDS] [-json] [CLUSTER | CLUSTER.PROC ...]"},
		About: `Shows the jobs of all users in the queue: running jobs, by slot; waiting jobs, in the order in which they would be served; held jobs; and jobs that have ended but stay in the queue.

A terminal gets a brief list: job, owner, state and its duration, slot or reason, and command; the last line counts the jobs in each state. A pipe or a file gets Grid Engine's layout, and so does -sge.

In that layout, job-ID is the name of the job in commands, such as 12.0. Waiting procs that look alike share a line, with the cluster as job-ID and the procs as ja-task-ID. prior is JobPrio: among jobs of one submitter, higher goes first. The time is that of the start, or of the submission if there is no start. The states are r running, Rr running again, s suspended, t matched and about to start, qw waiting, hqw held or waiting for other jobs, Eqw held because it could not run, dr removed but still ending, hr held but still ending, z ended.

With JOB_PRIORITY_POLICY = "maui" or "sge" one queue holds the jobs of all submitters. With "maui" prior is the start priority, and the jobs that the policy leaves out follow the waiting ones. With "sge" prior is Grid Engine's number, and procs that look alike stand at the place of the first, whose numbers the line shows.

Columns have Grid Engine's widths; on a terminal, the widths that they need and that fit.

For each cluster that has yet to create jobs (max_materialize, max_idle) a line at the end says which.`,
		Flags: append([]cmdline.Flag{
			{Name: "u", Args: []string{"USER[,USER...]"}, Help: "show only jobs of these users; * is all users, *@a.org all of a domain"},
			{Name: "s", Args: []string{"STATES"}, Help: "show only jobs in these states, one letter after the other: p pending, r running, s suspended, z ended; hu held by a user, ho by an administrator, hs by a policy, hj for other jobs, ha until a later time, h all of these; a is prs"},
			{Name: "q", Args: []string{"SLOT[,SLOT...]"}, Help: "show only jobs on these slots or machines; * stands for any text, ? for any character"},
			{Name: "constraint", Args: []string{"EXPR"}, Help: "show only jobs for which the expression is true"},
			{Name: "f", Help: "show the slots with their jobs, then the pending jobs"},
			{Name: "ne", Help: "with -f, leave out slots without jobs"},
			{Name: "r", Help: "show each job's requests below it"},
			{Name: "g", Args: []string{"c|d|t"}, Repeat: true, Help: "c: show how full the machines are, and the number of jobs; d: show each proc on a line of its own; t: show MASTER for jobs with a slot"},
			{Name: "pri", Help: "show the five numbers that order the jobs of a submitter; with the policy maui, in the layout of its diagnose -p, all components of the priorities, and below them the jobs that it leaves out; with sge the normalised urgency, POSIX priority and tickets, and the POSIX priority"},
			{Name: "urg", Help: "show the submitter's EUP and place in the order, and the job's Deadline and waiting time; with the policy maui the job's place in the queue; with sge its urgency and the contributions to it"},
			{Name: "ext", Help: "show project, department, usage and the submitter's RUP and EUP; with the policy maui the job's place in the queue; with sge the job's tickets"},
			{Name: "w", Aliases: []string{"wide"}, Help: "do not shorten columns; in Grid Engine's layout, also show how long each job has waited (D+HH:MM:SS)"},
			{Name: "xml", Help: "show XML in Grid Engine's form"},
			{Name: "j", Args: []string{"[ID[,ID...]]"}, Help: "show the details of a cluster or of a job such as 12.0, and why it waits or how it ended; without ID the reasons for which jobs wait"},
		}, slices.Concat(adprint.Flags, moreFlags, elsewhere)...),
		Examples: []cmdline.Example{
			{Does: "the whole queue", Line: "qstat"},
			{Does: "one user's jobs", Line: "qstat -u alice"},
			{Does: "held jobs", Line: "qstat -s h"},
			{Does: "how full the pool is", Line: "qstat -g c"},
			{Does: "why a job waits, or how it ended", Line: "qstat -j 12.0"},
			{Does: "when the jobs of alice start at the latest", Line: "qstat -start alice"},
			{Does: "the brief list, until you type q", Line: "qstat -watch"},
			{Does: "the components of priorities", Line: "qstat -pri"},
			{Does: "ids and priorities for a script", Line: "qstat -af ClusterId ProcId JobPrio"},
		},
		Takes: []string{"JOB", "USER"}, Names: complete.Names,
		Outputs: outputs, Run: run,
	}
}

// moreFlags are the flags of layouts, forecasts, logs, jobs that have left, and -watch.
var moreFlags = []cmdline.Flag{
	{Name: "brief", Help: "show a brief list: job, owner, state, duration, slot or reason, command. It is the default on a terminal; FAIRSPOOL_QSTAT=brief makes it the default everywhere"},
	{Name: "sge", Help: "show Grid Engine's layout, the default in a pipe or a file (also FAIRSPOOL_QSTAT=sge)"},
	{Name: "start", Help: "forecast the latest start of each waiting job, from the time limits of the jobs before it, if no more jobs are submitted"},
	{Name: "wait", Args: []string{"LOG"}, Help: "wait until the jobs in the event log LOG, or those named as arguments, have ended, and exit with their status"},
	{Name: "timeout", Args: []string{"SECONDS"}, Help: "with -wait, give up after SECONDS"},
	{Name: "history", Help: "show the jobs that have left the queue, the latest first: begin, end, result, run time and wait for the first start (D+HH:MM:SS)"},
	{Name: "limit", Args: []string{"N"}, Help: "with -history, show at most N jobs"},
	{Name: "since", Args: []string{"TIME"}, Help: "with -history, show jobs that ended at TIME or later: Unix seconds, RFC 3339, a day, or an age such as 90m, 2h or 1d"},
	{Name: "watch", Args: []string{"[SECONDS]"},
		Help: "show it again until q or ^C, whenever something has changed or a shown time runs, at most every SECONDS (default 2). A terminal is redrawn; elsewhere each display follows a line with the time. A long queue is drawn less often, so that drawing takes less than a twentieth of one processor"},
}

// elsewhere are options of Grid Engine's qstat, condor_q and squeue that have no meaning here, or
// another name.
var elsewhere = cmdline.Elsewhere(
	[2]string{"explain", "slots have no alarm and error states; slots list -long shows the state of a slot"},
	[2]string{"F", "slots list -long shows what a slot offers"},
	[2]string{"l", "choose jobs with -constraint, such as RequestMemory > 1024"},
	[2]string{"ncb", "no job is bound to cores"},
	[2]string{"pe", "no slot belongs to a parallel environment"},
	[2]string{"qs", "choose slots by name with -q; slots list -long shows their ads"},
	[2]string{"t", "a job has one task; -g d shows each proc"},
	[2]string{"U", "slots have no lists of users; a slot's Requirements say whose jobs it takes"},

	[2]string{"x", "-history shows jobs that have ended"}, [2]string{"a", "leave it out: all jobs are shown"}, [2]string{"allusers", "leave it out: all jobs are shown"},
	[2]string{"run", "-s r shows running jobs"}, [2]string{"hold", "-s h shows held jobs, -j JOB the reason"}, [2]string{"held", "-s h shows held jobs, -j JOB the reason"},
	[2]string{"analyze", "-j JOB shows why a job waits"}, [2]string{"better-analyze", "-j JOB shows why a job waits"},
	[2]string{"format", "choose attributes with -af ATTR..."}, [2]string{"o", "choose attributes with -af ATTR..."},
	[2]string{"n", "leave it out: the slot of a job is shown; -af RemoteHost shows only the slot"}, [2]string{"i", "-s p shows waiting jobs"},
	[2]string{"submitter", "choose users with -u USER"}, [2]string{"user", "choose users with -u USER"}, [2]string{"states", "choose states with -s: p waiting, r running, h held"},
	[2]string{"nobatch", "leave it out: each job has its own line"}, [2]string{"batch", "-g d shows each proc"}, [2]string{"global", "there is one queue, the spool's: see -spool"}, [2]string{"name", "there is one queue, the spool's: see -spool"}, [2]string{"pool", "there is one queue, the spool's: see -spool"},
)

func run(c *cmdline.Call) error {
	if waits(c) {
		return waitForLog(c)
	}
	o, err := optionsOf(c)
	if err != nil {
		return err
	}
	var d shows = display{c, o}
	if o.past != nil {
		d = past{c, o}
	}
	if o.watch > 0 {
		return watch(c, d, o)
	}
	err = d.show(c.Stdout, c.Now)
	if o.warned {
		warnOfPool(c)
	}
	return err
}

// warnOfPool warns, on a terminal and in a line below a display for people, of problems that keep
// jobs waiting.
func warnOfPool(c *cmdline.Call) {
	if !c.Terminal() || c.Flush() != nil {
		return
	}
	s, err := c.Spool()
	if err != nil {
		return
	}
	found, err := health.In(c, s)
	if err != nil {
		return // it has been shown, or told of
	}
	found = slices.DeleteFunc(found, func(f health.Finding) bool { return !f.Stops })
	switch len(found) {
	case 0:
	case 1:
		c.Warn("warning: %s", found[0].Line())
	default:
		c.Warn("warning: %s; negotiate -health has more", found[0].Line())
	}
}

// stuck returns what says what in the pool keeps jobs from running, and what to do about it: jobs that
// wait for a slot, or for the starter of its machine; nothing where that cannot be told.
func stuck(c *cmdline.Call, s *spool.Spool, v *spool.View) func(state string, claim *pool.Claim) []string {
	look := sync.OnceValue(func() []health.Finding {
		facts, err := health.Gather(c, s)
		if err != nil {
			return nil
		}
		found, err := health.Stopping(v, facts)
		if err != nil {
			return nil
		}
		return found
	})
	return func(state string, claim *pool.Claim) (lines []string) {
		if state != "qw" && (claim == nil || claim.State != pool.Matched) {
			return nil
		}
		for _, f := range look() {
			if state == "qw" && f.Severity == health.Critical || claim != nil && late(f, claim) {
				lines = append(lines, f.Line())
			}
		}
		return lines
	}
}

// late reports whether a finding keeps a matched job from being started.
func late(f health.Finding, claim *pool.Claim) bool {
	if len(f.Machines) == 0 {
		return f.Code != health.NoCycle && f.Code != health.NoSlots
	}
	return slices.Contains(f.Machines, claim.Machine)
}

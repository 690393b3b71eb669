// Package submit is the command that puts the jobs of a submit description into the queue, or a job that runs
// the command line behind --.
//
// The description is read and checked as a whole before the spool is touched:
// its includes and items are read and its commands run then, too. Its jobs
// enter the queue in one transaction: all of them or none. Submitting reads no
// job of the queue, however long that is, except with -unique, which reads the
// owner's clusters.
package submit

import (
	"fmt"
	"os/user"
	"slices"
	"strconv"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/qshell"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/submitfile"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:        "submit",
		Served:      true,
		Unread:      true, // a queue that is long costs it nothing
		Here:        func(c *cmdline.Call) bool { return c.Has("dry-run") || c.Has("interactive") },
		Before:      before,
		Brief:       "put jobs into the queue",
		Synopsis:    []string{"[options] [NAME=VALUE ...] -- CMD [ARG ...]", "[options] [NAME=VALUE ...] SCRIPT [ARG ...]", "[options] [NAME=VALUE ...] [FILE|-] [-queue ARGS...]", "-interactive [options] [NAME=VALUE ...] [-- CMD [ARG ...]]"},
		CommandLine: true,
		About: `Submits jobs to the queue, and prints the number of their cluster.

submit -- CMD ARG ... runs one command in the current folder with the current environment. Its output goes to NAME.CLUSTER.PROC.out and .err in that folder, such as echo.12.0.out.

submit SCRIPT ARG ... runs a copy of a batch script: a file that begins with #!, or with #SBATCH, #$ or #PBS lines. Directives that have a meaning here count; the others are warnings. Output is kept as for a command.

submit FILE reads a submit description, from standard input if FILE is -, or if there is no FILE and standard input is no terminal. It submits all jobs of the description, as one cluster, or none. An error is reported with file, line and place.

NAME=VALUE counts as a line before the description. Write ./a=b.sub for a file with = in its name.`,
		Flags: flags(),
		Ends:  isScript,
		Examples: []cmdline.Example{
			{Does: "run a command", Line: "submit -- echo hello"},
			{Does: "run a shell command line with 4 processors, for at most 2 hours", Line: "submit -cpus 4 -memory 8G -time 2h -name fit -- sh -c 'fit *.dat | sort >result'"},
			{Does: "run a command after all jobs of cluster 12 have succeeded", Line: "submit -after 12 -- ./collect results/"},
			{Does: "run a batch script with two arguments", Line: "submit -memory 4G job.sh input.dat -v"},
			{Does: "submit the jobs of a description", Line: "submit analysis.sub"},
			{Does: "submit one job for each file, with more memory", Line: `submit -a 'request_memory = 4G' one.sub -queue input matching '*.dat'`},
			{Does: "submit five jobs without a file", Line: `printf 'executable = /bin/sleep\narguments = 60\nqueue 5\n' | submit -`},
			{Does: "see what would be submitted", Line: "submit -dry-run - analysis.sub"},
			{Does: "a shell with 4 processors, for 2 hours at most", Line: "submit -interactive -cpus 4 -time 2h"},
			{Does: "submit from cron, unless the last jobs are still in the queue", Line: "submit -unique nightly nightly.sub"},
		},
		Outputs: outputs, Run: run,
	}
}

// submission is one run of the command.
type submission struct {
	*cmdline.Call
	options
	owner    string // the jobs' owner
	warnings int    // so many were printed
	kept     bool   // the jobs keep their output: see Options.KeepOutput
	held     []heldProcs
	looked   func() ([]doomed, error) // waits for the findings of the caller's end on the jobs' files; nil unless in serve
}

func run(c *cmdline.Call) error {
	o, err := readOptions(c)
	if c.Has("interactive") {
		return qshell.Interactive(c, Command())
	} else if err != nil {
		return err
	}
	s := &submission{Call: c, options: o}
	if c.ThroughDoor() {
		return s.submit(nil)
	}
	if done, err := o.asOwner(c, true); done || err != nil {
		return err
	}
	jobs, err := s.read()
	if err == nil {
		err = s.strict()
	}
	if err != nil {
		return err
	}
	if s.dryRunTo != "" {
		return s.dryRun(jobs)
	}
	return s.submit(jobs)
}

// submit puts jobs into the queue, and then does what the options ask for. In serve, jobs is nil:
// submit asks the caller's end for them.
func (s *submission) submit(jobs *jobad.Jobs) error {
	k, err := s.put(jobs)
	if err != nil {
		return s.tellOf(err)
	}
	if s.Trial != nil {
		return nil
	}
	s.logSubmitted(k)
	s.serve(k)
	s.Changed()
	if err := s.tell(k); err != nil || !s.waits {
		return err
	}
	return s.wait(k)
}

// options are the options of the command line that do not describe jobs.
type options struct {
	inPlaceOf string // -owner: for whom the caller submits; empty: the caller
	file      string // -file; empty: the first argument
	batchName string
	unique    string     // empty: any number of times
	queue     []string   // the words of -queue; nil: the description has its own
	append    [][]string // the lines of -append
	maxJobs   int        // 0: any number
	dryRunTo  string     // -dry-run: where the ads go; empty: into the queue

	json, terse, verbose            bool
	strictly, force, blindly, waits bool // -strict, -force, -disable, -wait
}

// readOptions returns the options of a call, and refuses those that have no meaning together.
func readOptions(c *cmdline.Call) (o options, err error) {
	if err = cmdline.Refuse(c.Has, cmdline.Refusal{Option: "terse", Others: []string{"verbose", "json"}}, cmdline.Refusal{Option: "verbose",
		Others: []string{"json"}}, cmdline.Refusal{Option: "dry-run", Others: []string{"terse", "verbose", "wait"}}); err != nil {
		return o, err
	}
	o = options{
		inPlaceOf: c.Value("owner"), file: c.Value("file"), batchName: c.Value("batch-name"), unique: c.Value("unique"),
		append: c.Repeated("append"), dryRunTo: c.Value("dry-run"), json: c.Has("json"), terse: c.Has("terse"), verbose: c.Has("verbose"),
		strictly: c.Has("strict"), force: c.Has("force"), blindly: c.Has("disable"), waits: c.Has("wait"), queue: c.Values("queue"),
	}
	if c.Has("maxjobs") {
		if o.maxJobs, err = strconv.Atoi(c.Value("maxjobs")); err != nil || o.maxJobs < 1 {
			return o, cmdline.Usagef("-maxjobs %s: want a whole number from 1 up", c.Value("maxjobs"))
		}
	}
	for _, flag := range []string{"owner", "file"} {
		if c.Has(flag) && c.Value(flag) == "" {
			return o, cmdline.Usagef("-%s: its name is empty", flag)
		}
	}
	if c.Has("dry-run") && o.dryRunTo == "" {
		return o, cmdline.Usagef("-dry-run: the file's name is empty; - is standard output")
	}
	if c.Has("unique") {
		err = checkKey(o.unique)
	}
	return o, err
}

// warn prints a warning and counts it.
func (s *submission) warn(format string, args ...any) {
	s.warnings++
	s.Warn("warning: "+format, args...)
}

// strict is an error when there were warnings, with -strict.
func (s *submission) strict() error {
	if !s.strictly || s.warnings == 0 {
		return nil
	}
	return fmt.Errorf("-strict: %s: nothing is submitted", plural.Count(s.warnings, "warning"))
}

// flags are the flags of condor_submit that have a meaning here, with their
// abbreviations, and our own.
func flags() []cmdline.Flag {
	return slices.Concat([]cmdline.Flag{
		{Name: "append", Args: []string{"LINE"}, Min: 1, Repeat: true, Help: "put LINE before every queue line of the description; a LINE that begins with queue acts like -queue"},
		{Name: "queue", Args: []string{"ARGS..."}, Min: 1, Help: "use `queue ARGS` as the queue line of a description without one; takes all words up to the next option"},
		{Name: "batch-name", Aliases: []string{"name"}, Args: []string{"NAME"}, Min: 1, Help: "set the name of the jobs, whatever the description says"},
		{Name: "cpus", Args: []string{"N"}, Help: "request N processors for each job (request_cpus)"},
		{Name: "memory", Args: []string{"SIZE"}, Help: "request memory for each job, such as 4G or 500M; a number alone is MB (request_memory)"},
		{Name: "gpus", Args: []string{"N"}, Help: "request N GPUs for each job (request_gpus)"},
		{Name: "time", Args: []string{"TIME"}, Help: "limit the run time of each job, such as 2h, 90m, 1:30:00 or seconds (wall_time)"},
		{Name: "after", Args: []string{"CLUSTERS"}, Help: "start after all jobs of these clusters, such as 12 or 12,13, have succeeded (after_ok)"},
		{Name: "output", Args: []string{"FILE"}, Help: "write standard output to FILE; /dev/null keeps none (output)"},
		{Name: "error", Args: []string{"FILE"}, Help: "write standard error to FILE (error)"},
		{Name: "file", Args: []string{"FILE"}, Min: 2, Help: "read the description from FILE; the same as FILE alone"},
		{Name: "dry-run", Args: []string{"FILE"}, Min: 3, Help: "write the job ads to FILE (- is standard output), and submit nothing"},
		{Name: "terse", Min: 3, Help: "print only the first and the last job: 12.0 - 12.9"},
		{Name: "verbose", Min: 1, Help: "show the ads of the submitted jobs"},
		{Name: "json", Help: "print the cluster and the number of jobs as JSON; with -dry-run, write the ads as an array"},
		{Name: "strict", Help: "treat warnings as errors: submit nothing if there are any"},
		{Name: "force", Help: "submit refused jobs on hold, such as those whose files are missing or that no slot can run; the hold reason says why they were refused"},
		{Name: "disable", Min: 1, Help: "do not check that files and folders exist"},
		{Name: "maxjobs", Args: []string{"N"}, Min: 3, Help: "submit nothing if the description asks for more than N jobs"},
		{Name: "interactive", Aliases: []string{"i"}, Help: "run a shell, or what stands behind --, in a slot and on this terminal; see qshell(1)"},
		{Name: "unique", Args: []string{"KEY"}, Help: "submit nothing while jobs that you submitted with the same KEY are in the queue"},
		{Name: "wait", Help: "wait until all jobs have ended, and exit with the status of the first that did not return 0; 128 + N if signal N killed it"},
		{Name: "owner", Args: []string{"NAME"}, Help: "submit for NAME instead of yourself; for administrators"},
		{Name: "single-cluster", Min: 3, Help: "accepted without effect: a description always makes one cluster"},
	}, elsewhere())
}

// elsewhere are flags of condor_submit, sbatch and qsub that have no meaning here, or another name.
func elsewhere() []cmdline.Flag {
	return cmdline.Elsewhere(
		[2]string{"unused", "names that nothing refers to are always reported; leave them out of the description"},
		[2]string{"remote", onePool}, [2]string{"pool", onePool}, [2]string{"address", onePool},
		[2]string{"factory", "give max_materialize or max_idle in the description instead"},
		[2]string{"digest", "give max_materialize or max_idle in the description instead"},
		[2]string{"dump", "write the job ads with -dry-run FILE instead"},
		[2]string{"stm", "there is no sandbox to move"},

		[2]string{"J", "name jobs with -name NAME"}, [2]string{"job-name", "name jobs with -name NAME"}, [2]string{"N", "name jobs with -name NAME"},
		[2]string{"c", "ask for processors with -cpus N; put the words of a command after --"}, [2]string{"cpus-per-task", "ask for processors with -cpus N"},
		[2]string{"n", "a job is one process: ask for its processors with -cpus N"}, [2]string{"ntasks", "a job is one process: ask for its processors with -cpus N"},
		[2]string{"nodes", "a job runs on one machine: ask for its processors with -cpus N"},
		[2]string{"pe", "a job runs on one machine: ask for its processors with -cpus N"},
		[2]string{"l", "ask with -cpus N, -memory SIZE, -gpus N and -time TIME"},
		[2]string{"mem", "ask for memory with -memory SIZE"}, [2]string{"gres", "ask for GPUs with -gpus N"},
		[2]string{"t", "say how long a job runs with -time TIME; several jobs are made with -queue N"},
		[2]string{"array", "make several jobs with -queue N; each has its number as $(Process)"},
		[2]string{"o", "name the file with -output FILE"}, [2]string{"e", "name the file with -error FILE"},
		[2]string{"p", onePool}, [2]string{"partition", onePool},
		[2]string{"A", groupCommand}, [2]string{"account", groupCommand}, [2]string{"P", groupCommand},
		[2]string{"D", "jobs run in the current folder; -a 'initialdir = DIR' is another one"},
		[2]string{"chdir", "jobs run in the current folder; -a 'initialdir = DIR' is another one"},
		[2]string{"cwd", "leave it out: jobs run in the current folder"}, [2]string{"V", "leave it out: the job of a command line has your environment; for others, -a 'getenv = true'"},
		[2]string{"dependency", "wait for other jobs with -after CLUSTER"}, [2]string{"hold_jid", "wait for other jobs with -after CLUSTER"}, [2]string{"W", "wait for other jobs with -after CLUSTER, for the end of these with -wait"},
		[2]string{"H", "submit on hold with -a 'hold = true'"}, [2]string{"h_rt", "say how long a job runs with -time TIME"},
		[2]string{"sync", "wait for the end of the jobs with -wait"}, [2]string{"wrap", "run a line of the shell with submit -- sh -c 'LINE'"},
		[2]string{"mail-type", "ask for mail with -a 'notification = always'"}, [2]string{"m", "ask for mail with -a 'notification = always'"}, [2]string{"M", "name the address with -a 'notify_user = ADDRESS'"},
	)
}

const (
	onePool      = "there is one queue, the spool's: see -spool"
	groupCommand = "charge a group with -a 'accounting_group = GROUP'"
)

// ownerOf returns the jobs' owner: -owner, else the caller.
func (o options) ownerOf(c *cmdline.Call) (string, error) {
	if name := o.inPlaceOf; name != "" {
		if err := jobad.CheckOwner(name, c.Config.NiceGroup, c.Config.Groups); err != nil {
			return "", cmdline.Usagef("-owner %q: %v", submitfile.Shorten(name), err)
		}
		return name, nil
	}
	who, err := c.Caller()
	if err != nil {
		return "", err
	}
	name := who.Name
	if err := jobad.CheckOwner(name, c.Config.NiceGroup, c.Config.Groups); err != nil {
		return "", fmt.Errorf("your login name %q: %w; submit as another with -owner", submitfile.Shorten(name), err)
	}
	return name, nil
}

// groupOf returns the name of a user's primary group, as a policy with one queue of all
// jobs may compute with it: Maui used the server's group, and Grid Engine found the
// department by it. It is empty under other policies, and if the machine does not know the
// user or group.
func groupOf(c *cmdline.Call, owner string) string {
	if !registry.Of(c.Config).OneQueue() {
		return ""
	}
	u, err := user.Lookup(owner)
	if err != nil {
		return ""
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		return ""
	}
	return g.Name
}

// mayActForOthers returns an error unless the caller may submit for the user of -owner.
func (o options) mayActForOthers(c *cmdline.Call) error {
	who, err := c.Caller()
	if err != nil || who.May(o.inPlaceOf) {
		return err
	}
	return fmt.Errorf("-owner %s: only administrators may submit for others", o.inPlaceOf)
}

// permit refuses jobs that ask for what their owner, or the caller, may not have, and those that
// do not meet the pool's requirements, before the spool is locked. It returns the owner's rights.
func (s *submission) permit(d *jobad.Jobs, c jobad.Cluster) (policy.Rights, error) {
	who, err := s.Caller()
	if err != nil {
		return policy.Rights{}, err
	}
	rights := policy.RightsOf(registry.Of(s.Config), s.Config, who.Name, who.Admin, s.owner, s.GroupsOf)
	if err := lifecycle.Permit(rights, d, c); err != nil {
		return rights, err
	}
	return rights, lifecycle.Require(s.Config, c, &classad.Context{Now: s.Now}, s.warn)
}

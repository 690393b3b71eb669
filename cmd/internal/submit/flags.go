package submit

import (
	"slices"

	"fairspool/cmd/internal/cmdline"
)

// flags are those of condor_submit that have a meaning here, with their
// abbreviations, and our own.
var flags = slices.Concat([]cmdline.Flag{
	{Name: "append", Args: []string{"LINE"}, Min: 1, Repeat: true,
		Help: "put LINE before every queue line of the description; a queue line is as with -queue"},
	{Name: "queue", Args: []string{"ARGS..."}, Min: 1,
		Help: "submit what `queue ARGS` asks for; the description has no queue line then. Takes all words up to the next flag"},
	{Name: "batch-name", Aliases: []string{"name"}, Args: []string{"NAME"}, Min: 1, Help: "name the jobs, whatever the description says"},
	{Name: "cpus", Args: []string{"N"}, Help: "ask for N processors for each job (request_cpus)"},
	{Name: "memory", Args: []string{"SIZE"}, Help: "ask for memory, as 4G or 500M; a number alone is MB (request_memory)"},
	{Name: "gpus", Args: []string{"N"}, Help: "ask for N GPUs (request_gpus)"},
	{Name: "time", Args: []string{"TIME"}, Help: "let each job run so long at most, as 2h, 90m, 1:30:00 or seconds (wall_time)"},
	{Name: "after", Args: []string{"CLUSTERS"}, Help: "wait until all jobs of these clusters, as 12 or 12,13, have succeeded (after_ok)"},
	{Name: "output", Args: []string{"FILE"}, Help: "write standard output to FILE; /dev/null keeps none (output)"},
	{Name: "error", Args: []string{"FILE"}, Help: "write standard error to FILE (error)"},
	{Name: "file", Args: []string{"FILE"}, Min: 2, Help: "read the description from FILE, as without -file"},
	{Name: "dry-run", Args: []string{"FILE"}, Min: 3,
		Help: "write the job ads to FILE, - for standard output, and submit nothing"},
	{Name: "terse", Min: 3, Help: "print the first and the last job and nothing else: 12.0 - 12.9"},
	{Name: "verbose", Min: 1, Help: "show the ads of the submitted jobs"},
	{Name: "json", Help: "print the cluster and the number of jobs as JSON; with -dry-run, write the ads as an array"},
	{Name: "strict", Help: "take warnings for errors: submit nothing if there are any"},
	{Name: "force", Help: "submit on hold what is refused otherwise, as its files are missing or no slot can run it; the reason is the hold reason"},
	{Name: "disable", Min: 1, Help: "do not look whether files and folders are there"},
	{Name: "maxjobs", Args: []string{"N"}, Min: 3, Help: "submit nothing if the description asks for more than N jobs"},
	{Name: "unique", Args: []string{"KEY"},
		Help: "submit nothing if jobs that you submitted with the same KEY are still in the queue"},
	{Name: "wait", Help: "wait until all the jobs have ended, and exit with their status: that of the first that did not return 0, 128 and the number of the signal for one that was killed"},
	{Name: "owner", Args: []string{"NAME"}, Help: "submit for NAME instead of yourself; for administrators"},
	{Name: "single-cluster", Min: 3, Help: "do nothing: the jobs of a description are always one cluster"},
}, elsewhere)

// elsewhere are flags of condor_submit, sbatch and qsub that have no meaning here, or another name.
var elsewhere = cmdline.Elsewhere(
	[2]string{"unused", "names that nothing refers to are always reported; leave them out of the description"},
	[2]string{"remote", onePool}, [2]string{"pool", onePool}, [2]string{"address", onePool},
	[2]string{"interactive", "jobs run without a terminal: run your shell by ssh or srun"},
	[2]string{"factory", "give max_materialize or max_idle in the description instead"},
	[2]string{"digest", "give max_materialize or max_idle in the description instead"},
	[2]string{"dump", "write the job ads with -dry-run FILE instead"},
	[2]string{"stm", "there is no sandbox to be moved"},

	[2]string{"J", "name jobs with -name NAME"}, [2]string{"job-name", "name jobs with -name NAME"}, [2]string{"N", "name jobs with -name NAME"},
	[2]string{"c", "ask for processors with -cpus N; the words of a command stand behind --"}, [2]string{"cpus-per-task", "ask for processors with -cpus N"},
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

const (
	onePool      = "there is one queue, the spool's: see -spool"
	groupCommand = "charge a group with -a 'accounting_group = GROUP'"
)

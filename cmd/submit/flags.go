package main

import "fairspool/cmd/internal/cmdline"

// flags are those of condor_submit that have a meaning here, with their
// abbreviations, and our own.
var flags = []cmdline.Flag{
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

	refused("unused", "names that nothing refers to are always told of; leave them out of the description"),
	refused("remote", onePool, "SCHEDD"),
	refused("pool", onePool, "HOST"),
	refused("address", onePool, "ADDRESS"),
	refused("interactive", "jobs run without a terminal: run your shell by ssh or srun"),
	refused("factory", "give max_materialize or max_idle in the description instead"),
	refused("digest", "give max_materialize or max_idle in the description instead", "FILE"),
	refused("dump", "write the job ads with -dry-run FILE instead", "FILE"),
	refused("stm", "there is no sandbox to be moved", "METHOD"),
}

const onePool = "there is one queue, the spool's: see -spool"

// refused is a flag of condor_submit that has no meaning here.
func refused(name, why string, args ...string) cmdline.Flag {
	return cmdline.Flag{Name: name, Args: args, Refused: true, Why: why}
}

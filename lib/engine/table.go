package engine

import (
	"regexp"
	"slices"
)

// slurm is Slurm, as of 22.05. The state words are squeue(1)'s. REQUEUED and the like mean that the job waits again.
var slurm = table{
	ask: []string{
		"sbatch", "--parsable", "--no-requeue", "--job-name={name}", "--output=/dev/null", "--chdir=/", "--nodes=1", "--ntasks=1",
		"--cpus-per-task={cpus}", "--mem={memory}", "--time={minutes}", "--signal=B:USR1@{warn}",
	},
	ref:  regexp.MustCompile(`(?m)^(\d+)`),
	look: []string{"squeue", "--noheader", "--states=all", "--format=%i|%j|%T|%r"},
	row:  regexp.MustCompile(`(?m)^(?P<ref>\d+)\|(?P<name>[^|\n]*)\|(?P<state>\w+)\|(?P<why>[^|\n]*)$`),

	waiting: regexp.MustCompile(`^(PENDING|CONFIGURING|REQUEUED|REQUEUE_FED|REQUEUE_HOLD|RESV_DEL_HOLD|SPECIAL_EXIT)$`),
	running: regexp.MustCompile(`^(RUNNING|COMPLETING|RESIZING|SIGNALING|STAGE_OUT|STOPPED|SUSPENDED)$`),
	over:    regexp.MustCompile(`^(BOOT_FAIL|CANCELLED|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|REVOKED|TIMEOUT)$`),
	cancel:  []string{"scancel"},
}

// gridEngine is Grid Engine, as of 8.1.9. It lists no job that has ended. The letters of states are qstat(1)'s.
var gridEngine = table{
	ask: []string{
		"qsub", "-terse", "-N", "{name}", "-o", "/dev/null", "-j", "y", "-wd", "/", "-S", "/bin/sh", "-r", "n", "-notify",
		"-l", "h_rt={time},s_rt={soft}",
	},
	ref:  regexp.MustCompile(`(?m)^(\d+)`),
	look: []string{"qstat", "-u", "*", "-xml"},
	row:  regexp.MustCompile(`(?s)<JB_job_number>(?P<ref>\d+)</JB_job_number>.*?<JB_name>(?P<name>[^<]*)</JB_name>.*?<state>(?P<state>\w+)</state>`),

	waiting: regexp.MustCompile(`q`),
	running: regexp.MustCompile(`^d?[rtRsST]+$|^d[rtRsST]*$`),
	cancel:  []string{"qdel"},
}

// otherPool is serve -flock of another pool, to which a command leads. It lists no job that has left its queue.
func otherPool(via []string) table {
	verb := func(words ...string) []string { return slices.Concat(via, words) }
	return table{
		ask:  verb("ask"),
		ref:  regexp.MustCompile(`(?m)^(\d+)$`),
		look: verb("look"),
		row:  regexp.MustCompile(`(?m)^(?P<ref>\d+)\|(?P<name>[^|\n]*)\|(?P<state>\w+)\|(?P<why>.*)$`),

		waiting: regexp.MustCompile(`^idle$`),
		running: regexp.MustCompile(`^(running|suspended)$`),
		over:    regexp.MustCompile(`^held$`),
		cancel:  verb("cancel"),
	}
}

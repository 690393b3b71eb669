package batchscript

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, time.November, 22, 15, 30, 0, 0, time.UTC)

func options() Options {
	return Options{
		Name: "job.sh", Dir: "/home/u/in $x", Now: now,
		IsFolder: func(path string) bool { return path == "logs" },
		IsGroup:  func(name string) bool { return name == "physics" },
		LookupEnv: func(name string) (string, bool) {
			value, ok := map[string]string{"HOME": "/home/u", "USER": "u"}[name]
			return value, ok
		},
	}
}

// said returns what a script means, a line each, but for the variables that tell the script
// what it is, and the warnings.
func said(text string) string {
	s, warnings, err := Read(text, "job.sh", options())
	if err != nil {
		return "error: " + err.Error()
	}
	var lines []string
	for _, l := range s.Lines {
		switch {
		case l.Name == "environment":
		case l.Name == "batch_name" && l.Text == "job.sh":
		default:
			lines = append(lines, fmt.Sprintf("%d: %s = %s", l.Line, l.Name, l.Text))
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(a[:1], b[:1]) })
	if s.Queue != "" {
		lines = append(lines, "queue "+s.Queue)
	}
	if s.Interpreter != nil {
		lines = append(lines, fmt.Sprintf("by %q", s.Interpreter))
	}
	if s.Arguments != nil {
		lines = append(lines, fmt.Sprintf("arguments %q", s.Arguments))
	}
	for _, w := range warnings {
		lines = append(lines, w.String())
	}
	return strings.Join(lines, "\n")
}

func TestIs(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"#!/bin/sh\n", true},
		{"#! /usr/bin/env python3\nimport this\n", true},
		{"#!", true},
		{"#!/usr/bin/env condor_submit\nexecutable = x\nqueue\n", false},
		{"#!/usr/bin/env -S A=1 submit -terse\nexecutable = x\nqueue\n", false},
		{"#!/usr/local/bin/submit\nexecutable = x\nqueue\n", false},
		{"#!/usr/local/bin/fs-submit\n", false},
		{"#!/bin/sh\ncondor_submit <<E\nexecutable = x\nqueue\nE\n", true},
		{"#SBATCH -n 1\nsrun x\n", true},
		{"\n# a comment\n\n#PBS -N x\necho\n", true},
		{"#$ -cwd\necho\n", true},
		{"#$-cwd\necho\n", true},
		{"#SBATCH\n#PBS-N x\n#$HOME is ours\necho\n", false},
		{"# notes\n#SBATCH --mem=4G\nexecutable = x\nqueue\n", false},
		{"#PBS -q long\nexecutable=x\n", false},
		{"#$ -N x\nshell = echo\nqueue 3\n", false},
		{"echo\n#SBATCH -n 1\n", false},
		{"executable = x\nqueue\n", false},
		{" #!/bin/sh\n", false},
		{"", false},
	} {
		if got := Is(c.text); got != c.want {
			t.Errorf("Is(%q) = %v, want %v", c.text, got, c.want)
		}
	}
}

// What each directive means: below a line of dashes stands what the script says.
func TestDirectives(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no directives", "#!/bin/bash -e -x\necho\n", `
0: getenv = true
by ["/bin/bash" "-e -x"]`},
		{"slurm", `#!/bin/bash
#SBATCH -J two\ words --output=o/%x.%j.out # a comment
#SBATCH -e 'e $HOME.%4A'
#SBATCH --cpus-per-t=2 --mem 1500K
#SBATCH --time=1-2:30

#SBATCH -D /tmp/$x -A physics --nice
#SBATCH --mail-type=BEGIN,END --mail-user=u@example.org
echo
#SBATCH -n 3
`, `
0: getenv = true
2: batch_name = two words
2: output = o/two words.$(Cluster).out
3: error = e $(DOLLAR)HOME.$INT($(Cluster),%04d)
4: request_cpus = 2
4: request_memory = 2
5: wall_time = 95400
7: initialdir = /tmp/$(DOLLAR)x
7: accounting_group = physics
7: priority = -100
8: notification = always
8: notify_user = u@example.org
by ["/bin/bash"]
job.sh:10: #SBATCH: is after the first command, ignored`},
		{"slurm's tasks and arrays", `#!/bin/sh
#SBATCH -n4 -c 2 --mem-per-cpu=1G --gres=gpu:a100:2,fs:1
#SBATCH --array=1-9:2%3 -o %A_%3a.%j
#SBATCH -d afterok:12:13,afterany:14_2 -A other
#SBATCH -p long --nodelst=a --exclusive
#SBATCH --begin=now+2hours --open-mode append --hold
#SBATCH --export=PATH,A=1
#PBS -N no
`, `
2: request_cpus = 8
2: request_gpus = 2
2: request_memory = 8192
3: output = $(Cluster)_$INT($(Process) * 2 + 1,%03d).$(Cluster).$(Process)
3: error = $(Cluster)_$INT($(Process) * 2 + 1,%03d).$(Cluster).$(Process)
3: MY.ArrayIndex = ProcId * 2 + 1
3: max_materialize = 3
4: account = other
4: after_ok = 12,13
4: after_any = 14
6: deferral_time = 1795368600
6: deferral_window = 315360000
6: deferral_prep_time = 0
6: append_files = *
6: hold = true
7: getenv = PATH
queue 5
by ["/bin/sh"]
job.sh:2: --gres gpu:a100:2: a100: any GPU will do, whatever its type
job.sh:2: --gres: fs:1: only GPUs are asked for this way, ignored
job.sh:2: -n: 4 tasks: the script is started once, on a slot with 8 cores
job.sh:4: -d: 14_2: the job waits for all jobs of cluster 14
job.sh:5: -p: there is one queue for all jobs, ignored
job.sh:5: --nodelst: no option of sbatch, ignored; did you mean --nodelist?
job.sh:5: --exclusive: the pool chooses the slot: requirements in a submit description choose among them, ignored
job.sh:8: #PBS: ignored: the script's #SBATCH lines count`},
		{"a list of indices", "#SBATCH -a 3,1-2,2 -o %a\n", `
0: getenv = true
1: output = $(ArrayIndex)
1: error = $(ArrayIndex)
1: MY.ArrayIndex = $(ArrayIndex)
queue ArrayIndex in (1, 2, 3)`},
		{"grid engine", `#!/bin/csh
#$ -N run -cwd -j y -o logs
#$ -pe smp 4 -l h_rt=1:30:00,h_vmem=2G,mem_free=1G,arch=lx
#$ -t 2-10:4 -tc 2 -hold_jid 12,13
echo
#$ -S /bin/bash -V -p -5 -m bea -M u@example.org -P atlas
#$ -q all.q -nosuch 1 2 -r n -h
`, `
2: batch_name = run
2: output = logs/run.o$(Cluster).$INT($(Process) * 4 + 2)
2: error = logs/run.o$(Cluster).$INT($(Process) * 4 + 2)
3: wall_time = 5400
3: request_cpus = 4
3: request_memory = 8192
4: after_any = 12,13
4: MY.ArrayIndex = ProcId * 4 + 2
4: max_materialize = 2
6: priority = -5
6: notification = always
6: notify_user = u@example.org
6: project = atlas
6: getenv = true
7: hold = true
queue 3
by ["/bin/bash"]
job.sh:3: -l arch: has no meaning here, ignored
job.sh:7: -q: there is one queue for all jobs, ignored
job.sh:7: -nosuch: no option of qsub, ignored
job.sh:7: -r: a job that has to leave its slot always runs again, ignored`},
		{"grid engine's paths", "#$ -o host:$HOME/$JOB_NAME.$JOB_ID.$TASK_ID -e $nosuch/ -wd /tmp -j n\n", `
1: initialdir = /tmp
1: output = /home/u/job.sh.$(Cluster).undefined
1: error = $(DOLLAR)nosuch/job.sh.e$(Cluster)`},
		{"pbs", `#!/bin/bash
#PBS -Nrun -joe -o out.$PBS_JOBID
#PBS -l nodes=1:ppn=4,walltime=10:00,mem=4gb
#PBS -J 0-3 -q long -W depend=afterok:12.server:13
#PBS -v "A=x y",B -F "one 'two words'"
`, `
2: batch_name = run
2: output = out.$(Cluster).$(Process)
2: error = out.$(Cluster).$(Process)
3: wall_time = 600
3: request_cpus = 4
3: request_memory = 4096
4: after_ok = 12,13
4: MY.ArrayIndex = ProcId
5: getenv = B
queue 4
by ["/bin/bash"]
arguments ["one" "two words"]
job.sh:4: -q: there is one queue for all jobs, ignored`},
		{"pbs's chunks", "#PBS -l select=2:ncpus=4:ngpus=1:mem=2gb:host=a\n#PBS -l place=scatter\n", `
1: request_cpus = 8
1: request_gpus = 2
1: request_memory = 4096
job.sh:1: -l select host: has no meaning here, ignored
job.sh:1: -l select: 2 nodes: the job runs on one slot of one machine
job.sh:2: -l place: has no meaning here, ignored`},
		{"slurm's devices", `#SBATCH -G 1 --tmp=4G -L matlab:2,comsol@server
#SBATCH --open-mode=truncate --nice=-7 --mem 0 -t 0 --begin=today
`, `
0: getenv = true
1: request_disk = 4096M
1: concurrency_limits = matlab:2,comsol
1: request_gpus = 1
2: priority = 7
job.sh:2: --mem: 0 is all memory of a node, which no job asks for, ignored`},
		{"slurm's GPUs of a node", "#SBATCH --gpus-per-node=a100:2 --nodes=2-4 --mem-per-gpu=1G --gres=none\n", `
0: getenv = true
1: request_cpus = 2
1: request_gpus = 4
1: request_memory = 4096
job.sh:1: --gpus-per-node: a100: any GPU will do, whatever its type
job.sh:1: --nodes: 2 nodes: the job runs on one slot of one machine
job.sh:1: --nodes: 2 tasks: the script is started once, on a slot with 2 cores`},
		{"slurm's GPUs of a task", "#SBATCH -n 3 --gpus-per-task=2 --exclude=a\n", `
0: getenv = true
1: request_cpus = 3
1: request_gpus = 6
job.sh:1: --exclude: the pool chooses the slot: requirements in a submit description choose among them, ignored
job.sh:1: -n: 3 tasks: the script is started once, on a slot with 3 cores`},
		{"one GPU of a type", "#SBATCH --gres=gpu:a100,gpu\n", `
0: getenv = true
1: request_gpus = 1
job.sh:1: --gres gpu:a100: a100: any GPU will do, whatever its type`},
		{"slurm's names of files", "#SBATCH -J x -o %x%%%4a-%u-%N-%3t-%s-%q-%J-%7 -e 'a\\%x'\n#SBATCH -i %", `
0: getenv = true
1: batch_name = x
1: output = x%4294967294-u-$$(Machine)-$INT(0,%03d)-batch-%q-$(Cluster)-%7
1: error = a%x
2: input = %
job.sh:1: -o: %q: stands for nothing here, kept as it is`},
		{"slurm's jobs of another array, and the last word counts", "#SBATCH -d afterok:1 --mail-type=NONE,FAIL,QUEUE\n#SBATCH -d aftercorr:2,,afterany:3 -J a -J b --export=NONE\n", `
1: notification = error
2: batch_name = b
2: after_ok = 2
2: after_any = 3
job.sh:1: --mail-type: QUEUE: want NONE, BEGIN, END, FAIL or ALL, ignored
job.sh:2: -d: aftercorr: each job waits for all jobs of the other array`},
		{"slurm's words that are none", "#SBATCH now --no=1 --nosuch=x y -Z z\n", `
0: getenv = true
job.sh:1: now: no option, ignored
job.sh:1: --no: is short for several options of sbatch, such as --nodes, ignored
job.sh:1: --nosuch: no option of sbatch, ignored
job.sh:1: y: no option, ignored
job.sh:1: -Z: no option of sbatch, ignored`},
		{"mail at two times", "#$ -m a\n#$ -m e,s\n#$ -m ae\n", `
3: notification = complete
job.sh:2: -m: s: a job is not suspended, ignored`},
		{"no mail", "#$ -m n\n", `
1: notification = never`},
		{"mail never, and else", "#$ -m an\n", `
1: notification = error`},
		{"grid engine's ranges and dates", "#$ -pe smp 2-8 -a 1600 -hold_jid_ad 5.1 -b y\n#$ -l gpu=2,h_vmem=1G,h_rt=INFINITY -S /bin/csh,/bin/ksh@host\n", `
1: deferral_time = 1795363200
1: deferral_window = 315360000
1: deferral_prep_time = 0
1: after_any = 5
1: request_cpus = 2
2: request_gpus = 4
2: request_memory = 2048
by ["/bin/csh"]
job.sh:1: -pe: 2-8: the job asks for 2
job.sh:1: -hold_jid_ad: each job waits for all jobs of the other array
job.sh:1: -hold_jid_ad: 5.1: the job waits for all jobs of cluster 5
job.sh:1: -b: the file is a script, ignored`},
		{"grid engine's least slots", "#$ -pe smp -8\n#$ -l h_vmem=3G,mem_free=1G,,\n", `
1: request_cpus = 1
2: request_memory = 3072
job.sh:1: -pe: -8: the job asks for 1`},
		{"grid engine's places", "#$ -t 1-2 -o ${SGE_O_WORKDIR}/$HOSTNAME -e $HOME^array_index^/^x\n", `
1: output = /home/u/in $(DOLLAR)x/$$(Machine)
1: error = /home/u$INT($(Process) + 1)/^x
1: MY.ArrayIndex = ProcId + 1
queue 2`},
		{"pbs's dates, joins and holds", "#PBS -a 0100 -j n -h -W group_list=physics@host,other\n#PBS -W umask=022 -W depend=afterany:7 -p 5\n", `
1: deferral_time = 1795395600
1: deferral_window = 315360000
1: deferral_prep_time = 0
1: hold = true
1: unix_group = physics
2: priority = 5
2: after_any = 7
job.sh:2: -W umask: has no meaning here, ignored`},
		{"pbs's sizes", "#PBS -l ncpus=2,pmem=1gb,file=2gb,vmem=1gb,mem=4gb\n", `
1: request_disk = 2048M
1: request_cpus = 2
1: request_memory = 4096`},
		{"pbs's memory, the lesser behind the greater", "#PBS -l mem=4gb,vmem=1gb,,\n", `
1: request_memory = 4096`},
		{"pbs's nodes of a name", "#PBS -l nodes=fast+2:ppn=4\n#PBS -l select=1:mpiprocs=2:vmem=1gb\n", `
2: request_cpus = 1
2: request_memory = 1024
job.sh:1: -l nodes: chunks of several kinds: the first counts, the job runs on one slot
job.sh:1: -l nodes: fast: the pool chooses the slot, ignored`},
		{"error joins an output that is not named", "#$ -j y -N a/b\n", `
0: output = a_b.$(Cluster).$(Process).out
0: error = a_b.$(Cluster).$(Process).out
1: batch_name = a/b`},
	} {
		if got := "\n" + said(c.text); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"#SBATCH -c many":                         `job.sh:1: -c: "many": want a whole number`,
		"#SBATCH -c":                              "job.sh:1: -c: wants an argument",
		"#SBATCH -t 1:2:3:4":                      `job.sh:1: -t: "1:2:3:4": want a time such as 90 (minutes), 1:30:00 or 2-12 (days and hours)`,
		"#SBATCH --mem=lots":                      `job.sh:1: --mem: "lots": want a size such as 512M or 4G`,
		"#SBATCH --mem=1e9G":                      `job.sh:1: --mem: "1e9G": want a size such as 512M or 4G`,
		"#SBATCH -a 5-1":                          `job.sh:1: -a: "5-1": want indices such as 1-10, 0-20:5 or 1,3,7`,
		"#SBATCH -a 1-3%0":                        `job.sh:1: -a: "1-3%0": want a number of jobs from 1 up behind %`,
		"#SBATCH -a 0-99999999":                   "job.sh:1: -a: 100000000 jobs: want 10000000 at most",
		"#SBATCH -a 0-99999,200000-299999":        "job.sh:1: -a: more than 100000 jobs in several ranges: write one range",
		"#SBATCH -n 30000 -c 30000":               "job.sh:1: -c: 900000000 cores: want 1000000 at most",
		"#PBS -l nodes=2000000000:ppn=2000000000": "job.sh:1: -l nodes ppn: 4000000000000000000 cores: want 1000000 at most",
		"#SBATCH -d afternotok:12":                "job.sh:1: -d: afternotok:12: a job can wait for the end of others (afterany) or for their success (afterok)",
		"#SBATCH -d afterok:12?afterok:13":        "job.sh:1: -d: afterok:12?afterok:13: a job waits for all that it names, not for one of them",
		"#SBATCH --hold=yes":                      "job.sh:1: --hold: takes no argument",
		"#SBATCH -J 'x":                           "job.sh:1: a quote ' that nothing closes",
		"#SBATCH hetjob":                          "job.sh:1: hetjob: jobs of several parts are not run",
		"#$ -hold_jid first":                      "job.sh:1: -hold_jid: first: want the number of a cluster: what submit prints",
		"#$ -t 0-3":                               "job.sh:1: -t: 0-3: the first index of an array is 1",
		"#$ -pe smp":                              "job.sh:1: -pe: wants two arguments",
		"#PBS -W depend=beforeok:1":               "job.sh:1: -W depend: beforeok:1: a job can wait for the end of others (afterany) or for their success (afterok)",
		"#!/bin/sh\r\n#SBATCH -n 1\r\n":           "job.sh:1: the lines end as those of Windows: no interpreter would be found: dos2unix the script",
		"#!/bin/sh\n\x00":                         "job.sh: a NUL byte: neither a script nor a submit description: for a program, submit -- COMMAND",
		"#SBATCH --begin=sometime":                `job.sh:1: --begin: "sometime": want a time such as 16:00, now+1hour, tomorrow or 2026-11-22T16:00`,
		"#SBATCH --tmp=lots":                      `job.sh:1: --tmp: "lots": want a size such as 512M or 4G`,
		"#SBATCH --open-mode=anew":                `job.sh:1: --open-mode: "anew": want append or truncate`,
		"#SBATCH --nice=very":                     `job.sh:1: --nice: "very": want a whole number`,
		"#SBATCH --nice=-2147483648":              `job.sh:1: --nice: "-2147483648": want a whole number`,
		"#SBATCH --priority=TOP":                  `job.sh:1: --priority: "TOP": want a whole number`,
		"#SBATCH --gres=gpu:a100:many":            `job.sh:1: --gres gpu:a100:many: "many": want a whole number`,
		"#SBATCH --gpus=2000000":                  "job.sh:1: --gpus: want 1000000 GPUs at most",
		"#SBATCH --export=A=1,=2":                 `job.sh:1: --export: "=2": want NAME or NAME=VALUE`,
		"#SBATCH -J ''":                           `job.sh:1: -J: "": want a name`,
		"#SBATCH -D ''":                           `job.sh:1: -D: "": want a text that is not empty`,
		"#SBATCH -o ''":                           `job.sh:1: -o: "": want a file`,
		"#SBATCH --begin=2026-12-01Tnoon":         `job.sh:1: --begin: "2026-12-01Tnoon": want a time such as 16:00, now+1hour, tomorrow or 2026-11-22T16:00`,
		"#$ -S bash":                              `job.sh:1: -S: "bash": want the absolute path of a shell`,
		"#$ -m x":                                 `job.sh:1: -m: "x": want letters of a, b, e and n`,
		"#$ -j maybe":                             `job.sh:1: -j: "maybe": want y or n`,
		"#$ -b maybe":                             `job.sh:1: -b: "maybe": want y or n`,
		"#$ -pe smp none":                         `job.sh:1: -pe: "none": want a number of slots, or a range`,
		"#$ -pe smp 0":                            `job.sh:1: -pe: "0": want a number of slots, or a range`,
		"#$ -pe smp 2-x":                          `job.sh:1: -pe: "2-x": want a number of slots, or a range`,
		"#$ -l h_rt=long":                         `job.sh:1: -l h_rt: "long": want a time such as 5400 (seconds) or 1:30:00`,
		"#$ -l gpu=all:all":                       `job.sh:1: -l gpu: "all": want a whole number`,
		"#$ -v A=1,'b c'":                         `job.sh:1: -v: "b c": want NAME or NAME=VALUE`,
		"#PBS -j both":                            `job.sh:1: -j: "both": want oe, eo or n`,
		"#PBS -l nodes=1:ppn=all":                 `job.sh:1: -l nodes ppn: "all": want a whole number`,
		"#PBS -l file=big":                        `job.sh:1: -l file: "big": want a size such as 4gb`,
		"#PBS -l select=99999999999":              `job.sh:1: -l select: "99999999999": want a whole number`,
		"#PBS -a noon":                            `job.sh:1: -a: "noon": want a time as [[[[CC]YY]MM]DD]hhmm[.SS]`,
		"#PBS -F \"'x\"":                          `job.sh:1: -F: "'x": want arguments whose quotes are closed`,
		"#SBATCH --mem-per-cpu=2000T -n 100":      `job.sh:1: --mem-per-cpu: 209715200000 MB in all: want 2147483647 at most`,
	} {
		if got := said(text); got != "error: "+want {
			t.Errorf("%q: %s\nwant error: %s", text, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		read func(string) (int64, bool)
		text string
		want int64 // -1: not one
	}{
		{slurmTime, "90", 5400}, {slurmTime, "1:30", 90}, {slurmTime, "1:00:05", 3605}, {slurmTime, "2-12", 216000},
		{slurmTime, "1-0:30", 88200}, {slurmTime, "1-1:1:1", 90061}, {slurmTime, "UNLIMITED", 0}, {slurmTime, "", -1}, {slurmTime, "-5", -1}, {slurmTime, "1-", -1},
		{slurmTime, "9999999-0", -1}, {clockTime, "3600", 3600}, {clockTime, "1:00:00", 3600}, {clockTime, "2:0:0:1", 172801}, {clockTime, "1.5", 1}, {clockTime, "x", -1},
	} {
		got, ok := c.read(c.text)
		if !ok {
			got = -1
		}
		if got != c.want {
			t.Errorf("%q: %d seconds, want %d", c.text, got, c.want)
		}
	}
	for _, c := range []struct {
		read func(string, time.Time) (time.Time, error)
		text string
		want string // empty: not one
	}{
		{slurmBegin, "16:00", "2026-11-22T16:00:00"}, {slurmBegin, "15:00", "2026-11-23T15:00:00"}, {slurmBegin, "3:45pm", "2026-11-22T15:45:00"},
		{slurmBegin, "now+90", "2026-11-22T15:31:30"}, {slurmBegin, "now+2days", "2026-11-24T15:30:00"}, {slurmBegin, "tomorrow", "2026-11-23T00:00:00"},
		{slurmBegin, "2026-12-01T08:15", "2026-12-01T08:15:00"}, {slurmBegin, "2027-01-02", "2027-01-02T00:00:00"}, {slurmBegin, "01/05", "2027-01-05T00:00:00"},
		{slurmBegin, "noon", "2026-11-23T12:00:00"}, {slurmBegin, "now-5", ""}, {slurmBegin, "2026-13-01", ""},
		{qsubTime, "1600", "2026-11-22T16:00:00"}, {qsubTime, "0100", "2026-11-23T01:00:00"}, {qsubTime, "050100", "2026-12-05T01:00:00"},
		{qsubTime, "202702030405.06", "2027-02-03T04:05:06"}, {qsubTime, "2703040506", "2027-03-04T05:06:00"}, {qsubTime, "02300000", ""}, {qsubTime, "160", ""},
	} {
		at, err := c.read(c.text, now)
		got := at.Format("2006-01-02T15:04:05")
		if err != nil {
			got = ""
		}
		if got != c.want {
			t.Errorf("%q: %s, want %q", c.text, got, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		read func(string) (int, bool)
		text string
		want int
	}{
		{slurmSize, "100", 100}, {slurmSize, "4G", 4096}, {slurmSize, "4gb", 4096}, {slurmSize, "1k", 1}, {slurmSize, "1.5T", 1572864}, {slurmSize, "-1", -1}, {slurmSize, "0x10", -1},
		{gridSize, "1G", 1024}, {gridSize, "1g", 954}, {gridSize, "1048576", 1}, {gridSize, "NaN", -1},
		{pbsSize, "4gb", 4096}, {pbsSize, "500MB", 500}, {pbsSize, "1mw", 8}, {pbsSize, "1048577b", 2}, {pbsSize, "", -1}, {pbsSize, "infG", -1},
	} {
		got, ok := c.read(c.text)
		if !ok {
			got = -1
		}
		if got != c.want {
			t.Errorf("%q: %d MB, want %d", c.text, got, c.want)
		}
	}
}

// TestPage holds that batch-scripts(5) names all options with a meaning.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../man/batch-scripts.5")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), ".Sh DIRECTIVES")
	section, _, _ = strings.Cut(section, ".Sh ")
	section = strings.ReplaceAll(section, `\-`, "-")
	for _, s := range systems() {
		for _, o := range s.options {
			if o.do == nil {
				continue
			}
			var names []string
			if o.long != "" {
				names = append(names, map[bool]string{true: "-", false: "--"}[s.exact]+o.long)
			}
			if o.short != 0 {
				names = append(names, "-"+string(o.short))
			}
			for _, name := range names {
				if !regexp.MustCompile(`[ ,]` + regexp.QuoteMeta(name) + `([ ,.=]|$)`).MatchString(section) {
					t.Errorf("batch-scripts(5) lacks %s of %s", name, s.prefix)
				}
			}
		}
	}
}

package batchscript

import (
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/submitfile"
)

func slurm() *system {
	return &system{kind: ofSlurm, name: "sbatch", prefix: "#SBATCH", takes: afterBlank, environ: slurmEnvironment, options: slices.Concat([]option{
		serve("job-name,J=", (*batch).setName),
		serve("output,o=", stream(output)),
		serve("error,e=", stream(failure)),
		serve("input,i=", stream(input)),
		serve("open-mode=", openMode),
		serve("chdir,D=", sets("initialdir")),
		serve("cpus-per-task,c=", keeps("cores of a task")),
		serve("ntasks,n=", keeps("tasks")),
		serve("ntasks-per-node=", keeps("tasks of a node")),
		serve("nodes,N=", slurmNodes),
		serve("mem=", keepsSize("memory of a node", slurmSize)),
		serve("mem-per-cpu=", keepsSize("memory of a core", slurmSize)),
		serve("mem-per-gpu=", keepsSize("memory of a GPU", slurmSize)),
		serve("tmp=", slurmDisk),
		serve("gpus,G=", func(b *batch, g given) error { return gpus(b, g, "gpus") }),
		serve("gpus-per-node=", func(b *batch, g given) error { return gpus(b, g, "gpus of a node") }),
		serve("gpus-per-task=", func(b *batch, g given) error { return gpus(b, g, "gpus of a task") }),
		serve("gres=", slurmResources),
		serve("licenses,L=", slurmLicenses),
		serve("time,t=", func(b *batch, g given) error { return limitTime(b, g, slurmTime) }),
		serve("begin,b=", func(b *batch, g given) error { return begin(b, g, slurmBegin) }),
		serve("array,a=", setArray),
		serve("dependency,d=", slurmDependency),
		serve("hold,H", hold),
		serve("nice=?", slurmNice),
		serve("priority=", prioritize),
		serve("account,A=", charge),
		serve("qos,q=", sets("qos")),
		serve("comment=", sets("description")),
		serve("mail-type=", slurmMail),
		serve("mail-user=", sets("notify_user")),
		serve("export=", slurmExport),
		serve("requeue", nothing), serve("quiet,Q", nothing), serve("verbose,v", nothing), serve("parsable", nothing),
		serve("ignore-pbs", nothing), serve("no-kill,k=?", nothing), serve("get-user-env=?", nothing),
	},
		none("there is one queue for all jobs", "partition,p=", "clusters,M=", "cluster-constraint=", "reservation=", "wckey=", "mcs-label="),
		none("a job that has to leave its slot always runs again", "no-requeue"),
		none("give -wait to submit", "wait,W"),
		none("give -dry-run to submit", "test-only"),
		none("name the script as an argument", "wrap="),
		none("the pool chooses the slot: requirements in a submit description choose among them",
			"constraint,C=", "prefer=", "nodelist,w=", "exclude,x=", "nodefile,F=", "switches=", "contiguous", "exclusive=?", "oversubscribe,s", "share", "mincpus=",
			"cores-per-socket=", "sockets-per-node=", "threads-per-core=", "extra-node-info,B=", "spread-job", "use-min-nodes", "segment="),
		none("has no meaning here",
			"acctg-freq=", "bb=", "bbf=", "container=", "container-id=", "core-spec,S=", "thread-spec=", "cpu-freq=", "cpus-per-gpu=", "deadline=", "delay-boot=",
			"distribution,m=", "export-file=", "extra=", "gid=", "uid=", "gpu-bind=", "gpu-freq=", "gpus-per-socket=", "gres-flags=", "hint=", "kill-on-invalid-dep=",
			"mem-bind=", "network=", "ntasks-per-core=", "ntasks-per-gpu=", "ntasks-per-socket=", "overcommit,O", "power=", "profile=", "propagate=?",
			"reboot", "resv-ports=?", "signal=", "stepmgr", "time-min=", "tres-bind=", "tres-per-task=", "usage", "version,V", "help,h", "wait-all-nodes="),
	)}
}

func slurmNodes(b *batch, g given) error {
	least, _, _ := strings.Cut(g.text, "-")
	g.text = least
	return keeps("nodes")(b, g)
}

func openMode(b *batch, g given) error {
	switch g.text {
	case "append":
		b.set(g.at, "append_files", "*")
	case "truncate":
	default:
		return g.wants("append or truncate")
	}
	return nil
}

func slurmDisk(b *batch, g given) error {
	n, ok := slurmSize(g.text)
	if !ok {
		return g.wants("a size such as 512M or 4G")
	}
	b.set(g.at, "request_disk", strconv.Itoa(n)+"M")
	return nil
}

func slurmResources(b *batch, g given) error {
	for one := range strings.SplitSeq(g.text, ",") {
		kind, amount, _ := strings.Cut(strings.TrimPrefix(one, "gres:"), ":")
		amount, _, _ = strings.Cut(amount, "(")
		switch {
		case one == "none" || one == "":
		case kind != "gpu":
			b.warn(g.at, "%s: %s: only GPUs are asked for this way, ignored", g.name, submitfile.Shorten(one))
		default:
			if amount == "" {
				amount = "1"
			}
			if err := gpus(b, g.part(one, amount), "gpus of a node"); err != nil {
				return err
			}
		}
	}
	return nil
}

// slurmLicenses are concurrency limits: NAME[:N], or NAME@SERVER.
func slurmLicenses(b *batch, g given) error {
	var list []string
	for one := range strings.SplitSeq(g.text, ",") {
		name, n, counted := strings.Cut(one, ":")
		name, _, _ = strings.Cut(name, "@")
		if counted {
			name += ":" + n
		}
		list = append(list, submitfile.Literal(name))
	}
	b.set(g.at, "concurrency_limits", strings.Join(list, ","))
	return nil
}

// slurmNice is by how much the job gives way to others.
func slurmNice(b *batch, g given) error {
	if g.text == "" {
		g.text = "100"
	}
	n, err := strconv.ParseInt(g.text, 10, 32)
	if err != nil || n < -mostIndex {
		return g.wants("a whole number")
	}
	b.set(g.at, "priority", strconv.FormatInt(-n, 10))
	return nil
}

func slurmDependency(b *batch, g given) error {
	b.ok, b.any = nil, nil
	if strings.Contains(g.text, "?") {
		return g.refuse("%s: a job waits for all that it names, not for one of them", submitfile.Shorten(g.text))
	}
	for one := range strings.SplitSeq(g.text, ",") {
		kind, ids, _ := strings.Cut(one, ":")
		var err error
		switch strings.ToLower(kind) {
		case "":
		case "afterok":
			err = b.depend(g, strings.Split(ids, ":"), true)
		case "aftercorr":
			b.warn(g.at, "%s: %s: each job waits for all jobs of the other array", g.name, kind)
			err = b.depend(g, strings.Split(ids, ":"), true)
		case "afterany":
			err = b.depend(g, strings.Split(ids, ":"), false)
		default:
			err = g.refuse("%s: a job can wait for the end of others (afterany) or for their success (afterok)", submitfile.Shorten(one))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func slurmMail(b *batch, g given) error {
	of := map[string]string{"NONE": "never", "BEGIN": "start", "END": "complete", "FAIL": "error", "ALL": "always"}
	value := ""
	for one := range strings.SplitSeq(strings.ToUpper(g.text), ",") {
		if of[one] == "" {
			b.warn(g.at, "%s: %s: want NONE, BEGIN, END, FAIL or ALL, ignored", g.name, submitfile.Shorten(one))
			continue
		}
		value = mailBoth(value, of[one])
	}
	if value != "" {
		b.set(g.at, "notification", value)
	}
	return nil
}

func slurmExport(b *batch, g given) error {
	b.env, b.chosen, b.all, b.envAt = nil, nil, false, g.at
	for _, one := range commas(g.text) {
		switch {
		case one == "ALL":
			b.all = true
		case one == "NONE", one == "NIL", one == "":
		default:
			if err := b.export(g, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// slurmPattern returns a file's name with what stands for Slurm's %x.
func (b *batch) slurmPattern(g given) string {
	text := g.text
	if strings.Contains(text, `\`) {
		return submitfile.Literal(strings.ReplaceAll(text, `\`, ""))
	}
	var out strings.Builder
	for text != "" {
		before, rest, ok := strings.Cut(text, "%")
		out.WriteString(submitfile.Literal(before))
		if !ok {
			break
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		width, _ := strconv.Atoi(rest[:min(digits, 2)])
		width = min(width, 10)
		if digits == len(rest) {
			out.WriteString(submitfile.Literal("%" + rest))
			break
		}
		letter := rest[digits]
		text = rest[digits+1:]
		switch {
		case letter == '%':
			out.WriteString("%")
		case letter == 'A', letter == 'j' && b.array.count == 0, letter == 'J' && b.array.count == 0:
			out.WriteString(padded("$(Cluster)", width))
		case letter == 'j', letter == 'J':
			out.WriteString(b.jobID())
		case letter == 'a' && b.array.count == 0:
			out.WriteString("4294967294") // what Slurm has for a job that is in no array
		case letter == 'a':
			out.WriteString(b.array.text(width))
		case letter == 'x':
			out.WriteString(submitfile.Literal(b.name.text))
		case letter == 'u':
			user := ""
			if b.LookupEnv != nil {
				user, _ = b.LookupEnv("USER")
			}
			out.WriteString(submitfile.Literal(user))
		case letter == 'N':
			out.WriteString("$$(Machine)")
		case letter == 'n', letter == 't':
			out.WriteString(padded("0", width))
		case letter == 's':
			out.WriteString("batch")
		default:
			b.warn(g.at, "%s: %%%c: stands for nothing here, kept as it is", g.name, letter)
			out.WriteString(submitfile.Literal("%" + rest[:digits+1]))
		}
	}
	return out.String()
}

func slurmEnvironment(b *batch) []string {
	id := clusterText
	if b.array.count > 0 {
		id = procText
	}
	env := []string{
		"SLURM_JOB_ID=" + id, "SLURM_JOBID=" + id, "SLURM_JOB_NAME=" + submitfile.Literal(b.name.text), "SLURM_SUBMIT_DIR=" + submitfile.Literal(b.Dir),
		"SLURM_JOB_NUM_NODES=1", "SLURM_NNODES=1", "SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NODEID=0", "SLURM_CPUS_ON_NODE=" + cpusText,
	}
	if b.tasks > 1 {
		env = append(env, "SLURM_NTASKS="+strconv.Itoa(b.tasks), "SLURM_NPROCS="+strconv.Itoa(b.tasks), "SLURM_CPUS_PER_TASK="+strconv.Itoa(b.cores))
	} else {
		env = append(env, "SLURM_NTASKS=1", "SLURM_NPROCS=1", "SLURM_CPUS_PER_TASK="+cpusText)
	}
	if b.array.count > 0 {
		env = append(env,
			"SLURM_ARRAY_JOB_ID="+clusterText, "SLURM_ARRAY_TASK_ID="+indexText, "SLURM_ARRAY_TASK_COUNT="+strconv.Itoa(b.array.count),
			"SLURM_ARRAY_TASK_MIN="+strconv.Itoa(b.array.least()), "SLURM_ARRAY_TASK_MAX="+strconv.Itoa(b.array.last()), "SLURM_ARRAY_TASK_STEP="+strconv.Itoa(max(b.array.step, 1)))
	}
	return env
}

package batchscript

import (
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/submitfile"
)

func gridEngine() *system {
	return &system{kind: ofGridEngine, name: "qsub", prefix: "#$", takes: beforeDash, anyLine: true, exact: true, environ: gridEnvironment, options: slices.Concat([]option{
		serve("N=", (*batch).setName),
		serve("o=", stream(output)),
		serve("e=", stream(failure)),
		serve("i=", stream(input)),
		serve("j=", gridJoin),
		serve("cwd", nothing),
		serve("wd=", sets("initialdir")),
		serve("pe==", parallel),
		serve("l=", gridResources),
		serve("t=", setArray),
		serve("tc=", gridLimit),
		serve("hold_jid=", func(b *batch, g given) error { return b.depend(g, strings.Split(g.text, ","), false) }),
		serve("hold_jid_ad=", gridArrayDependency),
		serve("p=", prioritize),
		serve("P=", sets("project")),
		serve("A=", sets("account")),
		serve("js=", sets("job_share")),
		serve("dl=", sets("deadline")),
		serve("a=", func(b *batch, g given) error { return begin(b, g, qsubTime) }),
		serve("h", hold),
		serve("m=", mailLetters),
		serve("M=", sets("notify_user")),
		serve("V", exportAll),
		serve("v=", exportSome),
		serve("S=", runBy),
		serve("b=", gridBinary),
		serve("r=", gridRerun),
		serve("w=", nothing), serve("shell=", nothing), serve("hard", nothing), serve("terse", nothing), serve("verbose", nothing), serve("clear", nothing),
	},
		none("there is one queue for all jobs", "q=", "masterq="),
		none("what follows is asked for all the same", "soft"),
		none("give -wait to submit", "sync="),
		none("give -dry-run to submit", "verify"),
		none("administrators give them to a job in the queue: prio -ot", "ot="),
		none("has no meaning here", "@=", "ac=", "adds=", "ar=", "binding=", "c=", "ckpt=", "clearp=", "clears=", "C=", "dc=", "dul=", "help", "inherit", "jsv=", "jc=",
			"mods=", "nostdin", "noshell", "notify", "now=", "par=", "pty=", "R=", "rou=", "rdi=", "scope=", "si=", "si_par=", "tcon=", "u=", "xd=", "xdv=", "xd_run_as_image_user="),
	)}
}

// yes reads y, yes, n or no.
func yes(g given) (bool, error) {
	switch strings.ToLower(g.text) {
	case "y", "yes":
		return true, nil
	case "n", "no":
		return false, nil
	}
	return false, g.wants("y or n")
}

func gridJoin(b *batch, g given) (err error) {
	b.together, err = yes(g)
	return err
}

func gridBinary(b *batch, g given) error {
	is, err := yes(g)
	if is {
		b.warn(g.at, "%s: the file is a script, ignored", g.name)
	}
	return err
}

func gridRerun(b *batch, g given) error {
	is, err := yes(g)
	if err == nil && !is {
		b.warn(g.at, "%s: a job that has to leave its slot always runs again, ignored", g.name)
	}
	return err
}

func gridLimit(b *batch, g given) error {
	n, err := whole(g)
	b.limit = n
	return err
}

func gridArrayDependency(b *batch, g given) error {
	b.warn(g.at, "%s: each job waits for all jobs of the other array", g.name)
	return b.depend(g, strings.Split(g.text, ","), false)
}

// parallel is the second argument of -pe: so many cores, of several numbers the least.
func parallel(b *batch, g given) error {
	least, _, _ := strings.Cut(strings.TrimPrefix(g.text, "-"), ",")
	least, most, ranged := strings.Cut(least, "-")
	n, err := strconv.ParseUint(least, 10, 31)
	if strings.HasPrefix(g.text, "-") {
		n, ranged = 1, true
	}
	if err != nil || n < 1 || most != "" && strings.Trim(most, "0123456789") != "" {
		return g.wants("a number of slots, or a range")
	}
	if ranged || strings.Contains(g.text, ",") {
		b.warn(g.at, "%s: %s: the job asks for %d", g.name, submitfile.Shorten(g.text), n)
	}
	g.text = strconv.FormatUint(n, 10)
	b.number["tasks"] = g
	return nil
}

// gridResources is -l: NAME=VALUE with commas between.
func gridResources(b *batch, g given) error {
	return eachResource(g, func(name string, p given) (err error) {
		switch name {
		case "h_rt":
			err = limitTime(b, p, clockTime)
		case "h_vmem", "mem_free", "virtual_free", "vf", "mf", "h_rss", "mem", "memory":
			// Of several the one that asks for the most counts.
			before, had := b.number["memory of a task"]
			err = keepsSize("memory of a task", gridSize)(b, p)
			if now := b.number["memory of a task"]; err == nil && had {
				if n, _ := strconv.Atoi(now.text); n < must(before.text) {
					b.number["memory of a task"] = before
				}
			}
		case "gpu", "gpus", "ngpus":
			err = gpus(b, p, "gpus of a task")
		default:
			b.warn(g.at, "%s: has no meaning here, ignored", p.name)
		}
		return err
	})
}

// must returns a number that was checked before.
func must(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func exportAll(b *batch, g given) error {
	b.all, b.envAt = true, g.at
	return nil
}

func exportSome(b *batch, g given) error {
	b.envAt = g.at
	for _, one := range commas(g.text) {
		if err := b.export(g, one); err != nil {
			return err
		}
	}
	return nil
}

func gridEnvironment(b *batch) []string {
	first, last, step, index := "undefined", "undefined", "undefined", "undefined"
	if a := b.array; a.count > 0 {
		first, last, step, index = strconv.Itoa(a.least()), strconv.Itoa(a.last()), strconv.Itoa(max(a.step, 1)), indexText
	}
	return []string{
		"JOB_ID=" + clusterText, "JOB_NAME=" + submitfile.Literal(b.name.text), "NSLOTS=" + cpusText, "NHOSTS=1", "SGE_O_WORKDIR=" + submitfile.Literal(b.Dir),
		"SGE_TASK_ID=" + index, "SGE_TASK_FIRST=" + first, "SGE_TASK_LAST=" + last, "SGE_TASK_STEPSIZE=" + step,
	}
}

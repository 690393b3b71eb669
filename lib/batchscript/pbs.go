package batchscript

import (
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/submitfile"
)

func pbs() *system {
	return &system{kind: ofPBS, name: "qsub", prefix: "#PBS", takes: afterBlank, environ: pbsEnvironment, options: letters(slices.Concat([]option{
		serve("N=", (*batch).setName),
		serve("o=", stream(output)),
		serve("e=", stream(failure)),
		serve("j=", pbsJoin),
		serve("d=", sets("initialdir")),
		serve("w=", sets("initialdir")),
		serve("l=", pbsResources),
		serve("t=", setArray),
		serve("J=", setArray),
		serve("W=", pbsAttributes),
		serve("p=", prioritize),
		serve("P=", sets("project")),
		serve("A=", sets("account")),
		serve("a=", func(b *batch, g given) error { return begin(b, g, qsubTime) }),
		serve("h", hold),
		serve("m=", mailLetters),
		serve("M=", sets("notify_user")),
		serve("V", exportAll),
		serve("v=", exportSome),
		serve("S=", runBy),
		serve("r=", gridRerun),
		serve("F=", pbsArguments),
		serve("z", nothing), serve("k=", nothing), serve("R=", nothing),
	},
		none("there is one queue for all jobs", "q="),
		none("jobs run without a terminal", "I", "X"),
		none("has no meaning here", "b=", "c=", "C=", "D=", "f", "G=", "K=", "L=", "n", "T=", "u=", "x"),
	))}
}

func pbsJoin(b *batch, g given) error {
	switch strings.TrimSuffix(g.text, "d") {
	case "oe", "eo":
		b.together = true
	case "n":
		b.together = false
	default:
		return g.wants("oe, eo or n")
	}
	return nil
}

func pbsArguments(b *batch, g given) error {
	words, err := wordsOf(g.text, submitfile.Place{Source: g.text})
	if err != nil {
		return g.wants("arguments whose quotes are closed")
	}
	b.script.Arguments = nil
	for _, w := range words {
		b.script.Arguments = append(b.script.Arguments, w.text)
	}
	return nil
}

// pbsResources is -l: NAME=VALUE with commas between; nodes and select have parts behind
// colons.
func pbsResources(b *batch, g given) error {
	return eachResource(g, func(name string, p given) error {
		switch name {
		case "nodes", "select":
			return b.chunks(p)
		case "ncpus", "procs", "ppn", "mppwidth":
			return keeps("tasks of a node")(b, p)
		}
		return b.resource(p, name)
	})
}

// eachResource hands the NAME=VALUE of -l to take, up to the first error.
func eachResource(g given, take func(name string, p given) error) error {
	for _, one := range commas(g.text) {
		name, value, _ := strings.Cut(one, "=")
		if name == "" {
			continue
		}
		if err := take(name, g.part(name, value)); err != nil {
			return err
		}
	}
	return nil
}

// chunks reads N:ppn=P or N:ncpus=C:mem=SIZE. A part that is a name names a node.
func (b *batch) chunks(g given) error {
	if strings.Contains(g.text, "+") {
		b.warn(g.at, "%s: chunks of several kinds: the first counts, the job runs on one slot", g.name)
		g.text, _, _ = strings.Cut(g.text, "+")
	}
	for i, part := range strings.Split(g.text, ":") {
		name, value, valued := strings.Cut(part, "=")
		p := given{g.name + " " + name, value, g.at}
		if i == 0 && !valued {
			p.name, p.text = g.name, part
			if strings.Trim(part, "0123456789") != "" || part == "" {
				b.warn(g.at, "%s: %s: the pool chooses the slot, ignored", g.name, submitfile.Shorten(part))
				p.text = "1"
			}
			if err := keeps("nodes")(b, p); err != nil {
				return err
			}
			continue
		}
		var err error
		switch name {
		case "ppn", "ncpus":
			err = keeps("tasks of a node")(b, p)
		case "mem", "vmem":
			err = keepsSize("memory of a node", pbsSize)(b, p)
		case "mpiprocs", "ompthreads":
		default:
			err = b.resource(p, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resource reads what may stand alone and in a chunk.
func (b *batch) resource(g given, name string) error {
	switch name {
	case "walltime":
		return limitTime(b, g, clockTime)
	case "mem", "vmem":
		before, had := b.number["memory"]
		err := keepsSize("memory", pbsSize)(b, g)
		if had && err == nil && must(b.number["memory"].text) < must(before.text) {
			b.number["memory"] = before
		}
		return err
	case "pmem", "pvmem":
		return keepsSize("memory of a task", pbsSize)(b, g)
	case "file":
		n, ok := pbsSize(g.text)
		if !ok {
			return g.wants("a size such as 4gb")
		}
		b.set(g.at, "request_disk", strconv.Itoa(n)+"M")
		return nil
	case "gpus", "ngpus":
		return gpus(b, g, "gpus of a node")
	}
	b.warn(g.at, "%s: has no meaning here, ignored", g.name)
	return nil
}

// pbsAttributes is -W: NAME=VALUE with commas between, where a value has commas, too.
func pbsAttributes(b *batch, g given) error {
	name, value, _ := strings.Cut(g.text, "=")
	p := g.part(name, value)
	switch name {
	case "depend":
		return b.pbsDependency(p)
	case "group_list":
		value, _, _ = strings.Cut(value, ",")
		value, _, _ = strings.Cut(value, "@")
		p.text = value
		return sets("unix_group")(b, p)
	}
	b.warn(g.at, "%s: has no meaning here, ignored", p.name)
	return nil
}

func (b *batch) pbsDependency(g given) error {
	b.ok, b.any = nil, nil
	for one := range strings.SplitSeq(g.text, ",") {
		kind, ids, _ := strings.Cut(one, ":")
		var err error
		switch strings.ToLower(kind) {
		case "afterok", "afterokarray":
			err = b.depend(g, strings.Split(ids, ":"), true)
		case "afterany", "afteranyarray":
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

func pbsEnvironment(b *batch) []string {
	env := []string{
		"PBS_ENVIRONMENT=PBS_BATCH", "PBS_JOBNAME=" + submitfile.Literal(b.name.text), "PBS_O_WORKDIR=" + submitfile.Literal(b.Dir),
		"PBS_NP=" + cpusText, "NCPUS=" + cpusText, "PBS_NUM_PPN=" + cpusText, "PBS_NUM_NODES=1",
	}
	if b.array.count == 0 {
		return append(env, "PBS_JOBID="+clusterText)
	}
	return append(env, "PBS_JOBID="+procText, "PBS_ARRAYID="+indexText, "PBS_ARRAY_INDEX="+indexText, "PBS_ARRAY_ID="+clusterText)
}

package batchscript

import (
	"path"
	"strings"

	"fairspool/lib/submitfile"
)

// stream is an option that names a standard file.
func stream(which int) func(*batch, given) error {
	return func(b *batch, g given) error {
		if g.text == "" {
			return g.wants("a file")
		}
		b.streams[which] = g
		return nil
	}
}

// files sets the standard files that directives name. Error goes where output goes if that is
// asked for, and in Slurm also if only output is named.
func (b *batch) files() {
	for i, g := range b.streams {
		if g.text != "" && (i != failure || !b.together) {
			b.set(g.at, streamNames[i], b.pattern(g, i))
		}
	}
	g := b.streams[output]
	switch {
	case b.together && g.text == "":
		for _, which := range []int{output, failure} {
			b.set(g.at, streamNames[which], submitfile.Literal(strings.ReplaceAll(b.name.text, "/", "_"))+".$(Cluster).$(Process).out")
		}
	case b.together, b.is(ofSlurm) && g.text != "" && b.streams[failure].text == "":
		b.set(g.at, streamNames[failure], b.pattern(g, output))
	}
}

// pattern returns the path of a standard file in the submit language.
func (b *batch) pattern(g given, which int) string {
	if b.is(ofSlurm) {
		return b.slurmPattern(g)
	}
	name := g.text
	if host, rest, ok := strings.Cut(name, ":"); ok && !strings.Contains(host, "/") {
		name = rest // of whichever host: there is one
	}
	folder := b.IsFolder != nil && !strings.Contains(name, "$") && b.IsFolder(name)
	text := b.variables(name)
	if folder || name == "" || strings.HasSuffix(name, "/") {
		text = path.Join(text, submitfile.Literal(path.Base(b.name.text))+map[int]string{input: ".i", output: ".o", failure: ".e"}[which]+"$(Cluster)")
		if b.array.count > 0 {
			text += "." + b.array.text(0)
		}
	}
	return text
}

// variables returns a path in which the variables of Grid Engine and PBS are replaced.
func (b *batch) variables(text string) string {
	index := "undefined"
	if b.array.count > 0 {
		index = b.array.text(0)
	}
	own := func(name string) (string, bool) {
		switch name {
		case "JOB_ID":
			return "$(Cluster)", true
		case "PBS_JOBID":
			return b.jobID(), true
		case "JOB_NAME", "PBS_JOBNAME":
			return submitfile.Literal(b.name.text), true
		case "TASK_ID", "SGE_TASK_ID", "PBS_ARRAYID", "PBS_ARRAY_INDEX":
			return index, true
		case "HOSTNAME":
			return "$$(Machine)", true
		case "PBS_O_WORKDIR", "SGE_O_WORKDIR":
			return submitfile.Literal(b.Dir), true
		case "HOME", "USER", "LOGNAME", "PBS_O_HOME", "SGE_O_HOME", "PBS_O_LOGNAME", "SGE_O_LOGNAME":
			if b.LookupEnv == nil {
				return "", false
			}
			_, plain, ok := strings.Cut(name, "_O_")
			if !ok {
				plain = name
			}
			value, ok := b.LookupEnv(plain)
			return submitfile.Literal(value), ok
		}
		return "", false
	}
	var out strings.Builder
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "^array_index^"); ok {
			out.WriteString(index)
			text = rest
			continue
		}
		if text[0] != '$' {
			n := strings.IndexAny(text[1:], "$^") + 1
			if n == 0 {
				n = len(text)
			}
			out.WriteString(submitfile.Literal(text[:n]))
			text = text[n:]
			continue
		}
		name, rest := text[1:], ""
		if strings.HasPrefix(name, "{") {
			name, rest, _ = strings.Cut(name[1:], "}")
		} else {
			n := len(name) - len(strings.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"))
			name, rest = name[:n], name[n:]
		}
		value, ok := own(name)
		if !ok {
			value = submitfile.Literal(text[:len(text)-len(rest)])
		}
		out.WriteString(value)
		text = rest
	}
	return out.String()
}

// jobID returns what a job of the script is called: its cluster, or in an array cluster and proc.
func (b *batch) jobID() string {
	if b.array.count > 0 {
		return "$(Cluster).$(Process)"
	}
	return "$(Cluster)"
}

package batchscript

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/jobargs"
	"fairspool/lib/submitfile"
)

// batch is a script that is being read.
type batch struct {
	Options
	file     string
	system   *system
	warnings []submitfile.Warning
	script   Script

	number map[string]given // amounts, by their subject; finish joins them
	tasks  int              // how many the job has, on one slot
	cores  int              // of each
	name   given            // of the job; no text: it has the script's
	array  array
	limit  int // of jobs of an array that run at a time; 0: none

	streams  [len(streamNames)]given // where the standard files are; no text: not said
	together bool                    // error goes where output goes

	env     []string // NAME=VALUE, texts of the submit language
	all     bool     // the job gets all of the submitter's environment
	chosen  []string // or these variables of it
	envAt   submitfile.Place
	ok, any []string // clusters that have to end first
	after   submitfile.Place
}

// The standard files, and the commands that name them.
const (
	input = iota
	output
	failure
)

var streamNames = [...]string{"input", "output", "error"}

func (b *batch) warn(at submitfile.Place, format string, args ...any) {
	at.Col = 0
	b.warnings = append(b.warnings, submitfile.Warning{Place: at, Msg: fmt.Sprintf(format, args...)})
}

// refuse is the error of something that the system would not take either, or that cannot be
// left out.
func refuse(at submitfile.Place, format string, args ...any) error {
	return &submitfile.Error{Place: at, Msg: fmt.Sprintf(format, args...)}
}

func (g given) refuse(format string, args ...any) error {
	return refuse(g.at, "%s: %s", g.name, fmt.Sprintf(format, args...))
}

// wants refuses an argument.
func (g given) wants(what string) error {
	return g.refuse("%q: want %s", submitfile.Shorten(g.text), what)
}

// set gives a command a text of the submit language; the last one counts.
func (b *batch) set(at submitfile.Place, name, text string) {
	line := submitfile.Line{Name: name, Text: text, Line: at.Line, Col: max(at.Col, 1)}
	if i := slices.IndexFunc(b.script.Lines, func(l submitfile.Line) bool { return l.Name == name }); i >= 0 {
		b.script.Lines[i] = line
		return
	}
	b.script.Lines = append(b.script.Lines, line)
}

// sets is an option with an argument that is the value of a command as it stands.
func sets(command string) func(*batch, given) error {
	return func(b *batch, g given) error {
		if g.text == "" {
			return g.wants("a text that is not empty")
		}
		b.set(g.at, command, submitfile.Literal(g.text))
		return nil
	}
}

// keeps is an option that is an amount of something.
func keeps(what string) func(*batch, given) error {
	return func(b *batch, g given) error {
		if _, err := whole(g); err != nil {
			return err
		}
		b.number[what] = g
		return nil
	}
}

// whole reads a whole number from 0 up.
func whole(g given) (int, error) {
	n, err := strconv.ParseInt(g.text, 10, 32)
	if err != nil || n < 0 {
		return 0, g.wants("a whole number")
	}
	return int(n), nil
}

// amount returns a number that was kept; otherwise stands for one that was not.
func (b *batch) amount(what string, otherwise int) (n int, g given, ok bool) {
	g, ok = b.number[what]
	if !ok {
		return otherwise, g, false
	}
	n, _ = strconv.Atoi(g.text)
	return n, g, true
}

func (b *batch) setName(g given) error {
	if g.text == "" || strings.ContainsAny(g.text, "\n\r") {
		return g.wants("a name")
	}
	b.name = g
	return nil
}

// prioritize is a priority.
func prioritize(b *batch, g given) error {
	n, err := strconv.ParseInt(g.text, 10, 32)
	if err != nil {
		return g.wants("a whole number")
	}
	b.set(g.at, "priority", strconv.FormatInt(n, 10))
	return nil
}

// charge names the account: an accounting group where there is one of the name.
func charge(b *batch, g given) error {
	if b.IsGroup != nil && b.IsGroup(g.text) {
		return sets("accounting_group")(b, g)
	}
	return sets("account")(b, g)
}

// runBy is a shell that takes the place of the first line's.
func runBy(b *batch, g given) error {
	for one := range strings.SplitSeq(g.text, ",") {
		name, _, onHost := strings.Cut(one, "@")
		if onHost {
			continue
		}
		if !strings.HasPrefix(name, "/") {
			return g.wants("the absolute path of a shell")
		}
		b.script.Interpreter, b.script.InterpreterAt = []string{name}, g.at
	}
	return nil
}

// mailLetters is when mail is sent, by letters.
func mailLetters(b *batch, g given) error {
	of := map[rune]string{'a': "error", 'b': "start", 'e': "complete", 'n': "never"}
	value := ""
	for _, c := range strings.ToLower(strings.ReplaceAll(g.text, ",", "")) {
		switch {
		case c == 's':
			b.warn(g.at, "%s: s: a job is not suspended, ignored", g.name)
			continue
		case of[c] == "":
			return g.wants("letters of a, b, e and n")
		}
		value = mailBoth(value, of[c])
	}
	if value != "" {
		b.set(g.at, "notification", value)
	}
	return nil
}

// mailBoth joins two wishes for mail: the end of a job is reported whether it failed or
// not.
func mailBoth(one, other string) string {
	switch {
	case one == "" || one == "never" || one == other:
		return other
	case other == "never":
		return one
	case one != "start" && other != "start" && one != "always" && other != "always":
		return "complete"
	}
	return "always"
}

// hold keeps the job from starting until qrls.
func hold(b *batch, g given) error {
	b.set(g.at, "hold", "true")
	return nil
}

// depend adds clusters that have to end first: numbers, each perhaps with a part of the array
// or the server behind it.
func (b *batch) depend(g given, ids []string, success bool) error {
	b.after = g.at
	for _, id := range ids {
		digits := len(id) - len(strings.TrimLeft(id, "0123456789"))
		number, rest := id[:digits], id[digits:]
		if _, err := strconv.ParseInt(number, 10, 31); err != nil || rest != "" && !strings.ContainsAny(rest[:1], "._[+") {
			return g.refuse("%s: want the number of a cluster: what submit prints", submitfile.Shorten(id))
		}
		if rest != "" && (rest[0] == '_' || rest[0] == '+' || rest[0] == '[' && rest[1:] != "]" && !strings.HasPrefix(rest, "[].") ||
			rest[0] == '.' && rest != "." && strings.Trim(rest[1:], "0123456789") == "") {
			b.warn(g.at, "%s: %s: the job waits for all jobs of cluster %s", g.name, submitfile.Shorten(id), number)
		}
		to := &b.any
		if success {
			to = &b.ok
		}
		if !slices.Contains(*to, number) {
			*to = append(*to, number)
		}
	}
	return nil
}

// finish puts together what several directives say.
func (b *batch) finish() error {
	b.settle()
	if len(b.ok) > 0 {
		b.set(b.after, "after_ok", strings.Join(b.ok, ","))
	}
	if len(b.any) > 0 {
		b.set(b.after, "after_any", strings.Join(b.any, ","))
	}
	if err := b.needs(); err != nil {
		return err
	}
	b.files()
	if b.array.count > 0 {
		b.set(b.array.at, "MY."+IndexAttr, b.array.attribute())
		b.script.Queue = b.array.queue()
	}
	if b.limit > 0 && b.array.count > b.limit {
		b.set(b.array.at, "max_materialize", strconv.Itoa(b.limit))
	}
	b.environment()
	return nil
}

// IndexAttr is the attribute that a job of an array has its index in.
const IndexAttr = "ArrayIndex"

// settle gives the job its name.
func (b *batch) settle() {
	switch {
	case b.JobName != "":
		b.name = given{text: b.JobName}
	case b.name.text == "":
		b.name.text = b.Name
	}
	b.script.Name = b.name.text
	b.set(b.name.at, "batch_name", submitfile.Literal(b.name.text))
}

// needs sets the cores and the memory of the one slot for all tasks.
func (b *batch) needs() error {
	nodes, nodesAt, _ := b.amount("nodes", 1)
	perNode, perNodeAt, isPerNode := b.amount("tasks of a node", 1)
	tasks, tasksAt, isTasks := b.amount("tasks", max(nodes, 1)*max(perNode, 1))
	cpus, cpusAt, isCpus := b.amount("cores of a task", 1)
	if nodes > 1 {
		b.warn(nodesAt.at, "%s: %d nodes: the job runs on one slot of one machine", nodesAt.name, nodes)
	}
	if !isTasks {
		if tasksAt = nodesAt; isPerNode {
			tasksAt = perNodeAt
		}
	}
	all := int64(max(tasks, 1)) * int64(max(cpus, 1))
	b.tasks, b.cores = max(tasks, 1), max(cpus, 1)
	if !isCpus {
		cpusAt = tasksAt
	}
	const most = 1_000_000
	if float64(tasks)*float64(cpus) > most { // all may have overflowed
		return cpusAt.refuse("%.0f cores: want %d at most", float64(tasks)*float64(cpus), most)
	}
	if tasks > 1 && b.is(ofSlurm) {
		b.warn(tasksAt.at, "%s: %d tasks: the script is started once, on a slot with %d cores", tasksAt.name, tasks, all)
	}
	if cpusAt.at.Line > 0 {
		b.set(cpusAt.at, "request_cpus", strconv.FormatInt(all, 10))
	}
	gpus := 0
	for _, of := range [...]struct {
		what  string
		times int
	}{{"gpus", 1}, {"gpus of a node", max(nodes, 1)}, {"gpus of a task", max(tasks, 1)}} {
		if n, g, ok := b.amount(of.what, 0); ok {
			if int64(n)*int64(of.times) > most {
				return g.refuse("want %d GPUs at most", most)
			}
			gpus = n * of.times
			b.set(g.at, "request_gpus", strconv.Itoa(gpus))
		}
	}
	memory := int64(0)
	for _, of := range [...]struct {
		what  string
		times int64
	}{{"memory", 1}, {"memory of a node", int64(max(nodes, 1))}, {"memory of a core", all}, {"memory of a task", int64(max(tasks, 1))}, {"memory of a GPU", int64(gpus)}} {
		n, g, ok := b.amount(of.what, 0)
		if !ok || n == 0 || of.times == 0 {
			continue
		}
		if int64(n)*of.times > math.MaxInt32 {
			return g.refuse("%d MB in all: want %d at most", int64(n)*of.times, math.MaxInt32)
		}
		if memory < int64(n)*of.times {
			memory = int64(n) * of.times
			b.set(g.at, "request_memory", strconv.FormatInt(memory, 10))
		}
	}
	return nil
}

// environment sets the part of the submitter's environment that the job gets, and the variables
// that tell scripts of the system about their job.
func (b *batch) environment() {
	switch {
	case b.all:
		b.set(b.envAt, "getenv", "true")
	case len(b.chosen) > 0:
		b.set(b.envAt, "getenv", strings.Join(b.chosen, ","))
	}
	own := b.env
	if b.system != nil {
		own = jobargs.MergeEnv(own, b.system.environ(b))
	}
	if len(own) > 0 {
		b.set(b.envAt, "environment", `"`+strings.ReplaceAll(jobargs.FormatEnvV2(own), `"`, `""`)+`"`)
	}
}

// late is an expression that is worked out when the job starts. It has no blanks in it, nor has
// its value: neither would be put in quotes then.
func late(expr string) string { return "$$([" + expr + "])" }

// The values of variables that identify a job.
var (
	clusterText = late("ClusterId")
	procText    = late(`strcat(ClusterId,".",ProcId)`)
	cpusText    = late("RequestCpus")
	indexText   = late(IndexAttr)
)

// export adds variables: NAME=VALUE, or NAME for the submitter's.
func (b *batch) export(g given, one string) error {
	name, value, ok := strings.Cut(one, "=")
	switch {
	case name == "" || strings.ContainsAny(name, " \t\"'$"):
		return g.refuse("%q: want NAME or NAME=VALUE", submitfile.Shorten(one))
	case ok:
		b.env = append(b.env, name+"="+submitfile.Literal(value))
		return nil
	}
	b.chosen = append(b.chosen, name)
	return nil
}

// commas splits a list at its commas, except those in quotes.
func commas(text string) (list []string) {
	quote, from := byte(0), 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == ',':
			list = append(list, text[from:i])
			from = i + 1
		}
	}
	return append(list, text[from:])
}

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

// variables returns a path with the variables of Grid Engine and PBS replaced.
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

// jobID returns the id of a job of the script: its cluster, or in an array cluster and proc.
func (b *batch) jobID() string {
	if b.array.count > 0 {
		return "$(Cluster).$(Process)"
	}
	return "$(Cluster)"
}

// array is the indices of a script's jobs: count of them, in steps from the first, or a list.
type array struct {
	at                 submitfile.Place
	first, step, count int
	list               []int // nil: the others hold
}

const (
	// mostListed bounds the jobs of an array that is no single range.
	mostListed = 100_000
	mostIndex  = 1<<31 - 1
)

// setArray reads indices: ranges A-B, with :STEP behind them, and numbers, with commas between,
// and behind all of it perhaps %N, how many jobs run at a time.
func setArray(b *batch, g given) error {
	text, limit, limited := strings.Cut(g.text, "%")
	if limited {
		n, err := strconv.ParseInt(limit, 10, 32)
		if err != nil || n < 1 {
			return g.wants("a number of jobs from 1 up behind %")
		}
		b.limit = int(n)
	}
	a := array{at: g.at}
	ranges := strings.Split(text, ",")
	for _, one := range ranges {
		first, count, step, ok := indices(one)
		switch {
		case !ok:
			return g.wants("indices such as 1-10, 0-20:5 or 1,3,7")
		case b.is(ofGridEngine) && first == 0:
			return g.refuse("%s: the first index of an array is 1", submitfile.Shorten(one))
		case len(ranges) == 1 && count > submitfile.MaxJobs:
			return g.refuse("%d jobs: want %d at most", count, submitfile.MaxJobs)
		case len(ranges) == 1:
			a.first, a.step, a.count = first, step, count
			b.array = a
			return nil
		case len(a.list)+count > mostListed:
			return g.refuse("more than %d jobs in several ranges: write one range", mostListed)
		}
		for i := range count {
			a.list = append(a.list, first+i*step)
		}
	}
	slices.Sort(a.list)
	a.list = slices.Compact(a.list)
	a.count = len(a.list)
	b.array = a
	return nil
}

// indices reads N, A-B or A-B:STEP.
func indices(text string) (first, count, step int, ok bool) {
	from, to, ranged := strings.Cut(text, "-")
	to, by, stepped := strings.Cut(to, ":")
	step = 1
	number := func(text string) int {
		n, err := strconv.ParseUint(text, 10, 31)
		ok = ok && err == nil
		return int(n)
	}
	ok = true
	first = number(from)
	last := first
	if ranged {
		last = number(to)
	}
	if stepped {
		step = number(by)
	}
	if !ok || last < first || last >= mostIndex || step < 1 {
		return 0, 0, 0, false
	}
	return first, (last-first)/step + 1, step, true
}

// last returns the greatest index.
func (a array) last() int {
	if a.list != nil {
		return a.list[len(a.list)-1]
	}
	return a.first + (a.count-1)*a.step
}

// least returns the smallest index.
func (a array) least() int {
	if a.list != nil {
		return a.list[0]
	}
	return a.first
}

// formula returns what makes an index of the number of a proc.
func (a array) formula(proc string) string {
	if a.step != 1 {
		proc += " * " + strconv.Itoa(a.step)
	}
	if a.first != 0 {
		proc += " + " + strconv.Itoa(a.first)
	}
	return proc
}

// attribute returns the expression for the index in the job's ad. For a range it is the same
// for all jobs.
func (a array) attribute() string {
	if a.list != nil {
		return "$(" + IndexAttr + ")"
	}
	return a.formula("ProcId")
}

// text returns the index in the submit language, with zeros in front up to a width.
func (a array) text(width int) string {
	of := a.formula("$(Process)")
	if a.list != nil {
		of = "$(" + IndexAttr + ")"
	}
	return padded(of, width)
}

// padded returns a number of the submit language with zeros in front up to a width.
func padded(of string, width int) string {
	switch {
	case width > 0:
		return fmt.Sprintf("$INT(%s,%%0%dd)", of, width)
	case strings.Contains(of, " "):
		return "$INT(" + of + ")"
	}
	return of
}

// queue returns the arguments of the queue line.
func (a array) queue() string {
	if a.list == nil {
		return strconv.Itoa(a.count)
	}
	words := make([]string, len(a.list))
	for i, n := range a.list {
		words[i] = strconv.Itoa(n)
	}
	return IndexAttr + " in (" + strings.Join(words, ", ") + ")"
}

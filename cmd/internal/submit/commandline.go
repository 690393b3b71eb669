package submit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/batchscript"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/jobargs"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// commandLine is the description's name where the words behind -- stand in its place.
const commandLine = "command line"

// checkCommandLine refuses a command line without a command, or with a description.
func (s *submission) checkCommandLine(description []string) error {
	switch {
	case len(s.CommandLine) == 0 || s.CommandLine[0] == "":
		return cmdline.Usagef("--: want a command after it, as in submit -- echo hello")
	case len(description) > 0:
		return cmdline.Usagef("%s: a description and a command after --: only one of them at a time", description[0])
	}
	return nil
}

// runCommandLine makes the jobs run the words behind --, in place of a description.
func (s *submission) runCommandLine(language *submitfile.Options, o *jobad.Options) error {
	path, err := lookUp(s.CommandLine[0], language.Dir)
	if err != nil {
		return err
	}
	for _, text := range []string{path, language.Dir} {
		if strings.Contains(text, "$$(") {
			return fmt.Errorf("%s: a path may not contain $$(, which stands for attributes of the slot", text)
		}
	}
	language.HasQueue = true
	o.Command = submitfile.Exactly(append([]string{path}, s.CommandLine[1:]...))
	o.Getenv = true
	s.keepOutput(o, filepath.Base(path))
	return nil
}

// keepOutput makes jobs without a description keep their output, unless the command line names a
// file for it. name is what they are called without -name.
func (s *submission) keepOutput(o *jobad.Options, name string) {
	s.kept = true
	o.KeepOutput = fileName(cmp.Or(strings.TrimSpace(s.batchName), name))
}

// lookUp returns the path of a command as a shell finds it: one with a slash is taken from dir,
// another one is looked up in PATH. The error says what to do instead.
func lookUp(name, dir string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		if !filepath.IsAbs(path) {
			path = strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(path, "./")
		}
		return path, nil
	case strings.Contains(name, "/"):
		return "", fmt.Errorf("%s: %w", name, notExecutable(err))
	}
	hint := "; give its path"
	if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
		hint = "; the file here is submitted as a description by submit " + name
		if st.Mode()&0o111 != 0 {
			hint = "; the file here is run by submit -- ./" + name
		}
	}
	return "", fmt.Errorf("%s: no such command in PATH%s", submitfile.Shorten(name), hint)
}

// asCommand is what to do instead where the arguments are a command and no description.
func asCommand(file string, words []string) string {
	if len(words) > 0 && words[0] == "queue" {
		return fmt.Sprintf("; put a queue line after -queue: submit %s -queue %s", file, strings.Join(words[1:], " "))
	}
	if _, err := exec.LookPath(file); err != nil {
		return ""
	}
	return "; put a command after --: submit -- " + submitfile.Shorten(strings.Join(append([]string{file}, words...), " "))
}

func notExecutable(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("may not be executed: chmod +x it")
	case errors.Is(err, unix.EISDIR):
		return errors.New("is a folder")
	}
	return cmdline.Cause(errors.Unwrap(err))
}

// maxFileName is how many bytes of a job's name the name of its output has.
const maxFileName = 100

// fileName returns a job's name as the beginning of a file's name. Characters other than
// letters, digits and harmless signs become underscores, and so do a leading dot and hyphen.
func fileName(name string) string {
	harmless := func(r rune) rune {
		if r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._+-=@%,", r)) {
			return r
		}
		return '_'
	}
	name = strings.Map(harmless, name)
	for len(name) > maxFileName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	switch {
	case name == "":
		return "_"
	case name[0] == '.' || name[0] == '-':
		return "_" + name[1:]
	}
	return name
}

// environ returns the variables that jobs may have. A job's ad holds only NAME=value.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(a string) bool { return strings.Index(a, "=") < 1 })
}

// tellKept says which jobs are in the queue that keep their output, and where.
func (s *submission) tellKept(k cluster) {
	t := newTexts(k)
	t.at(k.Runs[0])
	first := pool.JobID{Cluster: k.id}
	which, whose := fmt.Sprintf("Job %v submitted", first), "output"
	if k.all > 1 {
		which, whose = fmt.Sprintf("%s submitted to cluster %d", plural.Count(k.all, "job"), k.id), fmt.Sprintf("output of %v", first)
	}
	out := t.text(pool.AttrOut)
	if out == os.DevNull {
		fmt.Fprintf(s.Stdout, "%s; the output is not kept\n", which)
		return
	}
	dir := t.text(pool.AttrIwd)
	if here, err := os.Getwd(); !filepath.IsAbs(out) && (err != nil || dir != here) {
		out = filepath.Join(dir, out)
	}
	fmt.Fprintf(s.Stdout, "%s; %s in %s\n", which, whose, out)
}

// isScript reports whether an argument names a batch script; the words behind it are then
// the script's. It reads regular files only, as reading a pipe would consume it.
func isScript(arg string) bool {
	if isDefinition(arg) {
		return false
	}
	if info, err := os.Stat(arg); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return false
	}
	text, err := readFile(arg)
	return err == nil && batchscript.Is(text)
}

// script returns the description that a batch script stands for.
func (s *submission) script(of given, language submitfile.Options, o *jobad.Options) (*submitfile.Description, error) {
	name := filepath.Base(of.file)
	if of.file == "-" {
		name = "STDIN" // as qsub has it
	}
	script, warnings, err := batchscript.Read(of.text, of.name, batchscript.Options{
		Name: name, JobName: s.batchName, Dir: language.Dir, Now: s.Now, IsFolder: isFolder, LookupEnv: os.LookupEnv,
		IsGroup: func(name string) bool { _, ok := s.Config.Groups.Find(name); return ok },
	})
	s.warnOf(warnings)
	if err != nil {
		return nil, err
	}
	if len(of.text) > maxScript {
		return nil, fmt.Errorf("%s: larger than %d KB, too large to be kept with the job: write a script that runs it", of.name, maxScript>>10)
	}
	s.keepOutput(o, script.Name)
	lines := append(script.Lines, commandOf(of, script)...)
	d, warnings, err := submitfile.Make(of.text, of.name, lines, script.Queue, language)
	s.warnOf(warnings)
	return d, err
}

// maxScript bounds a script, which is kept with the job, in bytes.
const maxScript = 512 << 10

// commandOf returns the command that runs a script: its interpreter, /bin/sh without one. The
// job has a copy of the present script, so that the user may change it for the next job.
// Arguments of the command line replace those of directives.
func commandOf(of given, script batchscript.Script) []submitfile.Line {
	by, words := script.Interpreter, of.words
	if len(by) == 0 {
		by = []string{"/bin/sh"}
	}
	if len(words) == 0 {
		words = script.Arguments
	}
	at := script.InterpreterAt
	return []submitfile.Line{
		{Name: "executable", Text: submitfile.Literal(by[0]), Line: at.Line, Col: at.Col},
		{Name: "arguments", Text: `"` + literal(by[1:]) + " " + pool.BatchScriptPath + " " + literal(words) + `"`},
		{Name: "MY." + pool.AttrBatchScript, Text: submitfile.Literal(classad.Quoted(of.text))},
	}
}

// literal returns words as a part of quoted arguments, without expansion.
func literal(words []string) string {
	return strings.ReplaceAll(submitfile.Literal(jobargs.FormatLiteral(words)), `"`, `""`)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// requests are the flags that stand for a submit command and override the description. value
// returns the command's value for the flag's, or an error.
var requests = [...]struct {
	flag, command string
	value         func(text string) (string, error)
}{
	{"cpus", "request_cpus", func(text string) (string, error) { return text, whole(text, 1) }},
	{"memory", "request_memory", memory},
	{"gpus", "request_gpus", func(text string) (string, error) { return text, whole(text, 0) }},
	{"time", "wall_time", wallTime},
	{"after", "after_ok", clusters},
	{"output", "output", plain},
	{"error", "error", plain},
	{"batch-name", "batch_name", plain},
}

// requested returns the lines that stand before each queue line for the flags.
func (s *submission) requested() ([]string, error) {
	var lines []string
	for _, r := range requests {
		if !s.Has(r.flag) {
			continue
		}
		text := strings.TrimSpace(s.Value(r.flag))
		if text == "" {
			return nil, cmdline.Usagef("-%s: want a word, got an empty one", r.flag)
		}
		value, err := r.value(text)
		if err != nil {
			return nil, cmdline.Usagef("-%s %s: %v", r.flag, submitfile.Shorten(text), err)
		}
		if err := oneLine(text); err != nil {
			return nil, err
		}
		if r.flag == "batch-name" { // +JobBatchName would go before batch_name
			lines = append(lines, "MY.JobBatchName = "+classad.Quoted(value))
			continue
		}
		lines = append(lines, r.command+" = "+value)
	}
	return lines, nil
}

// tellReplaced tells which lines of a description do not count since a flag does. It is an error
// when it is the flag that does not.
func (s *submission) tellReplaced(d *submitfile.Description) error {
	var all []jobad.Command
	for _, r := range requests {
		if !s.Has(r.flag) {
			continue
		}
		if all == nil {
			all = jobad.Commands()
		}
		c := all[slices.IndexFunc(all, func(c jobad.Command) bool { return c.Name == r.command })]
		if err := s.tellReplacedBy(r.flag, c, d); err != nil {
			return err
		}
	}
	return nil
}

// tellReplacedBy does so for a flag that stands for a command.
func (s *submission) tellReplacedBy(flag string, c jobad.Command, d *submitfile.Description) error {
	value := s.Value(flag)
	names := append(slices.Clone(c.Also), c.Name)
	attribute := "my." + strings.ToLower(c.Attr)
	for _, key := range d.Variables() {
		if slices.Contains(names, key) || key == attribute {
			return fmt.Errorf("%s: %s is a variable of the queue line, which overrides -%s %s: leave one of them out", d.File(), key, flag, submitfile.Shorten(value))
		}
	}
	late := d.AfterLast()
	for i, a := range d.Assignments() {
		key := strings.ToLower(a.Name)
		at := submitfile.Place{File: a.Place().File, Line: a.Place().Line}
		switch {
		case late[i], at.Line == 0: // no user wrote it
		case key == attribute && flag != "batch-name":
			return &submitfile.Error{Place: at, Msg: fmt.Sprintf("+%s: overrides -%s %s: leave one of them out", c.Attr, flag, submitfile.Shorten(value))}
		case !a.Appended && a.Text != value && (slices.Contains(names, key) || key == attribute):
			s.warn("%v", submitfile.Warning{Place: at, Msg: fmt.Sprintf("%s = %s: -%s %s counts instead", a.Name, submitfile.Shorten(a.Text), flag, submitfile.Shorten(value))})
			return nil
		}
	}
	return nil
}

// whole returns an error unless text is a whole number from least up.
func whole(text string, least int) error {
	if n, err := strconv.Atoi(text); err != nil || n < least || n > maxNumber {
		return fmt.Errorf("want a whole number from %d to %d", least, maxNumber)
	}
	return nil
}

// maxNumber is how much of anything a job may ask for, as request_cpus has it.
const maxNumber = 1_000_000

func memory(text string) (string, error) {
	if !jobad.IsSize(text) {
		return "", errors.New("want a size, such as 4G, 500M or 1.5 GB; a number alone is MB")
	}
	return text, nil
}

func clusters(text string) (string, error) {
	if _, err := jobpolicy.ParseClusters(text); err != nil {
		return "", fmt.Errorf("want numbers of clusters, such as 12 or 12,13, %d at most", jobpolicy.MaxClusters)
	}
	return text, nil
}

func plain(text string) (string, error) { return text, nil }

// longest is a hundred years, in seconds.
const longest = 100 * 365 * 86400

// wallTime reads a time as 2h, 90m, 1h30m, 2d, 1:30:00 or in seconds, and returns the seconds.
func wallTime(text string) (string, error) {
	n, ok := jobad.Span(text)
	if !ok {
		n, _ = strconv.ParseInt(text, 10, 64)
	}
	if n < 1 || n > longest {
		return "", errors.New("want a time, such as 2h, 90m, 1h30m, 2d, 1:30:00 or a number of seconds")
	}
	return strconv.FormatInt(n, 10), nil
}

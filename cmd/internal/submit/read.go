package submit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/platform"
	"fairspool/lib/batchscript"
	"fairspool/lib/jobad"
	"fairspool/lib/macro"
	"fairspool/lib/plural"
	"fairspool/lib/policy/registry"
	"fairspool/lib/submitfile"
)

// read reads and checks the description that the arguments name, or the command line in its
// place, and prints its warnings.
func (s *submission) read() (*jobad.Jobs, error) {
	define, file, words, err := s.arguments()
	if err != nil {
		return nil, err
	}
	language, err := s.language(define)
	if err != nil {
		return nil, err
	}
	surroundings, err := s.surroundings(language.Dir)
	if err != nil {
		return nil, err
	}
	text, name := "", commandLine
	if s.CommandLine == nil {
		if text, name, err = s.input(file); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w%s", err, asCommand(file, words))
		}
	} else {
		err = s.runCommandLine(&language, &surroundings)
	}
	if err != nil {
		return nil, err
	}
	if name != standardInput {
		language.Stdin = func() (string, error) { return readAll(s.Stdin) }
	}
	d, err := s.description(given{text, name, file, words}, language, &surroundings)
	if err != nil {
		return nil, err
	}
	if err := s.checkNumber(d); err != nil {
		return nil, err
	}
	if err := s.tellReplaced(d); err != nil {
		return nil, err
	}
	s.tellOverridden(d)
	jobs, warnings, err := jobad.New(d, surroundings)
	s.warnOf(warnings)
	return jobs, err
}

// given is the source of a description.
type given struct {
	text, name string   // and its name in messages
	file       string   // as it was named; - is standard input
	words      []string // the arguments behind it
}

// description returns the description in a text: a submit description, or a batch script.
func (s *submission) description(of given, language submitfile.Options, o *jobad.Options) (*submitfile.Description, error) {
	if batchscript.Is(of.text) {
		return s.script(of, language, o)
	}
	if len(of.words) > 0 {
		if isDefinition(of.words[0]) {
			return nil, cmdline.Usagef("%s: put it before the description's file", of.words[0])
		}
		return nil, cmdline.Usagef("%s: one submit description at a time%s", of.words[0], asCommand(of.file, of.words))
	}
	d, warnings, err := submitfile.Parse(of.text, of.name, language)
	s.warnOf(warnings)
	return d, err
}

func (s *submission) warnOf(warnings []submitfile.Warning) {
	for _, w := range warnings {
		s.warn("%v", w)
	}
}

// tellOverridden warns of NAME=VALUE of the command line that the description sets to something else
// behind it.
func (s *submission) tellOverridden(d *submitfile.Description) {
	defined := map[string]string{} // by name in lower case
	for _, a := range d.Assignments() {
		key := strings.ToLower(a.Name)
		value, was := defined[key]
		switch {
		case a.Defined:
			defined[key] = a.Text
		case was && !a.Appended && a.Text != value:
			at := submitfile.Place{File: a.Place().File, Line: a.Place().Line}
			line := fmt.Sprintf("%s=%s", a.Name, submitfile.Shorten(value))
			s.warn("%v", submitfile.Warning{Place: at, Msg: fmt.Sprintf("%s: overrides %s of the command line; -a '%s' overrides both", a.Name, line, line)})
			delete(defined, key) // once
		}
	}
}

// checkNumber holds the description to -maxjobs.
func (s *submission) checkNumber(d *submitfile.Description) error {
	if _, jobs := d.Queues(); s.maxJobs > 0 && jobs > s.maxJobs {
		return fmt.Errorf("%s: asks for %s, more than -maxjobs %d: nothing is submitted", d.File(), plural.Count(jobs, "job"), s.maxJobs)
	}
	return nil
}

// arguments parts the definitions from the description's file and what stands behind it;
// no file is standard input.
func (s *submission) arguments() (define []string, file string, words []string, err error) {
	rest := s.Args
	for ; len(rest) > 0 && isDefinition(rest[0]); rest = rest[1:] {
		name, value, _ := strings.Cut(rest[0], "=")
		if !macro.IsName(strings.TrimPrefix(strings.TrimSpace(name), "+")) {
			return nil, "", nil, cmdline.Usagef("%s: want NAME=VALUE; a file of this name is written ./%s", rest[0], rest[0])
		}
		if err := oneLine(rest[0]); err != nil {
			return nil, "", nil, err
		}
		define = append(define, strings.TrimSpace(name)+" = "+value)
	}
	if s.file != "" {
		rest = append([]string{s.file}, rest...)
	}
	switch {
	case s.CommandLine != nil:
		return define, "", nil, s.checkCommandLine(rest)
	case len(rest) > 0 && rest[0] == "":
		return nil, "", nil, cmdline.Usagef("the submit description's name is empty")
	case len(rest) > 1 && rest[1] == "=":
		return nil, "", nil, cmdline.Usagef("%s =: NAME=VALUE has no blanks around the =", rest[0])
	case len(rest) > 0:
		return define, rest[0], rest[1:], nil
	case isTerminal(s.Stdin):
		return nil, "", nil, cmdline.Usagef("which submit description? name a file, or - for standard input")
	}
	return define, "-", nil, nil
}

// isDefinition tells NAME=VALUE from a file, which has a slash before any =.
func isDefinition(arg string) bool {
	name, _, ok := strings.Cut(arg, "=")
	return ok && !strings.Contains(name, "/")
}

// oneLine refuses what would be several lines of a description.
func oneLine(text string) error {
	if strings.ContainsAny(text, "\n\r") {
		return cmdline.Usagef("%s: want one line", submitfile.Shorten(text))
	}
	return nil
}

const standardInput = "standard input"

// input returns the text of the description, and its name for messages.
func (s *submission) input(file string) (text, name string, err error) {
	name = file
	if file == "-" {
		name = standardInput
	}
	if err := s.spareInput(file); err != nil {
		return "", name, err
	}
	if file == "-" {
		text, err = readAll(s.Stdin)
	} else {
		text, err = readFile(file)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return text, name, err
}

// spareInput refuses to write the ads of a dry run over the description.
func (s *submission) spareInput(file string) error {
	to := s.dryRunTo
	if to == "" || to == "-" {
		return nil
	}
	target, err := os.Stat(to)
	if err != nil {
		return nil // what keeps it from being written shows when it is
	}
	var source os.FileInfo
	if f, ok := s.Stdin.(*os.File); ok && file == "-" {
		source, err = f.Stat()
	} else {
		source, err = os.Stat(file)
	}
	if err == nil && os.SameFile(source, target) {
		return cmdline.Usagef("-dry-run %s: is the description itself", to)
	}
	return nil
}

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// language returns what the command line and the machine contribute to the language of
// the description.
func (s *submission) language(define []string) (submitfile.Options, error) {
	o := submitfile.Options{
		Define: define, LookupEnv: os.LookupEnv, Read: readFile, Write: writeFile, Glob: glob,
		Run: runner{s.Config.SubmitCommandTimeout, s.watch}.run,
		// One moment gives the same choices; the clock's never comes again.
		Seed: uint64(s.Now.UnixNano()),
	}
	if s.Trial != nil {
		o.Write = nil
	}
	var err error
	if o.Dir, err = os.Getwd(); err != nil {
		return o, fmt.Errorf("the current directory: %w", err)
	}
	if o.Predefined, err = s.predefined(); err != nil {
		return o, err
	}
	if s.queue != nil {
		o.Queue, o.HasQueue = strings.Join(s.queue, " "), true
		if err := oneLine(o.Queue); err != nil {
			return o, err
		}
	}
	if s.unique != "" {
		o.Append = append(o.Append, keyLine(s.unique))
	}
	for _, line := range s.append {
		if err := oneLine(line[0]); err != nil {
			return o, err
		}
		words, isQueue := queueLine(line[0])
		switch {
		case !isQueue:
			o.Append = append(o.Append, line[0])
		case o.HasQueue:
			return o, cmdline.Usagef("-append %s: a second queue line for the description", submitfile.Shorten(line[0]))
		default:
			o.Queue, o.HasQueue = words, true
		}
	}
	lines, err := s.requested()
	o.Append = append(o.Append, lines...)
	return o, err
}

// queueLine reports whether a line is a queue line, and returns its words.
func queueLine(line string) (words string, ok bool) {
	line = strings.TrimSpace(line)
	end := strings.IndexAny(line+" ", " \t=")
	words = strings.TrimSpace(line[end:])
	return words, strings.EqualFold(line[:end], "queue") && !strings.HasPrefix(words, "=")
}

// predefined are the macros that are there without a line of the description.
// Their values are texts of the language.
func (s *submission) predefined() (map[string]string, error) {
	dir, err := s.SpoolDir()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	values := map[string]string{
		"ARCH": platform.Arch(), "OPSYS": platform.OpSys, "ISLINUX": "true", "ISWINDOWS": "false",
		"SPOOL":       strings.ReplaceAll(dir, "$", "$(DOLLAR)"),
		"SUBMIT_TIME": strconv.FormatInt(s.Now.Unix(), 10),
		"YEAR":        s.Now.Format("2006"), "MONTH": s.Now.Format("01"), "DAY": s.Now.Format("02"),
	}
	if here := platform.Here(); here.Name != "" {
		values["OPSYSANDVER"] = here.NameAndVersion()
		if here.Major > 0 {
			values["OPSYSVER"] = strconv.Itoa(here.Version())
			values["OPSYSMAJORVER"] = strconv.Itoa(here.Major)
		}
	}
	return values, nil
}

// surroundings returns what the command line and the machine contribute to the jobs of a
// description. The domain is a guess until the spool is open.
func (s *submission) surroundings(dir string) (jobad.Options, error) {
	owner, err := s.ownerOf(s.Call)
	if err != nil {
		return jobad.Options{}, err
	}
	s.owner = owner
	host, err := s.Hostname()
	if err != nil {
		return jobad.Options{}, err
	}
	domain := s.Config.UIDDomain
	if domain == "" {
		domain = host
	}
	o := jobad.Options{
		Owner: owner, Group: groupOf(s.Call, owner), Domain: domain, Dir: dir, Now: s.Now, NiceGroup: s.Config.NiceGroup, Groups: s.Config.Groups,
		RequestCpus:   s.Config.Text("JOB_DEFAULT_REQUESTCPUS"),
		RequestMemory: s.Config.Text("JOB_DEFAULT_REQUESTMEMORY"),
		RequestDisk:   s.Config.Text("JOB_DEFAULT_REQUESTDISK"),
		Arch:          platform.Arch(), OpSys: platform.OpSys, FileSystemDomain: host,
		AppendRequirements: s.Config.Text("APPEND_REQUIREMENTS"), AppendRank: s.Config.Text("APPEND_RANK"),
		Environ: environ(), Lenient: s.dryRunTo != "" || s.force,
	}
	for _, d := range [...][2]string{
		{"JOB_DEFAULT_REQUESTCPUS", o.RequestCpus}, {"JOB_DEFAULT_REQUESTMEMORY", o.RequestMemory}, {"JOB_DEFAULT_REQUESTDISK", o.RequestDisk},
	} {
		if err := jobad.CheckDefaultRequest(d[0], d[1]); err != nil {
			return o, s.Config.Complain(d[0], err)
		}
	}
	rules := registry.Of(s.Config).Rules(s.Config)
	if rules.Defaults != nil {
		o.Account, o.Classes = rules.Defaults(owner, o.Group)
	}
	who, err := s.Caller()
	o.Settled = rules.SettledFor(who.Admin)
	return o, err
}

// watch shows on a terminal how long a command has been waited for.
func (s *submission) watch(command string) (end func()) {
	p := s.Progress("waiting for " + submitfile.Shorten(command))
	began := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer p.End()
		for {
			select {
			case <-tick.C:
				p.Count(int(time.Since(began).Seconds()), "s")
			case <-done:
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(done)
		<-ended
	}
}

// maxFile bounds a file that a description is read from, or takes items or
// lines from, in bytes.
const maxFile = 256 << 20

// readFile returns the text of a file or of a named pipe. The error does not include the
// name.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", cmdline.Cause(err)
	}
	defer f.Close()
	return readAll(f)
}

// readAll returns all that there is to be read, if it is not too much.
func readAll(r io.Reader) (string, error) {
	var b strings.Builder
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() && st.Size() <= maxFile {
			b.Grow(int(st.Size()))
		}
	}
	n, err := io.Copy(&b, io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return "", cmdline.Cause(err)
	case n > maxFile:
		return "", fmt.Errorf("larger than %d MB", maxFile>>20)
	}
	return b.String(), nil
}

// writeFile replaces a file as a whole.
func writeFile(path, text string) error {
	_, err := cmdline.Replace(path, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	return cmdline.Cause(err)
}

// glob returns the paths that match a pattern of *, ? and [], sorted; a folder's path
// ends in a slash. As in a shell, only a dot matches a leading dot of a name, and a
// pattern that ends in a slash matches only folders.
func glob(pattern string) ([]string, error) {
	here := ""
	if strings.HasPrefix(pattern, "./") { // filepath.Glob would lose it
		here = "./"
	}
	wanted := strings.TrimLeft(strings.TrimPrefix(pattern, here), "/")
	if here == "" {
		wanted = pattern
	}
	stem := strings.TrimRight(wanted, "/")
	if stem == "" {
		stem = wanted
	}
	found, err := filepath.Glob(negated(stem))
	if err != nil {
		return nil, errors.New("a [ that is not closed, or a \\ at the end")
	}
	slices.Sort(found)
	out := found[:0]
	for _, path := range found {
		if !shows(stem, path) {
			continue
		}
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			path = strings.TrimRight(path, "/") + "/"
		} else if stem != wanted {
			continue
		}
		out = append(out, here+path)
	}
	return out, nil
}

// negated writes [!a] as [^a], which is what filepath.Match knows.
func negated(pattern string) string {
	b := []byte(pattern)
	inside := false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\\':
			i++
		case b[i] == '[' && !inside:
			inside = true
			if i+1 < len(b) && b[i+1] == '!' {
				b[i+1] = '^'
			}
		case b[i] == ']':
			inside = false
		}
	}
	return string(b)
}

// shows reports whether a path has only such names with a dot in front as the
// pattern that it matches asks for.
func shows(pattern, path string) bool {
	if !strings.Contains(path, "/.") && path[0] != '.' {
		return true
	}
	wanted, names := components(pattern), components(path)
	for i, name := range names {
		if name[0] == '.' && i < len(wanted) && wanted[i][0] != '.' && wanted[i][0] != '\\' {
			return false
		}
	}
	return true
}

func components(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// exists returns a *fault with the problem of a path in a few words, nil if there is none.
func exists(path string, dir bool) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && dir:
		return &fault{"no such folder", unix.ENOENT}
	case errors.Is(err, fs.ErrNotExist):
		return &fault{"no such file", unix.ENOENT}
	case err != nil:
		return newFault(err)
	case dir && !st.IsDir():
		return &fault{"not a folder", unix.ENOTDIR}
	case !dir && st.IsDir():
		return &fault{"is a folder", unix.EISDIR}
	}
	return nil
}

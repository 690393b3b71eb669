package cmdline

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"fairspool/lib/nearest"
)

// Main runs the command with the process's arguments and streams, and exits.
func Main(c Command) {
	collectGarbage()
	os.Exit(Execute(c, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Execute runs the command with args, which leave out the program's name, and
// returns its exit status. Beyond the streams it uses the environment that
// the common flags name, the clock when no -now is given, and the files of
// configuration and spool.
func Execute(c Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return Here().Execute(c, args, stdin, stdout, stderr)
}

// Execute does as the function of that name, in these surroundings.
func (s Surroundings) Execute(c Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out, bad := &output{to: stdout, buffer: bufio.NewWriterSize(stdout, outputBuffer)}, &output{to: stderr}
	err := s.run(c, args, stdin, out, bad)
	status := report(bad, c.Name, err)
	if e := out.flush(); e != nil && status == exitDone {
		status = report(bad, c.Name, e)
	}
	bad.flush()
	return status
}

// Cause returns a file's error without the operation and the file's name, for messages
// that name the file themselves.
func Cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func (s Surroundings) run(c Command, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if words, is := completing(args); is {
		return s.complete(c, words, args, stdin, stdout, stderr)
	}
	typed := args
	var ended []string
	c.Ends = s.ends(c.Ends, &ended)
	flags, args, behind, err := c.tokens(args)
	if o, ok := stderr.(*output); ok {
		o.json = has(flags, jsonFlag) || err != nil && c.wantsJSON(typed)
	}
	if err != nil {
		return err
	}
	if err := c.once(flags); err != nil {
		return err
	}
	if has(flags, "help") {
		return c.help(stdout)
	}
	if has(flags, "version") {
		_, err := fmt.Fprintf(stdout, "%s fairspool %s\n", c.Name, version())
		return err
	}
	line := []string{c.Name}
	for _, o := range flags {
		line = append(line, o.text())
	}
	line = append(append(line, "--"), args...)

	return s.app(c, behind, typed, ended, stdin, stdout, stderr).Run(line)
}

// app returns the command as the library has it.
func (s Surroundings) app(c Command, behind, typed, ended []string, stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := cli.NewApp()
	app.Name, app.Usage = c.Name, c.Brief
	app.HideHelp, app.HideVersion = true, true
	app.DisableSliceFlagSeparator = true
	app.Reader, app.Writer, app.ErrWriter = stdin, stdout, stderr
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return Usagef("%v", err) }
	for _, f := range c.ownFlags() {
		app.Flags = append(app.Flags, own(f))
	}
	for _, f := range c.commonFlags() {
		if len(f.Args) > 0 {
			app.Flags = append(app.Flags, shared(f))
		}
	}
	app.Action = func(x *cli.Context) error { return s.act(c, x, behind, typed, ended) }
	return app
}

// jsonFlag is the flag of all commands that write JSON.
const jsonFlag = "json"

// wantsJSON reports whether a command line that cannot be read has -json.
func (c Command) wantsJSON(line []string) bool {
	if i := slices.Index(line, "--"); i >= 0 {
		line = line[:i]
	}
	_, has := c.find(jsonFlag, true)
	return has && (slices.Contains(line, "-"+jsonFlag) || slices.Contains(line, "--"+jsonFlag))
}

func has(flags []occurrence, name string) bool {
	return slices.ContainsFunc(flags, func(o occurrence) bool { return o.flag.Name == name })
}

// once refuses a flag that was given twice and may not be. A switch may.
func (c Command) once(flags []occurrence) error {
	seen := map[string]occurrence{}
	for _, o := range flags {
		before, twice := seen[o.flag.Name]
		switch {
		case !twice || len(o.flag.Args) == 0 || o.flag.Repeat:
		case o.flag.Name == c.Number && signed(before.args[0]) && signed(o.args[0]):
			return Usagef("%s and %s: only one of them at a time", before.args[0], o.args[0])
		default:
			return Usagef("-%s: given twice", o.flag.Name)
		}
		seen[o.flag.Name] = o
	}
	return nil
}

// Flags of urfave/cli, which would take the name apart by a regular expression each time that it looks for a flag.
type (
	switchFlag struct{ *cli.BoolFlag }
	textFlag   struct{ *cli.StringFlag }
	textsFlag  struct{ *cli.StringSliceFlag }
)

func (f switchFlag) Names() []string { return []string{f.Name} }
func (f textFlag) Names() []string   { return []string{f.Name} }
func (f textsFlag) Names() []string  { return []string{f.Name} }

// own returns a command's flag as urfave/cli has it.
func own(f Flag) cli.Flag {
	if len(f.Args) == 0 {
		return switchFlag{&cli.BoolFlag{Name: f.Name, Usage: f.Help}}
	}
	return textsFlag{&cli.StringSliceFlag{Name: f.Name, Usage: f.Help}}
}

// shared returns a common flag as urfave/cli has it, with its variable.
func shared(f Flag) cli.Flag {
	s := &cli.StringFlag{Name: f.Name, Usage: f.Help}
	// An empty variable is as good as none.
	if v := environment[f.Name]; v != "" && os.Getenv(v) != "" {
		s.EnvVars = []string{v}
	}
	return textFlag{s}
}

// act is the command behind its parsed flags.
func (s Surroundings) act(c Command, x *cli.Context, behind, typed, ended []string) error {
	call, err := newCall(s, c, x)
	if err != nil {
		return err
	}
	call.CommandLine, call.Typed, call.ended = behind, typed, ended
	if !c.WithoutSpool && (c.Here == nil || !c.Here(call)) {
		asRoot := c.AsRoot != nil && c.AsRoot(call)
		if dial, is := call.closed(); is && !(asRoot && s.UID == 0) {
			return call.handOver(c, dial)
		}
		if !asRoot {
			if err := call.leaveRoot(); err != nil {
				return err
			}
		}
	}
	err = c.perform(call)
	if !c.WithoutSpool {
		call.revive()
	}
	if e := call.close(); err == nil {
		err = e
	}
	return err
}

// given returns the occurrences of the command's own flags whose names are in set.
func given(c Command, x *cli.Context, set []string) map[string][]occurrence {
	all := map[string][]occurrence{}
	for _, f := range c.Flags {
		switch {
		case f.Refused || !slices.Contains(set, f.Name):
		case len(f.Args) == 0:
			all[f.Name] = []occurrence{{flag: f}}
		default:
			for _, value := range x.StringSlice(f.Name) {
				all[f.Name] = append(all[f.Name], occurrenceOf(f, value))
			}
		}
	}
	return all
}

// apart stands before, between and behind the arguments of one occurrence of
// a flag on its way through urfave/cli, which would trim them otherwise. No
// argument of a process can contain it.
const apart = "\x00"

// occurrence is one appearance of a flag on the command line.
type occurrence struct {
	flag    Flag
	letters string // behind the colon
	args    []string
}

// text returns the occurrence as one argument for urfave/cli.
func (o occurrence) text() string {
	if len(o.flag.Args) == 0 {
		return "--" + o.flag.Name
	}
	args := o.args
	if o.flag.Letters != "" {
		args = append([]string{o.letters}, args...)
	}
	return "--" + o.flag.Name + "=" + apart + strings.Join(args, apart) + apart
}

// occurrenceOf is the inverse of text, for the value that urfave/cli found.
func occurrenceOf(f Flag, value string) occurrence {
	o := occurrence{flag: f, args: strings.Split(strings.TrimSuffix(strings.TrimPrefix(value, apart), apart), apart)}
	if f.Letters != "" {
		o.letters, o.args = o.args[0], o.args[1:]
	}
	return o
}

// tokens splits a command line, without the program's name, into flags,
// arguments and, for a command with CommandLine, the words behind `--`; these
// are nil without it.
func (c Command) tokens(line []string) (flags []occurrence, args, behind []string, err error) {
	for i := 0; i < len(line); {
		word := line[i]
		switch {
		case word == "--" && c.CommandLine:
			return flags, args, append([]string{}, line[i+1:]...), nil
		case word == "--":
			return flags, append(args, line[i+1:]...), nil, nil
		case c.Number != "" && signed(word):
			f, _ := c.find(c.Number, true)
			flags = append(flags, occurrence{flag: f, args: []string{word}})
			i++
		case len(word) < 2 || word[0] != '-':
			args = append(args, word)
			i++
			if c.Ends != nil && c.Ends(word) {
				return flags, append(args, line[i:]...), nil, nil
			}
		default:
			o, n, err := c.flag(line[i:])
			if err != nil {
				return nil, nil, nil, err
			}
			flags = append(flags, o)
			i += n
		}
	}
	return flags, args, nil, nil
}

// ends returns a Command.Ends that collects in said the arguments for which it is true. In serve it is
// true for those for which it was true at the caller's end, as only the caller may look at the files.
func (s Surroundings) ends(is func(arg string) bool, said *[]string) func(arg string) bool {
	switch {
	case is == nil:
		return nil
	case s.Session != nil:
		return func(arg string) bool { return slices.Contains(s.Session.Request.Ends, arg) }
	}
	return func(arg string) bool {
		yes := is(arg)
		if yes {
			*said = append(*said, arg)
		}
		return yes
	}
}

// signed reports whether word is a sign followed by a digit.
func signed(word string) bool {
	return len(word) > 1 && (word[0] == '+' || word[0] == '-') && word[1] >= '0' && word[1] <= '9'
}

// flag reads the flag at the front of line, and says how many words it took.
func (c Command) flag(line []string) (o occurrence, n int, err error) {
	word, value, hasValue := strings.Cut(line[0], "=")
	name, letters, hasLetters := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), ":")
	f, ok := c.find(name, strings.HasPrefix(word, "--"))
	switch {
	case !ok:
		return o, 0, Usagef("unknown flag %s%s", word, c.guess(name))
	case f.Refused:
		return o, 0, Usagef("-%s: %s", f.Name, cmp.Or(f.Why, "not part of this version"))
	case hasLetters && f.Letters == "":
		return o, 0, Usagef("-%s: takes no options after a colon", f.Name)
	case hasValue && len(f.Args) == 0:
		return o, 0, Usagef("-%s: takes no argument", f.Name)
	}
	if i := strings.IndexFunc(letters, func(r rune) bool { return !strings.ContainsRune(f.Letters, r) }); i >= 0 {
		return o, 0, Usagef("-%s:%s: want letters of %s after the colon", f.Name, letters, f.Letters)
	}
	o = occurrence{flag: f, letters: letters}
	n = 1
	if hasValue {
		o.args = append(o.args, value)
	}
	for ; n < len(line) && c.wants(o, line[n]); n++ {
		o.args = append(o.args, line[n])
	}
	if len(o.args) < len(f.Args) && !f.optional() {
		return o, 0, c.missing(o, line[n:])
	}
	return o, n, nil
}

// wants reports whether word belongs to the occurrence: as long as arguments
// are missing, anything but another flag's name or `--`; then, for a flag that
// takes any number, all that does not look like a flag.
func (c Command) wants(o occurrence, word string) bool {
	if len(o.args) < len(o.flag.Args) {
		return !c.isFlag(word)
	}
	return o.flag.variadic() && (len(word) < 2 || word[0] != '-' && !(c.Number != "" && signed(word)))
}

// isFlag reports whether word is a flag spelled in full, or `--`.
func (c Command) isFlag(word string) bool {
	if word == "--" {
		return true
	}
	if !strings.HasPrefix(word, "-") || len(word) < 2 {
		return false
	}
	_, ok := c.find(strings.TrimPrefix(word[1:], "-"), true)
	return ok
}

func (c Command) missing(o occurrence, rest []string) error {
	what := strings.Join(o.flag.Args[len(o.args):], " ")
	if len(rest) > 0 {
		return Usagef("-%s: wants %s, got the flag %s", o.flag.Name, what, rest[0])
	}
	return Usagef("-%s: wants %s", o.flag.Name, what)
}

// guess proposes the flag nearest to an unknown one, or says where to look.
func (c Command) guess(name string) string {
	var names []string
	for _, f := range c.AllFlags() {
		if len(name) > 1 && strings.HasPrefix(f.Name, name) {
			return "; did you mean -" + f.Name + "?"
		}
		names = append(names, f.Name)
		names = append(names, f.Aliases...)
	}
	if hint := nearest.Hint(name, names); hint != "" {
		return strings.Replace(hint, "did you mean ", "did you mean -", 1)
	}
	if name == "?" {
		return "; did you mean -help?"
	}
	return "; see " + c.Name + " -help"
}

// HandNothingOn keeps files that the caller of this process left open, such as the lock of a flock(1) in a
// crontab, from the processes that this one starts, which would keep them open for as long as they live.
func HandNothingOn() {
	files, _ := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

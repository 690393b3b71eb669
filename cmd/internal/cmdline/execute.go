package cmdline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"

	"github.com/urfave/cli/v2"
)

// gcPercent lets the heap of a command grow to five times what it uses before
// garbage is collected: most end before that, and those that read a large queue
// save an eighth of their time.
const gcPercent = 400

// Main runs the command with the process's arguments and streams, and exits.
func Main(c Command) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
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
	out, bad := standardOutput(stdout), &output{to: stderr}
	err := s.run(c, args, stdin, out, bad)
	status := report(bad, c.Name, err)
	if e := out.flush(); e != nil && status == exitDone {
		status = report(bad, c.Name, e)
	}
	bad.flush()
	return status
}

// Cause leaves out of a file's error what was done with which file, for
// messages that name the file themselves.
func Cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func (s Surroundings) run(c Command, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	typed := args
	flags, args, behind, err := c.tokens(args)
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
	app.Action = func(x *cli.Context) error { return s.act(c, x, behind, typed) }
	return app.Run(line)
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

// own returns a command's flag as urfave/cli has it.
func own(f Flag) cli.Flag {
	if len(f.Args) == 0 {
		return &cli.BoolFlag{Name: f.Name, Usage: f.Help}
	}
	return &cli.StringSliceFlag{Name: f.Name, Usage: f.Help}
}

// shared returns a common flag as urfave/cli has it, with its variable.
func shared(f Flag) cli.Flag {
	s := &cli.StringFlag{Name: f.Name, Usage: f.Help}
	// An empty variable is as good as none.
	if v := environment[f.Name]; v != "" && os.Getenv(v) != "" {
		s.EnvVars = []string{v}
	}
	return s
}

// act is the command behind its parsed flags.
func (s Surroundings) act(c Command, x *cli.Context, behind, typed []string) error {
	call, err := newCall(s, c, x)
	if err != nil {
		return err
	}
	call.CommandLine, call.typedArgs = behind, typed
	if !c.WithoutSpool && (c.Here == nil || !c.Here(call)) {
		if dial, is := call.closed(); is && !(c.AsRoot && s.UID == 0) {
			return call.handOver(c, dial)
		}
		if !c.AsRoot {
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

// given returns those of the command's own flags that were given, which are among the names set.
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

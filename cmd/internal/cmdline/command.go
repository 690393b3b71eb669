package cmdline

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"fairspool/cmd/internal/door"
	"fairspool/lib/nearest"
)

// Command describes one command of fairspool.
type Command struct {
	// Name is what the user types; Brief says what it does, in a few words
	// without a full stop: "put jobs into the queue".
	Name, Brief string
	// Synopsis is one line for each form of the command, without its name:
	// "[options] FILE|-".
	Synopsis []string
	// About is a few plain sentences for -help. Blank lines part paragraphs.
	About string
	// Flags are the command's own flags. The order counts: an abbreviation
	// means the first flag that it fits.
	Flags    []Flag
	Examples []Example
	// Number, if not empty, is the flag that takes a sign followed by digits:
	// with "adjust", +5 means -adjust +5 and -5 means -adjust -5.
	Number string
	// CommandLine says that a command line of the user's own may stand behind
	// `--`, apart from the arguments; else `--` ends the flags.
	CommandLine bool
	// Ends reports whether all words behind an argument are arguments, too, however
	// they look; nil: -- alone ends the flags.
	Ends func(arg string) bool
	// WithoutSpool is for commands that need neither a spool nor a
	// configuration: they do not have the common flags about these, and read
	// nothing of the kind.
	WithoutSpool bool
	// Unread says that opening the spool reads none of its contents: Call.Now stays the
	// machine's time.
	Unread bool
	// Served says that serve runs the command for users of other accounts: then it reads and
	// writes files that the command line names by Call.ReadFile and Call.Replace alone, and heeds
	// Call.Caller.
	Served bool
	// AsRoot reports whether a call keeps root's rights in a spool of another account; nil: none does, and
	// all take that account's.
	AsRoot func(*Call) bool
	// Here reports whether a call needs no spool, and thus no serve, as it reads the caller's files alone;
	// nil: all need the spool.
	Here func(*Call) bool
	// Before does the caller's part, with the caller's rights, before serve is asked to run the
	// command. The function that it returns prepares the answer to the command's question (Call.Ask)
	// while serve prepares, too; nil: there is no question.
	Before func(*Call) (ready func() (door.Answer, error), err error)
	// Run does the work. An error is printed as `name: error`.
	Run func(*Call) error
	// Actions, if there are any, do it instead: that which the first argument
	// names.
	Actions []Action
	// Outputs are the forms of JSON that -json makes the command write; nil: it has no -json.
	Outputs func() []Output
	// Takes names the arguments, for shells that complete them, in the words of Flag.Args: "JOB", "USER".
	Takes []string
	// Names returns the known words that begin with current, for an argument of the command or a flag that is called
	// noun; nil: none are known.
	Names func(c *Call, noun, current string) []Completion
}

// Flag is one flag of a command.
type Flag struct {
	// Name is the full name, without dash; Aliases are other full names.
	Name    string
	Aliases []string
	// Args names the flag's own arguments; none make it a switch. A last one
	// that ends in "..." takes one or more, up to the next flag.
	Args []string
	// Min is the length of the shortest abbreviation of Name, 0 if it has to be
	// spelled in full. Behind two dashes every flag has to be.
	Min int
	// Letters are the option letters that may follow the name and a colon, as
	// in -af:lh; none: no colon.
	Letters string
	// Repeat says that the flag may be given several times.
	Repeat bool
	// Help says what the flag does, in a sentence without a full stop.
	Help string
	// Refused says that the flag is one of the manuals' that this version does not serve.
	// The message names the flag; help and manual pages do not list it. Why, if not
	// empty, is the reason that the message gives.
	Refused bool
	Why     string
}

// Elsewhere returns refused flags of other batch systems' commands, each from its name and what
// to do instead.
func Elsewhere(flags ...[2]string) []Flag {
	list := make([]Flag, len(flags))
	for i, f := range flags {
		list[i] = Flag{Name: f[0], Refused: true, Why: f[1]}
	}
	return list
}

// Example is one line of the examples in -help.
type Example struct {
	Does string // what the line does, as a phrase
	Line string // the whole command line
}

// common are the flags that every command with a spool has. They are never
// abbreviated.
var common = []Flag{
	{Name: "config", Args: []string{"FILE"}, Help: "read the configuration from FILE (also FAIRSPOOL_CONFIG)"},
	{Name: "spool", Args: []string{"DIR"}, Help: "use the spool in DIR (also FAIRSPOOL_DIR)"},
	{Name: "now", Args: []string{"TIME"}, Help: "act as of TIME, Unix seconds or RFC 3339 (also FAIRSPOOL_NOW)"},
	{Name: "lock-wait", Args: []string{"SECONDS"}, Help: "wait at most SECONDS for a locked spool (default 60)"},
	{Name: "help", Aliases: []string{"h"}, Help: "show this help and exit"},
	{Name: "version", Help: "show the version and exit"},
}

// aboutSpool are the common flags that a command without a spool does not have.
var aboutSpool = []string{"config", "spool", "lock-wait"}

// environment names the variables behind common flags.
var environment = map[string]string{"config": "FAIRSPOOL_CONFIG", "spool": "FAIRSPOOL_DIR", "now": "FAIRSPOOL_NOW"}

// AllFlags returns every flag that the command serves: its own, then the
// common ones.
func (c Command) AllFlags() []Flag { return append(c.ownFlags(), c.commonFlags()...) }

func (c Command) ownFlags() []Flag {
	var own []Flag
	for _, f := range c.Flags {
		if !f.Refused {
			own = append(own, f)
		}
	}
	return own
}

func (c Command) commonFlags() []Flag {
	if !c.WithoutSpool {
		return common
	}
	return slices.DeleteFunc(slices.Clone(common), func(f Flag) bool { return slices.Contains(aboutSpool, f.Name) })
}

// find returns the flag that a name from the command line means. Full names
// come first, then abbreviations in the order of the table.
func (c Command) find(name string, full bool) (Flag, bool) {
	for _, list := range [2][]Flag{c.Flags, c.commonFlags()} {
		for _, f := range list {
			if f.Name == name || slices.Contains(f.Aliases, name) {
				return f, true
			}
		}
	}
	if full {
		return Flag{}, false
	}
	for _, f := range c.Flags {
		if f.Min > 0 && len(name) >= f.Min && strings.HasPrefix(f.Name, name) {
			return f, true
		}
	}
	return Flag{}, false
}

// shortest returns the shortest text that means f, which may be its name.
func (c Command) shortest(f Flag) string {
	if f.Min == 0 {
		return f.Name
	}
	for n := f.Min; n < len(f.Name); n++ {
		if g, ok := c.find(f.Name[:n], false); ok && g.Name == f.Name {
			return f.Name[:n]
		}
	}
	return f.Name
}

// variadic reports whether the last argument of the flag may be repeated.
func (f Flag) variadic() bool {
	return len(f.Args) > 0 && strings.HasSuffix(f.Args[len(f.Args)-1], "...")
}

// Action is one of several things that a command does, which the first argument
// names.
type Action struct {
	Name  string
	Flags []string // full names of the command's flags that the action uses
	// Run does the work with the arguments behind the name.
	Run func(c *Call, args []string) error
}

// perform runs the command, or the action that the first argument names.
func (c Command) perform(call *Call) error {
	if len(c.Actions) == 0 {
		return c.Run(call)
	}
	if len(call.Args) == 0 {
		return Usagef("what to do? one of %s; see %s -help", strings.Join(c.actionNames(), ", "), c.Name)
	}
	i := slices.IndexFunc(c.Actions, func(a Action) bool { return a.Name == call.Args[0] })
	if i < 0 {
		hint := nearest.Hint(call.Args[0], c.actionNames())
		if hint == "" {
			hint = "; see " + c.Name + " -help"
		}
		return Usagef("%s: unknown action: want one of %s%s", call.Args[0], strings.Join(c.actionNames(), ", "), hint)
	}
	a := c.Actions[i]
	for _, f := range c.Flags {
		if call.Has(f.Name) && !slices.Contains(a.Flags, f.Name) {
			return Usagef("-%s: does not apply to %s", f.Name, a.Name)
		}
	}
	return a.Run(call, call.Args[1:])
}

func (c Command) actionNames() []string {
	var names []string
	for _, a := range c.Actions {
		names = append(names, a.Name)
	}
	return names
}

// Version is the version of fairspool.
const Version = "0.1.0"

// version returns Version with the revision that the binary was built from,
// where the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 7:
			revision = "+" + s.Value[:7]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if revision == "" {
		return Version
	}
	return Version + revision + dirty
}

// helpWidth is the width that help is wrapped to.
const helpWidth = 79

// help writes the command's whole surface.
func (c Command) help(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n", c.Name, c.Brief)
	lead := "\nusage: "
	for _, s := range c.Synopsis {
		fmt.Fprintf(&b, "%s%s %s\n", lead, c.Name, s)
		lead = "       "
	}
	for _, p := range strings.Split(strings.TrimSpace(c.About), "\n\n") {
		fmt.Fprintf(&b, "\n%s\n", wrap(p, ""))
	}
	c.flagHelp(&b, "options", c.ownFlags())
	c.flagHelp(&b, "common options", c.commonFlags())
	for i, e := range c.Examples {
		if i == 0 {
			b.WriteString("\nexamples:\n")
		}
		fmt.Fprintf(&b, "%s\n    %s\n", wrap(e.Does+":", "  "), e.Line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Command) flagHelp(b *strings.Builder, title string, flags []Flag) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, f := range flags {
		fmt.Fprintf(b, "  %s\n%s\n", c.spelling(f), wrap(f.Help, "      "))
	}
}

// spelling returns how a flag is written: "-setprio USER RUP (-s)".
func (c Command) spelling(f Flag) string {
	s := "-" + f.Name
	if f.Letters != "" {
		s += "[:" + f.Letters + "]"
	}
	for _, a := range f.Args {
		s += " " + a
	}
	if f.Repeat {
		s += " ..."
	}
	if c.Number == f.Name {
		return "+N, -N"
	}
	var short []string
	for _, a := range f.Aliases {
		short = append(short, "-"+a)
	}
	if least := c.shortest(f); least != f.Name {
		short = append(short, "-"+least)
	}
	if len(short) > 0 {
		s += " (" + strings.Join(short, ", ") + ")"
	}
	return s
}

// wrap breaks a paragraph into lines, each behind indent.
func wrap(paragraph, indent string) string {
	var b strings.Builder
	width := 0
	for _, word := range strings.Fields(paragraph) {
		switch {
		case width == 0:
			b.WriteString(indent)
			width = len(indent)
		case width+1+len(word) > helpWidth:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}

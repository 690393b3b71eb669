// Package cmdline is what all commands of fairspool share: how flags are
// written, the common flags, where the configuration and the spool are, the
// time that a command acts at, help, tables, JSON, messages and exit status.
//
// A command is a value of type Command with a function to run. Main turns it
// into a process:
//
//	func main() { cmdline.Main(command()) }
//
// # Flags
//
// Flags look as in the manuals of HTCondor and Grid Engine: one dash or two,
// before, between or behind the arguments, some with several arguments of
// their own, some that may be abbreviated. `--` ends them; for a command with
// CommandLine it begins a command line of the user's own. A tokenizer of our
// own (execute.go) brings them into the one form that urfave/cli takes. A
// command that needs no spool says so, and then has no flags for one.
//
// A command that does several things has actions, which the first argument
// names; each says which flags have a meaning for it.
//
// # Terminal output
//
// Good news goes to standard output and is buffered; bad news goes to standard
// error at once, as `command: what: why`, in lower case, without a full stop,
// on one line. An error in a text may show the place on lines of its own below
// that. Output that could not be written is bad news too, except when the reader
// has gone away. Long work shows its progress on standard error, where that is a
// terminal.
//
// # JSON
//
// With -json a command prints JSON (json.go). Each object begins with SchemaVersion, and lists of anything but ads are
// a member of an object. Bad news is an object in a line then, too: an error as Failure, a warning as Warning. Command.Outputs
// names what a command prints; docs/schema has a schema of each, which tests write and hold to the types.
//
// # Exit status
//
//	0   done
//	1   not done
//	2   the command line was wrong
//	75  the spool stayed locked longer than -lock-wait
//
// A command that waits for something may exit as that did (ExitStatus).
//
// The package knows of no job, slot or submitter.
package cmdline

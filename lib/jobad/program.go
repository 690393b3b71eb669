package jobad

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// execution sets what is run and where.
func (j *job) execution() error {
	dir, err := j.folder()
	if err != nil {
		return err
	}
	j.setString(pool.AttrIwd, dir.Text)
	if len(j.options.Command) > 0 {
		return j.commandLine()
	}
	if j.overrides["cmd"] {
		transfer, err := j.boolean("transfer_executable", true)
		if err == nil && !transfer {
			j.setExpr(pool.AttrTransferExecutable, "false")
		}
		return err
	}
	g, ok, err := j.command("executable")
	if err != nil {
		return err
	}
	if ok {
		return j.program(g)
	}
	if _, ok, err := j.shell(); ok || err != nil {
		j.setString(pool.AttrCmd, "/bin/sh")
		j.setExpr(pool.AttrTransferExecutable, "false")
		return err
	}
	u, err := j.universe()
	if err != nil {
		return err
	}
	if !u.contained() {
		return refuseAt(j.Line(), "executable", "not given%s", j.meantFor("executable", "name the program that is to be run"))
	}
	// The image knows what to run.
	j.setString(pool.AttrCmd, "")
	j.setExpr(pool.AttrTransferExecutable, "false")
	return nil
}

// commandLine sets the executable of Options.Command, beside which a description may not say
// what is run.
func (j *job) commandLine() error {
	for _, c := range []struct{ command, attr string }{
		{"executable", pool.AttrCmd}, {"arguments", pool.AttrArgs}, {"arguments2", pool.AttrArguments}, {"shell", ""},
	} {
		g, ok, err := j.asked(c.command, c.attr)
		if err != nil {
			return err
		}
		if ok {
			return j.refuse(g, "has no place beside a command behind --")
		}
	}
	java, err := j.inJava()
	if err != nil {
		return err
	}
	if java {
		g, _, err := j.command("universe")
		return cmp.Or(err, j.refuse(g, "java: wants a description that names the class, not a command behind --"))
	}
	return j.program(given{Name: "command", Text: string(j.options.Command[0])})
}

// shell returns the line for /bin/sh that stands for executable and arguments.
func (j *job) shell() (g given, ok bool, err error) {
	if _, named, err := j.command("executable"); named || err != nil || j.overrides["cmd"] || len(j.options.Command) > 0 {
		return given{}, false, err
	}
	return j.command("shell")
}

// undefinedInShell refuses a shell line with macros that are not defined: they are empty, and
// were nearly always meant for the shell, as in $(date).
func (j *job) undefinedInShell(undefined []submitfile.Warning) error {
	if len(undefined) == 0 {
		return nil
	}
	g, ok, err := j.shell()
	if !ok || err != nil {
		return err
	}
	at := g.Place(0)
	for _, w := range undefined {
		if w.File != at.File || w.Line != at.Line {
			continue
		}
		name := submitfile.Shorten(w.Undefined)
		refusal := j.refuse(g, "$(%s): no macro has this name; write $(DOLLAR)(%s) for the shell's own $(%s)", name, name, name)
		if !j.options.Lenient {
			return refusal
		}
		j.doomed = cmp.Or(j.doomed, refusal)
	}
	return nil
}

// program is what a description says of the executable.
type program struct {
	path     string // in the ad, unless the job runs in Java
	transfer bool
}

// programPath reads the executable's path: a relative one is taken from where submit
// runs. One that is not to be transferred stays as it is, and is found in the
// working directory or, with a whole path, in the job's container.
func (j *job) programPath(g given) (program, error) {
	_, told, err := j.command("transfer_executable")
	if err != nil {
		return program{}, err
	}
	transfer, err := j.boolean("transfer_executable", true)
	if err != nil {
		return program{}, err
	}
	u, err := j.universe()
	if err != nil {
		return program{}, err
	}
	p := program{path: unquotedPath(g.Text), transfer: transfer}
	if u.contained() && !told && path.IsAbs(p.path) {
		p.transfer = false
	}
	if p.transfer {
		p.path = absolute(j.options.Dir, p.path)
	}
	return p, nil
}

// program sets the executable: its path, or java, which finds it among the inputs.
func (j *job) program(g given) error {
	p, err := j.programPath(g)
	if err != nil {
		return err
	}
	java, err := j.inJava()
	if err != nil {
		return err
	}
	j.setString(pool.AttrCmd, p.path)
	if java {
		j.setString(pool.AttrCmd, "java")
	}
	if java || !p.transfer {
		j.setExpr(pool.AttrTransferExecutable, "false")
	}
	return nil
}

// unquotedPath leaves out the double quotes around a path, which HTCondor takes
// for a part of the name, though no name is meant so.
func unquotedPath(text string) string {
	if inner := unquoted(text); inner != "" {
		return inner
	}
	return text
}

// folder returns the absolute path of the job's working directory.
func (j *job) folder() (given, error) {
	g, ok, err := j.command("initialdir")
	if !ok || err != nil {
		return given{Text: j.options.Dir}, err
	}
	g.Text = absolute(j.options.Dir, unquotedPath(g.Text))
	return g, nil
}

// absolute joins without cleaning: users find their own spelling again. Only of
// slashes in a row one is kept, as HTCondor does: a folder's name that a pattern
// has found ends in one.
func absolute(dir, name string) string {
	if !path.IsAbs(name) && dir != "" {
		name = dir + "/" + name
	}
	for strings.Contains(name, "//") {
		name = strings.ReplaceAll(name, "//", "/")
	}
	return name
}

// fileChecks notes skip_filechecks for FileChecks.
func (j *job) fileChecks() error {
	g, told, err := j.command("skip_filechecks")
	skip, plain := truth(g.Text)
	warn := strings.EqualFold(g.Text, "warn")
	if told && !plain && !warn {
		return j.refuse(g, "%q: want true, false or warn", submitfile.Shorten(g.Text))
	}
	j.skips, j.doubts = j.skips || skip, j.doubts || warn
	return err
}

// standardFiles are the parts that set standard input, output and error. Their
// paths are the starter's to join with Iwd.
var standardFiles = []part{
	standardFile("input", pool.AttrIn, ""), standardFile("output", pool.AttrOut, ".out"), standardFile("error", pool.AttrErr, ".err"),
}

// standardFile is the part of one of them; kept ends the names of Options.KeepOutput, if these
// are for the file.
func standardFile(command, attr, kept string) part {
	return func(j *job) error {
		g, ok, err := j.command(command)
		if err != nil {
			return err
		}
		switch {
		case !ok && kept != "" && j.options.KeepOutput != "":
			g.Text = j.keptOutput(kept)
		case !ok:
			g.Text = "/dev/null"
		}
		j.setString(attr, unquotedPath(g.Text))
		return err
	}
}

// keptOutput returns the file of Options.KeepOutput that a command does not name.
func (j *job) keptOutput(end string) string {
	cluster, proc := j.ID()
	return fmt.Sprintf("%s.%d.%d%s", j.options.KeepOutput, cluster, proc, end)
}

// eventLog sets the path of the event log, which is made absolute.
func (j *job) eventLog() error {
	g, ok, err := j.command("log")
	if !ok || err != nil {
		return err
	}
	dir, err := j.folder()
	if err != nil {
		return err
	}
	j.setString(pool.AttrUserLog, absolute(dir.Text, unquotedPath(g.Text)))
	return nil
}

package jobad

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"fairspool/lib/jobargs"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// execution sets the program and its surroundings.
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

// commandLine sets the executable of Options.Command. A description may then name no program
// itself.
func (j *job) commandLine() error {
	for _, c := range []struct{ command, attr string }{
		{"executable", pool.AttrCmd}, {"arguments", pool.AttrArgs}, {"arguments2", pool.AttrArguments}, {"shell", ""},
	} {
		g, ok, err := j.asked(c.command, c.attr)
		if err != nil {
			return err
		}
		if ok {
			return j.refuse(g, "cannot be combined with a command after --")
		}
	}
	java, err := j.inJava()
	if err != nil {
		return err
	}
	if java {
		g, _, err := j.command("universe")
		return cmp.Or(err, j.refuse(g, "java: wants a description that names the class, not a command after --"))
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

// program is a description's executable.
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

// arguments sets Args or Arguments, after the syntax that the user chose.
func (j *job) arguments() error {
	if words := j.options.Command; len(words) > 0 {
		j.setString(pool.AttrArguments, jobargs.FormatLiteral(submitfile.Texts(words[1:])))
		return nil
	}
	line, ok, err := j.shell()
	if err != nil {
		return err
	}
	if ok {
		j.setString(pool.AttrArguments, jobargs.FormatV2([]string{"-c", line.Text}))
		return nil
	}
	g, ok, err := j.either("arguments", "arguments2", "allow_arguments_v1")
	if err != nil {
		return err
	}
	if !ok {
		j.setString(pool.AttrArguments, "")
		return nil
	}
	raw, isNew, err := jobargs.Unquote(g.Text)
	if err != nil {
		return j.refuse(g, "%v", err)
	}
	if !isNew {
		j.setString(pool.AttrArgs, strings.Join(jobargs.ParseV1(raw), " "))
		return nil
	}
	words, err := jobargs.ParseV2(raw)
	if err != nil {
		return j.refuse(g, "%v", err)
	}
	j.setString(pool.AttrArguments, jobargs.FormatV2(words))
	return nil
}

// either returns the value of a command in either syntax, or of one that has to
// be in the new one. Both may be given only where a third command allows it; the
// new one counts.
func (j *job) either(command, modern, allow string) (g given, ok bool, err error) {
	old, hasOld, err := j.command(command)
	if err != nil {
		return given{}, false, err
	}
	g, ok, err = j.command(modern)
	if !ok || err != nil {
		return old, hasOld, err
	}
	both, err := j.boolean(allow, false)
	switch {
	case err != nil:
		return given{}, false, err
	case hasOld && !both:
		return given{}, false, j.refuse(g, "excludes %s, unless %s = true", command, allow)
	case !strings.HasPrefix(g.Text, `"`):
		return given{}, false, j.refuse(g, "want the new syntax, with all of it in double quotes")
	}
	return g, true, nil
}

// environment sets Env or Environment, after the syntax that the user chose;
// with getenv it is Environment, and the user's own assignments hold.
func (j *job) environment() error {
	g, ok, err := j.either("environment", "environment2", "allow_environment_v1")
	if err != nil {
		return err
	}
	var own []string
	raw, isNew := "", true
	if ok {
		if raw, isNew, err = jobargs.UnquoteEnv(g.Text); err != nil {
			return j.refuse(g, "%v", err)
		}
		parse := jobargs.ParseEnvV1
		if isNew {
			parse = jobargs.ParseEnvV2
		}
		if own, err = parse(raw); err != nil {
			return j.refuse(g, "%v", err)
		}
	}
	got, copied, err := j.getenv()
	switch {
	case err != nil:
		return err
	case copied:
		j.setString(pool.AttrEnvironment, withCopied(own, got))
		return nil
	case !ok:
		return nil
	}
	if !isNew {
		j.setString(pool.AttrEnv, raw)
		return nil
	}
	j.setString(pool.AttrEnvironment, jobargs.FormatEnvV2(own))
	return nil
}

// withCopied returns an environment in which the user's own assignments override copied
// ones. In copied ones $$() is text, as in the functions that shells export.
func withCopied(own, copied []string) string {
	if len(own) == 0 {
		return jobargs.FormatLiteral(jobargs.MergeEnv(nil, copied))
	}
	var all []string
	for _, a := range jobargs.MergeEnv(copied, own) {
		format := jobargs.FormatLiteral
		if slices.Contains(own, a) {
			format = jobargs.FormatV2
		}
		all = append(all, format([]string{a}))
	}
	return strings.Join(all, " ")
}

// getenv returns the variables to copy of the submitter's environment: all, or those that
// the names of a list match. asked reports whether any may be copied.
func (j *job) getenv() (env []string, asked bool, err error) {
	g, ok, err := j.command("getenv")
	switch {
	case err != nil:
		return nil, false, err
	case !ok && j.options.Getenv:
		return j.options.Environ, true, nil
	case !ok:
		return nil, false, nil
	}
	if all, plain := truth(unquoted(g.Text)); plain {
		if !all {
			return nil, false, nil
		}
		return j.options.Environ, true, nil
	}
	wanted, unwanted := patterns(unquoted(g.Text))
	for _, a := range j.options.Environ {
		name, _, _ := strings.Cut(a, "=")
		if (len(wanted) == 0 || like(wanted, name)) && !like(unwanted, name) {
			env = append(env, a)
		}
	}
	return env, true, nil
}

// patterns splits a list of names in which * stands for any letters; names with ! before
// them are unwanted. A list of unwanted names alone wants all other names.
func patterns(text string) (wanted, unwanted []string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(",; \t", r) }) {
		if name, not := strings.CutPrefix(word, "!"); not {
			unwanted = append(unwanted, name)
		} else {
			wanted = append(wanted, word)
		}
	}
	return wanted, unwanted
}

// like reports whether a name is like one of some patterns, without regard to case.
func like(patterns []string, name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// matches reports whether a text is a pattern's pieces in their order, with
// anything in the place of each *.
func matches(pattern, text string) bool {
	pieces := strings.Split(pattern, "*")
	if len(pieces) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, pieces[0])
	if !ok {
		return false
	}
	for _, piece := range pieces[1 : len(pieces)-1] {
		_, behind, found := strings.Cut(text, piece)
		if !found {
			return false
		}
		text = behind
	}
	return strings.HasSuffix(text, pieces[len(pieces)-1])
}

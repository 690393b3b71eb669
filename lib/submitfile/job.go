package submitfile

import (
	"math"
	"path"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// setting is one attribute of a job ad before it is compiled: a string, or
// the text of an expression. Settings compare with ==.
type setting struct {
	name   string
	text   string
	isText bool // a string, not an expression
	line   int  // of the command that it comes from, 0 for the fixed ones
}

// job collects what one proc's ad says.
type job struct {
	*scope
	at        int // line of the queue statement
	settings  []setting
	overrides map[string]bool // attributes that +Name gives, in lower case
	custom    bool            // the settings to come are those of +Name
}

// part works out some attributes of a job. Attributes that depend on each
// other, or on the same commands, belong to one part: a part is worked out
// anew for every proc when it has asked for $(Process).
type part func(*job) error

var parts = []part{
	(*job).fixed, (*job).execution, (*job).arguments, (*job).environment, (*job).files,
	(*job).transfer, (*job).matching, (*job).concurrency, (*job).priority, (*job).accounting, (*job).credentials, (*job).ending,
	(*job).labels, (*job).customAttributes,
}

func (j *job) set(s setting) {
	if j.custom || !j.overrides[strings.ToLower(s.name)] {
		j.settings = append(j.settings, s)
	}
}

func (j *job) setString(name, text string, line int) { j.set(setting{name, text, true, line}) }

// setExpr sets an attribute to an expression that is known to be sound.
func (j *job) setExpr(name, text string, line int) { j.set(setting{name, text, false, line}) }

// given is a submit command in force, expanded.
type given struct {
	name string // as written
	text string
	line int
}

// command returns a command's value; ok is false when it is absent or empty.
func (j *job) command(name string) (g given, ok bool, err error) {
	for _, n := range namesOf(name) {
		v, found := j.vars[n]
		if !found {
			continue
		}
		text, err := j.value(v.text, v.line)
		if err != nil {
			return given{}, false, err
		}
		g = given{v.name, strings.TrimSpace(text), v.line}
		return g, g.text != "", nil
	}
	return given{}, false, nil
}

// refuse is the error that names a command and says why.
func (j *job) refuse(g given, format string, args ...any) error {
	return j.errorf(g.line, "%s: "+format, append([]any{g.name}, args...)...)
}

// compile parses an expression; errors name the command.
func (j *job) compile(g given, text string) (*classad.Expr, error) {
	e, err := j.exprs.Expr(text)
	if err != nil {
		return nil, j.refuse(g, "%w", err)
	}
	return e, nil
}

// expression sets an attribute to a command's expression, if there is one.
func (j *job) expression(command, attr string) (found bool, err error) {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return false, err
	}
	if _, err := j.compile(g, g.text); err != nil {
		return false, err
	}
	j.setExpr(attr, g.text, g.line)
	return true, nil
}

// text sets an attribute to a command's value, without the double quotes
// that may be around it.
func (j *job) text(command, attr string) error {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return err
	}
	j.setString(attr, unquoted(g.text), g.line)
	return nil
}

// boolean returns a command's truth; fallback when it is not given.
func (j *job) boolean(command string, fallback bool) (bool, error) {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return fallback, err
	}
	switch strings.ToLower(g.text) {
	case "true", "t", "yes", "y", "1":
		return true, nil
	case "false", "f", "no", "n", "0":
		return false, nil
	}
	return false, j.refuse(g, "%q: want true or false", shorten(g.text))
}

// fixed sets what every new job has.
func (j *job) fixed() error {
	now := strconv.FormatInt(j.options.Now.Unix(), 10)
	j.setString(pool.AttrMyType, "Job", 0)
	j.setString(pool.AttrOwner, j.options.Owner, 0)
	j.setString(pool.AttrUser, j.options.Owner+"@"+j.options.Domain, 0)
	j.setExpr(pool.AttrQDate, now, 0)
	j.setExpr(pool.AttrEnteredStatus, now, 0)
	j.setExpr(pool.AttrJobStatus, strconv.Itoa(int(pool.Idle)), 0)
	j.setExpr("JobUniverse", "5", 0)
	j.setExpr(pool.AttrNumJobStarts, "0", 0)
	j.setExpr(pool.AttrNumJobMatches, "0", 0)
	j.setExpr(pool.AttrWallClock, "0.0", 0)
	j.setExpr(pool.AttrUserCPU, "0.0", 0)
	j.setExpr(pool.AttrSysCPU, "0.0", 0)
	return nil
}

// execution sets what is run and where.
func (j *job) execution() error {
	if g, ok, err := j.command("universe"); err != nil {
		return err
	} else if ok && !strings.EqualFold(g.text, "vanilla") && g.text != "5" {
		return j.refuse(g, "%s: this universe is %s", shorten(g.text), later)
	}
	dir, err := j.folder()
	if err != nil {
		return err
	}
	j.setString(pool.AttrIwd, dir.text, dir.line)
	if j.overrides["cmd"] {
		return nil
	}
	g, ok, err := j.command("executable")
	if err != nil {
		return err
	}
	if !ok {
		return j.errorf(j.at, "executable: not given")
	}
	cmd, err := j.program(g.text)
	if err != nil {
		return err
	}
	j.setString(pool.AttrCmd, cmd, g.line)
	// A relative name is the starter's to join with Iwd.
	g.text = absolute(dir.text, cmd)
	return j.exists(g, false)
}

// program returns the executable's path as the ad has it: a relative one is
// taken from where submit runs. One that is not to be transferred stays as it
// is, and so is found in the working directory.
func (j *job) program(name string) (string, error) {
	transfer, err := j.boolean("transfer_executable", true)
	if err != nil || !transfer {
		return name, err
	}
	return absolute(j.options.Dir, name), nil
}

// folder returns the absolute path of the job's working directory.
func (j *job) folder() (given, error) {
	g, ok, err := j.command("initialdir")
	if !ok || err != nil {
		return given{text: j.options.Dir}, err
	}
	g.text = absolute(j.options.Dir, g.text)
	return g, j.exists(g, true)
}

// absolute joins without cleaning: users find their own spelling again.
func absolute(dir, name string) string {
	if path.IsAbs(name) || dir == "" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

func (j *job) exists(g given, dir bool) error {
	if j.options.Exists == nil {
		return nil
	}
	q := question{g.text, dir}
	err, known := j.checked[q]
	if !known {
		err = j.options.Exists(g.text, dir)
		j.checked[q] = err
	}
	if err != nil {
		return j.refuse(g, "%s: %w", g.text, err)
	}
	return nil
}

// files sets standard input, output, error and the event log. The log's path
// is made absolute, the others are the starter's to join with Iwd.
func (j *job) files() error {
	for _, f := range [...]struct{ command, attr string }{
		{"input", pool.AttrIn}, {"output", pool.AttrOut}, {"error", pool.AttrErr},
	} {
		g, ok, err := j.command(f.command)
		if err != nil {
			return err
		}
		if !ok {
			g.text = "/dev/null"
		}
		j.setString(f.attr, g.text, g.line)
	}
	g, ok, err := j.command("log")
	if !ok || err != nil {
		return err
	}
	dir, err := j.folder()
	if err != nil {
		return err
	}
	j.setString(pool.AttrUserLog, absolute(dir.text, g.text), g.line)
	return nil
}

// priority sets what orders the job among others of its submitter.
func (j *job) priority() error {
	g, ok, err := j.command("priority")
	if err != nil {
		return err
	}
	if !ok {
		g.text = "0"
	}
	n, err := strconv.ParseInt(g.text, 10, 32)
	if err != nil {
		return j.refuse(g, "%q: want a whole number from %d to %d", shorten(g.text), math.MinInt32, math.MaxInt32)
	}
	j.setExpr(pool.AttrJobPrio, strconv.FormatInt(n, 10), g.line)
	return nil
}

// labels sets what is there for people. Of notification only the value that
// sends no mail is served.
func (j *job) labels() error {
	if err := j.text("batch_name", "JobBatchName"); err != nil {
		return err
	}
	if err := j.text("description", "JobDescription"); err != nil {
		return err
	}
	g, ok, err := j.command("notification")
	if err != nil {
		return err
	}
	if ok && !strings.EqualFold(g.text, "never") && g.text != "0" {
		return j.refuse(g, "%s: sending mail is %s", shorten(g.text), later)
	}
	j.setExpr("JobNotification", "0", g.line)
	return nil
}

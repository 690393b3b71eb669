package jobad

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// setting is one attribute of a job ad before it is compiled: a string, or
// the text of an expression. Settings compare with ==.
type setting struct {
	name   string
	text   string
	isText bool // a string, not an expression
}

// job collects what one proc's ad says.
type job struct {
	*submitfile.Job
	*Jobs
	settings  []setting
	mark      int             // where those of the part under way begin
	overrides map[string]bool // attributes that +Name gives, in lower case
	custom    bool            // the settings to come are those of +Name
	warn      func(submitfile.Warning)
}

// part works out some attributes of a job. Attributes that depend on each
// other, or on the same commands, belong to one part: a part is worked out
// anew for every proc when it has asked for something that varies.
type part func(*job) error

var parts = []part{
	(*job).fixed, (*job).execution, (*job).arguments, (*job).environment, (*job).files,
	(*job).transfer, (*job).matching, (*job).concurrency, (*job).priority, (*job).accounting, (*job).credentials, (*job).ending,
	(*job).labels, (*job).lateness, (*job).customAttributes,
}

// do works out a part.
func (j *job) do(work part) error {
	j.mark = len(j.settings)
	return work(j)
}

// set sets an attribute, over what the same part has set, unless +Name gives it.
func (j *job) set(s setting) {
	if !j.custom && len(j.overrides) > 0 && j.overrides[strings.ToLower(s.name)] {
		return
	}
	for i := j.mark; i < len(j.settings); i++ {
		if strings.EqualFold(j.settings[i].name, s.name) {
			j.settings[i] = s
			return
		}
	}
	j.settings = append(j.settings, s)
}

// setString sets an attribute to a text.
func (j *job) setString(name, text string) { j.set(setting{name, text, true}) }

// setExpr sets an attribute to an expression that is known to be sound.
func (j *job) setExpr(name, text string) { j.set(setting{name, text, false}) }

// given is a submit command in force, expanded.
type given = submitfile.Value

// command returns a command's value; ok is false when it is absent or empty.
func (j *job) command(name string) (g given, ok bool, err error) {
	for _, n := range namesOf(name) {
		g, found, err := j.Lookup(n)
		if err != nil {
			return given{}, false, err
		}
		if found {
			return g, g.Text != "", nil
		}
	}
	return given{}, false, nil
}

// refuse is the error that names a command and says why; the place is where
// its value begins.
func (j *job) refuse(g given, format string, args ...any) error {
	return refuseAt(g.Place(0), g.Name, format, args...)
}

func refuseAt(at submitfile.Place, name, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &submitfile.Error{Place: at, Msg: name + ": " + err.Error(), Err: errors.Unwrap(err)}
}

// caution warns of a command.
func (j *job) caution(g given, format string, args ...any) {
	if j.warn != nil {
		at := g.Place(0)
		at.Col = 0
		j.warn(submitfile.Warning{Place: at, Msg: g.Name + ": " + fmt.Sprintf(format, args...)})
	}
}

// compile parses an expression; errors name the command and show the place.
func (j *job) compile(g given, text string) (*classad.Expr, error) {
	e, err := j.exprs.Expr(text)
	if err == nil {
		return e, nil
	}
	at := g.Place(0)
	var syntax *classad.SyntaxError
	if errors.As(err, &syntax) && syntax.Col > 0 && text == g.Text {
		at = g.Place(syntax.Col - 1)
		err = errors.New(syntax.Msg)
	}
	return nil, refuseAt(at, g.Name, "%s: %w", submitfile.Shorten(text), err)
}

// expression sets an attribute to a command's expression, if there is one.
func (j *job) expression(command, attr string) (found bool, err error) {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return false, err
	}
	if _, err := j.compile(g, g.Text); err != nil {
		return false, err
	}
	j.setExpr(attr, g.Text)
	return true, nil
}

// text sets an attribute to a command's value, without the double quotes
// that may be around it.
func (j *job) text(command, attr string) error {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return err
	}
	j.setString(attr, unquoted(g.Text))
	return nil
}

// boolean returns a command's truth; fallback when it is not given.
func (j *job) boolean(command string, fallback bool) (bool, error) {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return fallback, err
	}
	yes, ok := truth(g.Text)
	if !ok {
		return false, j.refuse(g, "%q: want true or false", submitfile.Shorten(g.Text))
	}
	return yes, nil
}

// truth reads a truth value as HTCondor's tools do.
func truth(text string) (yes, ok bool) {
	switch strings.ToLower(text) {
	case "true", "t", "yes", "y", "1":
		return true, true
	case "false", "f", "no", "n", "0":
		return false, true
	}
	return false, false
}

// fixed sets what every new job has.
func (j *job) fixed() error {
	now := strconv.FormatInt(j.options.Now.Unix(), 10)
	j.setString(pool.AttrMyType, "Job")
	j.setString(pool.AttrOwner, j.options.Owner)
	j.setString(pool.AttrUser, j.options.Owner+"@"+j.options.Domain)
	j.setExpr(pool.AttrQDate, now)
	j.setExpr(pool.AttrEnteredStatus, now)
	j.setExpr(pool.AttrJobStatus, strconv.Itoa(int(pool.Idle)))
	j.setExpr("JobUniverse", "5")
	j.setExpr(pool.AttrNumJobStarts, "0")
	j.setExpr(pool.AttrNumJobMatches, "0")
	j.setExpr(pool.AttrWallClock, "0.0")
	j.setExpr(pool.AttrUserCPU, "0.0")
	j.setExpr(pool.AttrSysCPU, "0.0")
	return nil
}

// execution sets what is run and where.
func (j *job) execution() error {
	if g, ok, err := j.command("universe"); err != nil {
		return err
	} else if ok && !strings.EqualFold(g.Text, "vanilla") && g.Text != "5" {
		return j.refuse(g, "%s: this universe is not served", submitfile.Shorten(g.Text))
	}
	dir, err := j.folder()
	if err != nil {
		return err
	}
	j.setString(pool.AttrIwd, dir.Text)
	if j.overrides["cmd"] {
		return nil
	}
	g, ok, err := j.command("executable")
	if err != nil {
		return err
	}
	if !ok {
		return refuseAt(j.Line(), "executable", "not given: name the program that is to be run")
	}
	cmd, err := j.program(g.Text)
	if err != nil {
		return err
	}
	j.setString(pool.AttrCmd, cmd)
	// A relative name is the starter's to join with Iwd.
	g.Text = absolute(dir.Text, cmd)
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
		return given{Text: j.options.Dir}, err
	}
	g.Text = absolute(j.options.Dir, g.Text)
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
	q := question{g.Text, dir}
	err, known := j.checked[q]
	if !known {
		err = j.options.Exists(g.Text, dir)
		j.checked[q] = err
	}
	if err != nil {
		return j.refuse(g, "%s: %w", g.Text, err)
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
			g.Text = "/dev/null"
		}
		j.setString(f.attr, g.Text)
	}
	g, ok, err := j.command("log")
	if !ok || err != nil {
		return err
	}
	dir, err := j.folder()
	if err != nil {
		return err
	}
	j.setString(pool.AttrUserLog, absolute(dir.Text, g.Text))
	return nil
}

// priority sets what orders the job among others of its submitter.
func (j *job) priority() error {
	g, ok, err := j.command("priority")
	if err != nil {
		return err
	}
	if !ok {
		g.Text = "0"
	}
	n, err := strconv.ParseInt(g.Text, 10, 32)
	if err != nil {
		return j.refuse(g, "%q: want a whole number from %d to %d", submitfile.Shorten(g.Text), math.MinInt32, math.MaxInt32)
	}
	j.setExpr(pool.AttrJobPrio, strconv.FormatInt(n, 10))
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
	if ok && !strings.EqualFold(g.Text, "never") && g.Text != "0" {
		return j.refuse(g, "%s: sending mail is not served", submitfile.Shorten(g.Text))
	}
	j.setExpr("JobNotification", "0")
	return nil
}

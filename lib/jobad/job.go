package jobad

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fairspool/lib/accountant"
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
	mark      int               // begin of the settings of the part under way
	overrides map[string]bool   // attributes that +Name gives, in lower case
	custom    bool              // the following settings are those of +Name
	commands  map[string]*known // that were asked for
	steady    steady            // the data that all procs of the queue line share
	uses      *submitfile.Uses  // nil until it is asked for
	warn      func(submitfile.Warning)
}

// part works out some attributes of a job. Attributes that depend on each
// other, or on the same commands, belong to one part: a part is worked out
// anew for every proc when it has asked for something that varies.
type part func(*job) error

var parts = sync.OnceValue(func() []part {
	return slices.Concat([]part{
		(*job).fixed, (*job).counters, (*job).placement, (*job).execution, (*job).arguments, (*job).environment, (*job).eventLog,
		(*job).transfer, (*job).standardTransfer, (*job).checkpoint, (*job).matching, (*job).concurrency, (*job).imageSize, (*job).java,
		(*job).status, (*job).priority, (*job).periodic, (*job).retries, (*job).deferral, (*job).ending, (*job).lease, (*job).noop, (*job).exitRequirements,
		(*job).accounting, (*job).notification, (*job).lateness,
	}, standardFiles, simpleParts(), ownParts(), []part{(*job).customAttributes})
})

// do works out a part.
func (j *job) do(work part) error {
	j.mark = len(j.settings)
	return work(j)
}

// set sets an attribute, overriding the same part's earlier value, unless +Name gives it.
func (j *job) set(s setting) {
	switch {
	case j.custom: // each comes once, and there may be very many
		j.settings = append(j.settings, s)
		return
	case len(j.overrides) > 0 && j.overrides[strings.ToLower(s.name)]:
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
	k := j.commands[name]
	if k == nil {
		if k, err = j.know(name); err != nil {
			return given{}, false, err
		}
	}
	if k.same {
		return k.value, k.value.Text != "", nil
	}
	g, _, err = j.Lookup(k.key)
	return g, err == nil && g.Text != "", err
}

// known is a command's value for all procs of a queue line, as far as it is known.
type known struct {
	key   string // the name that it is given under
	value given
	same  bool // all procs have this value
}

// absent is a command that is not given, as most are.
var absent = &known{same: true}

func (j *job) know(command string) (*known, error) {
	key, err := j.nameOf(command)
	if err != nil {
		return nil, err
	}
	k := absent
	if key != "" {
		value, _, err := j.Lookup(key)
		if err != nil {
			return nil, err
		}
		if k = (&known{key: key, same: !j.Differs(key)}); k.same {
			k.value = value
		}
	}
	if j.commands == nil {
		j.commands = make(map[string]*known, len(table())) // nearly all are asked for
	}
	j.commands[command] = k
	return k, nil
}

// nameOf returns the name under which a command is given, which is the same for
// all jobs of a queue line; empty: it is not given.
func (j *job) nameOf(command string) (string, error) {
	for _, n := range namesOf(command) {
		if _, found, err := j.Lookup(n); found || err != nil {
			return n, err
		}
	}
	return "", nil
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
		if n := strings.IndexByte(text, '#'); n >= 0 && strings.Count(text[:n], `"`)%2 == 0 {
			at, err = g.Place(n), errors.New("a comment has to have a line of its own")
		}
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

// fixed sets the attributes of the job's owner and time.
func (j *job) fixed() error {
	now := strconv.FormatInt(j.options.Now.Unix(), 10)
	j.setString(pool.AttrMyType, "Job")
	j.setString(pool.AttrOwner, j.options.Owner)
	j.setString(pool.AttrUser, accountant.SubmitterName(j.options.Owner, "", j.options.Domain))
	j.setExpr(pool.AttrQDate, now)
	j.setExpr(pool.AttrEnteredStatus, now)
	return nil
}

// zeroes are the counters of a new job, as HTCondor's submit writes them.
var zeroes = []setting{
	{name: pool.AttrNumJobStarts, text: "0"}, {name: pool.AttrNumJobMatches, text: "0"},
	{name: "NumJobCompletions", text: "0"}, {name: "NumRestarts", text: "0"}, {name: "NumSystemHolds", text: "0"},
	{name: "NumCkpts", text: "0"}, {name: "CurrentHosts", text: "0"}, {name: "JobSubmitMethod", text: "0"},
	{name: pool.AttrWallClock, text: "0.0"}, {name: pool.AttrUserCPU, text: "0.0"}, {name: pool.AttrSysCPU, text: "0.0"},
	{name: "CumulativeRemoteUserCpu", text: "0.0"}, {name: "CumulativeRemoteSysCpu", text: "0.0"},
	{name: "CommittedTime", text: "0"}, {name: "CommittedSlotTime", text: "0"}, {name: "CumulativeSlotTime", text: "0"},
	{name: "TotalSuspensions", text: "0"}, {name: "LastSuspensionTime", text: "0"},
	{name: "CumulativeSuspensionTime", text: "0"}, {name: "CommittedSuspensionTime", text: "0"},
	{name: "ExitStatus", text: "0"}, {name: pool.AttrExitBySignal, text: "false"},
}

// counters sets them.
func (j *job) counters() error {
	for _, s := range zeroes {
		j.set(s)
	}
	return nil
}

// priority sets what orders the job among others of its submitter. A fraction is cut off,
// as HTCondor's submit does.
func (j *job) priority() error {
	g, ok, err := j.command("priority")
	if err != nil {
		return err
	}
	if !ok {
		j.setExpr(pool.AttrJobPrio, "0")
		return nil
	}
	e, err := j.compile(g, g.Text)
	if err != nil {
		return err
	}
	v := e.Eval(&classad.Context{}, classad.New(), nil)
	x, ok := v.Number()
	n := math.Trunc(x)
	if !ok || v.Kind() == classad.KindBoolean || BeyondInteger(g.Text) || !(n >= math.MinInt32 && n <= math.MaxInt32) {
		return j.refuse(g, "%q: want a whole number from %d to %d", submitfile.Shorten(g.Text), math.MinInt32, math.MaxInt32)
	}
	if n != x {
		j.caution(g, "%s: cut to %d, as a priority is a whole number", submitfile.Shorten(g.Text), int64(n))
	}
	j.setExpr(pool.AttrJobPrio, strconv.FormatInt(int64(n), 10))
	return nil
}

// errFound ends the search of Refuse.
var errFound = errors.New("found")

// Refuse returns the error that says why jobs from a proc on may not have an attribute as that
// proc has it: at the line of the command, or of +Attr, that first gives it to one of them, and
// by the name that it has there. Without one it names the attribute.
func (j *Jobs) Refuse(attr string, proc int, why error) error {
	return j.refuseFor(commandOf(attr), attr, attr, proc, why)
}

// RefuseCommand does so for an attribute by the name of its command. Without a line that gives
// it, it names the command.
func (j *Jobs) RefuseCommand(command, attr string, proc int, why error) error {
	return j.refuseFor(command, attr, command, proc, why)
}

func (j *Jobs) refuseFor(command, attr, called string, proc int, why error) error {
	var refusal error
	err := j.description.Walk(1, nil, func(p *submitfile.Job) error {
		if p.First()+p.Count() <= proc {
			return nil
		}
		if proc > p.Proc() {
			p.Skip(proc - p.First())
		}
		one := j.job(p, nil)
		g, ok, err := one.asked(command, attr)
		if ok && err == nil {
			refusal, err = one.refuse(g, "%w", why), errFound
		}
		return err
	})
	if errors.Is(err, errFound) {
		return refusal
	}
	return fmt.Errorf("%s: %w", called, why)
}

// commandOf returns the name of the command that gives an attribute.
func commandOf(attr string) string {
	for _, c := range credentials {
		if strings.EqualFold(c.attr, attr) {
			return c.command
		}
	}
	key := strings.ToLower(attr)
	if name, isRequest := strings.CutPrefix(key, "request"); byName()[key] == nil && isRequest {
		key = requestPrefix + name
	}
	return key
}

// origin returns what gives the job an attribute: +Attr or, without that, its command.
func (j *job) origin(attr string) (g given, ok bool, err error) {
	return j.asked(commandOf(attr), attr)
}

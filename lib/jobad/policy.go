package jobad

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// submittedOnHold is HTCondor's HoldReasonCode of jobs that are submitted on hold.
const submittedOnHold = "15"

// status sets whether the job is idle or held.
func (j *job) status() error {
	hold, err := j.boolean("hold", false)
	if err != nil {
		return err
	}
	if !hold {
		j.setExpr(pool.AttrJobStatus, strconv.Itoa(int(pool.Idle)))
		return nil
	}
	g, _, _ := j.command("hold")
	j.caution(g, "the jobs wait for qrls")
	j.setExpr(pool.AttrJobStatus, strconv.Itoa(int(pool.Held)))
	j.setString(pool.AttrHoldReason, "submitted on hold at user's request")
	j.setExpr(pool.AttrHoldReasonCode, submittedOnHold)
	return nil
}

// periodic sets the periodic expressions, and LeaveJobInQueue.
func (j *job) periodic() error {
	for _, c := range [...]struct{ command, attr string }{
		{"periodic_hold", "PeriodicHold"}, {"periodic_release", "PeriodicRelease"},
		{"periodic_remove", "PeriodicRemove"}, {"periodic_vacate", "PeriodicVacate"},
		{"on_exit_hold", "OnExitHold"}, {"leave_in_queue", "LeaveJobInQueue"},
	} {
		found, err := j.condition(c.command, c.attr)
		if err != nil {
			return err
		}
		if !found {
			j.setExpr(c.attr, "false")
		}
	}
	return nil
}

// condition sets an attribute to a command's expression, if there is one. A constant must
// be true or false.
func (j *job) condition(command, attr string) (found bool, err error) {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return false, err
	}
	e, err := j.compile(g, g.Text)
	if err != nil {
		return false, err
	}
	if err := conditionError(e); err != nil {
		return false, j.refuse(g, "%w", err)
	}
	j.setExpr(attr, g.Text)
	return true, nil
}

// conditionError returns an error for a constant other than true, false, 1, 0 and undefined.
func conditionError(e *classad.Expr) error {
	v, constant := e.Constant()
	n, isInt := v.Int()
	switch {
	case !constant, v.Kind() == classad.KindBoolean, v.Kind() == classad.KindUndefined, isInt && (n == 0 || n == 1):
		return nil
	}
	return fmt.Errorf("%s: want true, false or an expression for them", submitfile.Shorten(v.String()))
}

// defaultRetries is HTCondor's DEFAULT_JOB_MAX_RETRIES.
const defaultRetries = 2

// retries sets OnExitRemove, which reports whether a job that has ended leaves the
// queue. With max_retries, retry_until or success_exit_code it leaves when it has
// ended once more than JobMaxRetries, has succeeded, or when retry_until or
// on_exit_remove are true.
func (j *job) retries() error {
	remove, removes, err := j.command("on_exit_remove")
	if err != nil {
		return err
	}
	if removes {
		e, err := j.compile(remove, remove.Text)
		if err != nil {
			return err
		}
		if err := conditionError(e); err != nil {
			return j.refuse(remove, "%w", err)
		}
	}
	until, err := j.retryUntil()
	if err != nil {
		return err
	}
	success, hasSuccess, err := j.exitCode()
	if err != nil {
		return err
	}
	most, hasMost, err := j.maxRetries()
	switch {
	case err != nil:
		return err
	case !hasMost && !hasSuccess && until == "" && removes:
		j.setExpr("OnExitRemove", remove.Text)
		return nil
	case !hasMost && !hasSuccess && until == "":
		j.setExpr("OnExitRemove", "true")
		return nil
	}
	j.setExpr("JobMaxRetries", strconv.FormatInt(most, 10))
	text := "NumJobCompletions > JobMaxRetries || ExitCode =?= 0"
	if hasSuccess {
		j.setExpr(pool.AttrJobSuccessExitCode, strconv.FormatInt(success, 10))
		text = "NumJobCompletions > JobMaxRetries || ExitCode =?= " + pool.AttrJobSuccessExitCode
	}
	if until != "" {
		text += " || " + until
	}
	if removes {
		text += " || " + operand(remove.Text)
	}
	j.setExpr("OnExitRemove", text)
	return nil
}

// retryUntil returns the condition of retry_until. A whole number stands for that exit code.
func (j *job) retryUntil() (string, error) {
	g, ok, err := j.command("retry_until")
	if !ok || err != nil {
		return "", err
	}
	e, err := j.compile(g, g.Text)
	if err != nil {
		return "", err
	}
	v, constant := e.Constant()
	n, isInt := v.Int()
	switch {
	case !constant, v.Kind() == classad.KindBoolean:
		return operand(g.Text), nil
	case !isInt || n < math.MinInt32 || n > math.MaxInt32:
		return "", j.refuse(g, "%s: want an exit code, or a condition", submitfile.Shorten(g.Text))
	}
	return "ExitCode =?= " + strconv.FormatInt(n, 10), nil
}

func (j *job) exitCode() (n int64, ok bool, err error) {
	g, ok, err := j.command("success_exit_code")
	if !ok || err != nil {
		return 0, false, err
	}
	n, err = j.integer(g, false)
	return n, true, err
}

func (j *job) maxRetries() (n int64, ok bool, err error) {
	g, ok, err := j.command("max_retries")
	if !ok || err != nil {
		return defaultRetries, false, err
	}
	n, err = j.integer(g, false)
	return n, true, err
}

// operand returns an expression's text for an operand of ||: in parentheses
// if it has an operator that binds less, which only ? does, or a comment, which could hide the rest.
func operand(text string) string {
	bare := strings.NewReplacer("=?=", "", `\"`, "").Replace(text)
	for i, piece := range strings.Split(bare, `"`) {
		if i%2 == 0 && (strings.Contains(piece, "?") || strings.Contains(piece, "//")) {
			return "(" + text + "\n)"
		}
	}
	return text
}

// notifications are the words of the command notification.
var notifications = map[string]string{
	"never": "0", "always": "1", "complete": "2", "error": "3", "start": "4",
	"0": "0", "1": "1", "2": "2", "3": "3", "4": "4",
	"false": "0",
}

// notification sets when mail is sent, and to whom.
func (j *job) notification() error {
	g, ok, err := j.command("notification")
	if err != nil {
		return err
	}
	code := "0"
	if ok {
		if code = notifications[strings.ToLower(unquoted(g.Text))]; code == "" {
			return j.refuse(g, "%q: want one of never, always, complete, error and start", submitfile.Shorten(g.Text))
		}
	}
	j.setExpr("JobNotification", code)
	who, ok, err := j.command("notify_user")
	if !ok || err != nil {
		return err
	}
	if name := strings.ToLower(unquoted(who.Text)); name == "never" || name == "false" {
		j.caution(who, "would send mail to a user called %s; for no mail write notification = never", name)
	}
	j.setString("NotifyUser", unquoted(who.Text))
	return nil
}

// lease sets how long a job may run on without contact to the queue. Jobs
// that HTCondor runs without a slot have none.
func (j *job) lease() error {
	u, err := j.universe()
	if err != nil {
		return err
	}
	g, ok, err := j.command("job_lease_duration")
	switch {
	case err != nil:
		return err
	case !ok && u.number != pool.Local && u.number != pool.Scheduler:
		j.setExpr("JobLeaseDuration", "2400")
	case ok:
		return j.leaseOf(g)
	}
	return nil
}

// leaseOf sets the lease of a description: 0 means none, and the minimum is 20 seconds.
func (j *job) leaseOf(g given) error {
	n, err := strconv.ParseInt(g.Text, 10, 64)
	switch {
	case err != nil:
		_, err := j.expression("job_lease_duration", "JobLeaseDuration")
		return err
	case n == 0:
		return nil
	case n < 20:
		j.caution(g, "%d: raised to 20 seconds, the least", n)
		n = 20
	}
	j.setExpr("JobLeaseDuration", strconv.FormatInt(n, 10))
	return nil
}

// exitRequirements refuses exit_requirements, as HTCondor does since it has on_exit_remove.
func (j *job) exitRequirements() error {
	g, ok, err := j.command("exit_requirements")
	if !ok || err != nil {
		return err
	}
	return j.refuse(g, "has no meaning any more, nor in HTCondor: use on_exit_remove or on_exit_hold")
}

// noop sets IsNoopJob, which HTCondor does not run.
func (j *job) noop() error {
	g, ok, err := j.command("noop_job")
	if !ok || err != nil {
		return err
	}
	if yes, plain := truth(g.Text); !plain || yes {
		return j.refuse(g, "%s: the job would be run: leave it out, or hold the job", submitfile.Shorten(g.Text))
	}
	j.setExpr("IsNoopJob", "false")
	return nil
}

// signals are the names of Linux's signals by number, from 1.
var signals = [...]string{
	"HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
	"TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF",
	"WINCH", "IO", "PWR", "SYS",
}

// signalName returns the name, with SIG and in capitals, of a signal given
// by name or number.
func signalName(text string) (string, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(signals) {
		return "SIG" + signals[n-1], nil
	}
	short := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	for _, s := range signals {
		if s == short {
			return "SIG" + s, nil
		}
	}
	return "", fmt.Errorf("%q: not a signal, want a name as SIGTERM or a number from 1 to 31", submitfile.Shorten(text))
}

// defaultSignal sets KillSig as HTCondor's submit does by default: not for vanilla jobs, where the
// starter has the default.
func (j *job) defaultSignal(attr string) error {
	if attr != pool.AttrKillSig {
		return nil
	}
	u, err := j.universe()
	if err == nil && u.number != pool.Vanilla && u.number != pool.Standard {
		j.setString(attr, "SIGTERM")
	}
	return err
}

// ending sets the signals that end the job, and how long it may take to end.
func (j *job) ending() error {
	for _, c := range [...]struct{ command, attr string }{
		{"kill_sig", pool.AttrKillSig}, {"remove_kill_sig", pool.AttrRemoveKillSig}, {"hold_kill_sig", pool.AttrHoldKillSig},
	} {
		g, ok, err := j.command(c.command)
		if err != nil {
			return err
		}
		if !ok {
			if err := j.defaultSignal(c.attr); err != nil {
				return err
			}
			continue
		}
		name, err := signalName(unquoted(g.Text))
		if err != nil {
			return j.refuse(g, "%v", err)
		}
		j.setString(c.attr, name)
	}
	if _, err := j.seconds("kill_sig_timeout", pool.AttrKillSigTimeout); err != nil {
		return err
	}
	if _, err := j.seconds("job_max_vacate_time", pool.AttrMaxVacateTime); err != nil {
		return err
	}
	return j.retirement()
}

// retirement sets the retirement of jobs of the standard universe, whose checkpoints save their work, to 0
// by default, as HTCondor's submit does; nice does so for nice jobs.
func (j *job) retirement() error {
	u, err := j.universe()
	if err != nil || u.number != pool.Standard {
		return err
	}
	_, told, err := j.command("max_job_retirement_time")
	if err == nil && !told {
		j.setExpr(pool.AttrMaxJobRetirementTime, "0")
	}
	return err
}

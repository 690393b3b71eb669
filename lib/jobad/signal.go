package jobad

import (
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

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
	return "", fmt.Errorf("%q: not a signal", submitfile.Shorten(text))
}

// ending sets how the job is told to go, and how long it may take.
func (j *job) ending() error {
	for _, c := range [...]struct{ command, attr string }{
		{"kill_sig", pool.AttrKillSig}, {"remove_kill_sig", pool.AttrRemoveKillSig},
	} {
		g, ok, err := j.command(c.command)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		name, err := signalName(g.Text)
		if err != nil {
			return j.refuse(g, "%v", err)
		}
		j.setString(c.attr, name)
	}
	if err := j.seconds("kill_sig_timeout", pool.AttrKillSigTimeout); err != nil {
		return err
	}
	return j.seconds("job_max_vacate_time", pool.AttrMaxVacateTime)
}

// seconds sets an attribute to a whole number of seconds from 0 up, or to an
// expression for one. A bare name, such as a word by mistake, counts as an
// expression only when the description gives the job that attribute.
func (j *job) seconds(command, attr string) error {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return err
	}
	e, err := j.compile(g, g.Text)
	if err != nil {
		return err
	}
	v, constant := e.Constant()
	n, isInt := v.Int()
	bare := isAttributeName(g.Text) && !j.overrides[strings.ToLower(g.Text)]
	if constant && (!isInt || n < 0) || beyondInteger(g.Text) || bare {
		return j.refuse(g, "%s: want seconds, a whole number from 0 up", submitfile.Shorten(g.Text))
	}
	j.setExpr(attr, g.Text)
	return nil
}

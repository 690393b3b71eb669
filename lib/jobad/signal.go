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
	return "", fmt.Errorf("%q: not a signal, want a name as SIGTERM or a number from 1 to 31", submitfile.Shorten(text))
}

// defaultSignal sets KillSig as HTCondor's submit does where nobody gives it: it leaves it
// out for vanilla jobs, whose starter knows it.
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

// ending sets how the job is told to go, and how long it may take.
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

// retirement has jobs of the standard universe, whose checkpoints save what they have
// done, give way at once unless they say otherwise, as HTCondor's submit does; nice does
// the same for its own.
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

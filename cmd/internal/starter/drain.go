package starter

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// drainMachine is starter -drain: it keeps jobs from this machine, or from -machine, and waits until the jobs
// there have left.
func drainMachine(c *cmdline.Call, o options) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT)
	sp, host, err := here(c)
	if err != nil {
		return err
	}
	machine := ""
	if err := sp.View(func(v *spool.View) error { machine, err = o.Of(v, host); return err }); err != nil {
		return err
	}
	if o.Cancel {
		return cancelDrain(c, o, sp, machine)
	}
	f, err := newFollower(c, o, sp, machine)
	if err != nil {
		return err
	}
	f.elsewhere = machine != host
	if err := f.close(false); err != nil {
		return err
	}
	return left(f.loop(signals, drainPassEvery))
}

// drainPassEvery is how often a draining machine is searched for jobs whose supervisor is
// gone.
const drainPassEvery = 5 * time.Second

// errLeft ends the loop when all jobs have left.
var errLeft = errors.New("all jobs have left")

func left(err error) error {
	if errors.Is(err, errLeft) {
		return nil
	}
	return err
}

// cancelDrain lets jobs come to a machine again.
func cancelDrain(c *cmdline.Call, o options, sp *spool.Spool, host string) error {
	was := false
	err := lifecycle.Account(sp, c.Reading(), func(tx *spool.Tx) error {
		was = lifecycle.Reopen(tx, host)
		return nil
	})
	if err != nil {
		return err
	}
	c.Changed()
	if o.json {
		return c.JSON(reopened{host, was})
	}
	if !o.quiet {
		what := "takes jobs again"
		if !was {
			what = "was not drained"
		}
		fmt.Fprintf(c.Stdout, "%s %s.\n", host, what)
	}
	return nil
}

// reopened is what -json prints of -cancel.
type reopened struct {
	Machine    string
	WasDrained bool
}

// closed tells that a machine is drained, and how jobs come to it again; empty if it is not.
func closed(sp *spool.Spool, host string) (words string, err error) {
	err = sp.View(func(v *spool.View) error {
		d, drained := lifecycle.DrainOf(v, host)
		if !drained {
			return nil
		}
		why := ""
		if d.Reason != "" {
			why = fmt.Sprintf(" (%s)", d.Reason)
		}
		words = fmt.Sprintf("%s is drained%s: it takes no jobs until starter -drain -cancel.\n", host, why)
		return nil
	})
	return words, err
}

// tellClosed prints that.
func tellClosed(c *cmdline.Call, sp *spool.Spool) error {
	host, err := c.Hostname()
	if err != nil {
		return err
	}
	words, err := closed(sp, host)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.Stdout, words)
	return err
}

// departure is the departure of the jobs of a machine that is being drained.
type departure struct {
	claims   map[string]bool // that are waited for, by the names of their locks
	told     int             // how many there were
	progress *cmdline.Progress
}

// drained is what -json prints when the machine is drained.
type drained struct {
	Time                   int64
	Machine, Haste, Reason string
	GivenUp, Leaving       []string // jobs
}

// emptied is the output of -json when all jobs have left.
type emptied struct {
	Time    int64
	Machine string
	Left    int // how many they were
}

// close commits that the machine is drained, by order or because the watch was told to
// end. Matches that are not yet started are given up.
func (f *follower) close(stopped bool) error {
	c := f.call.Again()
	c.Pace(f.spool)
	who, err := c.Caller()
	if err != nil {
		return err
	}
	var d lifecycle.Drained
	var l lifecycle.Leavers
	err = lifecycle.Account(f.spool, c.Reading(), func(tx *spool.Tx) error {
		d, l = f.Close(tx, f.host, who.Name, stopped, c.Reading(), c.Config.Params)
		return nil
	})
	f.spool.Close()
	if err != nil {
		return err
	}
	c.Changed() // the matches that were given up may be made elsewhere
	f.starts = false
	f.leaving = &departure{claims: map[string]bool{}, told: len(l.Staying()), progress: c.Progress("draining " + f.host)}
	for _, claim := range l.Staying() {
		f.leaving.claims[claim.LockName()] = true
	}
	if _, err := f.claims.Look(); err != nil {
		f.complain(err)
	}
	text := fmt.Sprintf("%s is drained: %s given up, %s.\n", f.host, plural.Count(len(l.GivenUp), "match"), plural.Pick(len(l.Staying()), "1 job has to leave", "%d jobs have to leave"))
	return f.say(drained{c.Now.Unix(), f.host, d.Haste.String(), d.Reason, jobsOf(l.GivenUp), jobsOf(l.Staying())}, text)
}

func jobsOf(claims []pool.Claim) []string {
	ids := make([]string, len(claims))
	for i, c := range claims {
		ids[i] = c.Job.String()
	}
	return ids
}

// staying returns the claims that are still waited for.
func (l *departure) staying(f *follower) (claims []pool.Followed) {
	for _, c := range f.claims.Claims() {
		if l.claims[c.Attempt.String()] {
			claims = append(claims, c)
		}
	}
	return claims
}

// look ends the loop when all jobs have left, or when no process could make any of the
// others leave.
func (l *departure) look(f *follower) error {
	staying := l.staying(f)
	l.progress.Count(len(staying), plural.Noun(len(staying), "job")+" left")
	if len(staying) == 0 {
		return l.end(f)
	}
	for _, c := range staying {
		if !f.stuck[c.Job.String()] {
			return nil
		}
	}
	l.progress.End()
	f.call.Warn("%s is drained, but %s did not leave it", f.host, plural.Count(len(staying), "job"))
	return cmdline.ErrReported
}

// end tells that all have left.
func (l *departure) end(f *follower) error {
	l.progress.End()
	if l.told > 0 {
		if err := f.say(emptied{f.call.Again().Now.Unix(), f.host, l.told}, fmt.Sprintf("%s left %s.\n", plural.Pick(l.told, "1 job has", "%d jobs have"), f.host)); err != nil {
			return err
		}
	}
	return errLeft
}

// interrupted ends the wait for a signal.
func (l *departure) interrupted(f *follower) error {
	l.progress.End()
	f.call.Warn("%s stays drained; %s not left yet", f.host, plural.Pick(len(l.staying(f)), "1 job has", "%d jobs have"))
	return cmdline.ErrReported
}

package qstat

import (
	"errors"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/waiting"
)

// logEvery is how often a log is looked at.
const logEvery = 200 * time.Millisecond

// waitForLog waits until the jobs of an event log have ended. It needs no spool.
func waitForLog(c *cmdline.Call) error {
	o, err := waitOptionsOf(c)
	if err != nil {
		return err
	}
	w, err := waiting.Jobs(c.Args)
	if err != nil {
		return cmdline.Usagef("%v", err)
	}
	v := waiting.ForLog(o.log, w, c.Now.Year())
	defer v.Close()
	switch err := waiting.Until(c, waiting.Pace{Every: logEvery, Timeout: o.timeout}, v.Look); {
	case errors.Is(err, waiting.ErrTimedOut):
		return waiting.TimedOut(c, v.Outcomes(), v.Known(), v.Missing())
	case errors.Is(err, waiting.ErrInterrupted):
		c.Warn("interrupted: the jobs stay as they are, and qstat -wait waits for them again")
		return cmdline.ExitStatus(waiting.Interrupted)
	case err != nil:
		return err
	}
	return waiting.Finish(c, v.Outcomes())
}

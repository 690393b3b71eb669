package negotiate

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/trouble"
	"fairspool/lib/asuser"
	"fairspool/spool"
)

// step is something that a driver has just done.
type step string

const (
	stepTaken    step = "taken"    // it has the lock
	stepRested   step = "rested"   // it is long enough since the last cycle
	stepBegun    step = "begun"    // the change that waited is noted as one for which a cycle is made
	stepCycled   step = "cycled"   // the cycle is made
	stepPassed   step = "passed"   // and starter has made a pass
	stepDone     step = "done"     // that is noted
	stepReleased step = "released" // the lock is free
)

// reached is told of each step. It does nothing: tests have it end the process there.
var reached = func(step) {}

// sameTrouble is how long drivers do not repeat what one of them has written to their log: where
// it does not go away they might each second.
const sameTrouble = time.Hour

// drive makes one cycle, and has starter make a pass, on behalf of a command that has changed the
// queue; see package onchange. Bad news goes to the drivers' log. A cycle that fails is noted as
// one that is still to be made.
func drive(c *cmdline.Call) error {
	dir, err := c.SpoolDir()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return err
	}
	d, err := onchange.Take(dir)
	if err != nil {
		return err
	}
	reached(stepTaken)
	log := &trouble.Log{Path: onchange.LogPath(dir), Again: sameTrouble}
	c.Stderr = log
	if err = driven(c, d, log); err == nil || errors.Is(err, cmdline.ErrReported) {
		return err
	}
	c.Warn("%v", err)
	return errors.Join(cmdline.ErrReported, err)
}

func driven(c *cmdline.Call, d *onchange.Driver, log *trouble.Log) error {
	pool, on, err := c.OnChange()
	if err != nil || !on {
		return err
	}
	d.Rest(c.Config.CycleMinInterval)
	reached(stepRested)
	sp, err := c.ExistingSpool(false) // one that was removed is not to be made again
	if err != nil {
		return err
	}
	if err := d.Begin(); err != nil {
		return err
	}
	reached(stepBegun)
	now := c.Again()
	sp.At(now.Now)
	if err := cycle(now, c.LockWait()); err != nil {
		return err
	}
	reached(stepCycled)
	if err := pass(pool, log); err != nil {
		return err
	}
	reached(stepPassed)
	if err := d.Done(); err != nil {
		return err
	}
	reached(stepDone)
	if err := d.Release(); err != nil {
		return err
	}
	reached(stepReleased)
	return nil
}

// pass has starter make a pass, whose bad news goes to the log. A pass that could not start a job
// has told so, and has done the rest; one that was killed is an error.
// Where root's starter runs the jobs, it makes the pass itself.
func pass(pool onchange.Pool, log *trouble.Log) error {
	if !asuser.Privileged() && spool.RunByRoot(pool.Dir) {
		return nil
	}
	starter := exec.Command(pool.Program("starter"), append(slices.Clone(pool.Args), "-q")...)
	starter.Dir, starter.Env = "/", pool.Env
	starter.Stdout, starter.Stderr = log, log
	err := starter.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("starter: %w", err)
	}
	return nil
}

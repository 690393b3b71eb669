package negotiate

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/trouble"
	"fairspool/lib/asuser"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// step is something that a driver has just done.
type step string

const (
	stepTaken    step = "taken"    // it has the lock
	stepRested   step = "rested"   // it is long enough since the last cycle
	stepBegun    step = "begun"    // the change that waited is noted as having a cycle
	stepCycled   step = "cycled"   // the cycle is made
	stepPassed   step = "passed"   // and glidein and starter have made their passes
	stepDone     step = "done"     // that is noted
	stepReleased step = "released" // the lock is free
)

// reached is called at each step. It does nothing; tests have it end the process there.
var reached = func(step) {}

// sameTrouble is how long drivers do not repeat what one of them has written to their log: where
// it does not go away they might each second.
const sameTrouble = time.Hour

// drive makes one cycle, and has glidein and starter make their passes, on behalf of a command that has changed the
// queue; see package onchange. Bad news goes to the drivers' log. A cycle that fails is noted as
// one that is still to be made.
func drive(c *cmdline.Call, o options) error {
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
	if err = driven(c, o, d, log); err == nil || errors.Is(err, cmdline.ErrReported) {
		return err
	}
	c.Warn("%v", err)
	return errors.Join(cmdline.ErrReported, err)
}

func driven(c *cmdline.Call, o options, d *onchange.Driver, log *trouble.Log) error {
	pool, on, err := c.OnChange()
	if err != nil || !on {
		return err
	}
	d.Rest(c.Config.CycleMinInterval)
	reached(stepRested)
	sp, err := c.ExistingSpool() // one that was removed is not to be made again
	if err != nil {
		return err
	}
	if err := d.Begin(); err != nil {
		return err
	}
	reached(stepBegun)
	now := c.Again()
	now.Pace(sp)
	if err := runCycle(now, o, c.LockWait()); err != nil {
		return err
	}
	reached(stepCycled)
	if err := errors.Join(links(c, pool, log), pass(pool, log)); err != nil {
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

// links has glidein start the links to machines of engines, where there are any and they are not root's
// to start.
func links(c *cmdline.Call, pool onchange.Pool, log *trouble.Log) error {
	if len(c.Config.Engines) == 0 || leftToRoot(pool) {
		return nil
	}
	return runProgram(pool, "glidein", log)
}

// pass has starter make a pass. Where root's starter runs the jobs, it makes the pass itself.
func pass(pool onchange.Pool, log *trouble.Log) error {
	if leftToRoot(pool) {
		return nil
	}
	return runProgram(pool, "starter", log)
}

// leftToRoot reports whether root runs the jobs of the spool, and this process is not root's.
func leftToRoot(pool onchange.Pool) bool {
	return !asuser.Privileged() && spool.RunByRoot(pool.Dir)
}

// runProgram runs starter or glidein, and logs its bad news. If the program could not start a job or a link,
// it has said so and has done the rest: that is no error. A killed program is one.
func runProgram(pool onchange.Pool, name string, log *trouble.Log) error {
	c := exec.Command(pool.Program(name), append(slices.Clone(pool.Args), "-q")...)
	c.Dir, c.Env = "/", pool.Env
	c.Stdout, c.Stderr = log, log
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// materialize creates the jobs kept back (max_materialize, max_idle) that have room in
// the queue, so that the cycle sees them. It writes nothing if there are none. It returns
// the clusters with jobs that wait for other clusters.
func materialize(c *cmdline.Call, s *spool.Spool) (waiting map[int]bool, err error) {
	some := false
	if err := s.View(func(v *spool.View) error {
		list, _ := lifecycle.Wanting(v, c.Config)
		some = len(list) > 0
		return nil
	}); err != nil || !some {
		return nil, err
	}
	var made []lifecycle.Made
	if err := s.Update(func(tx *spool.Tx) error {
		made = lifecycle.Materialize(tx, c.Config, s.Domain(), c.Now, c.Warn)
		var clusters []string
		for _, m := range made {
			clusters = append(clusters, strconv.Itoa(m.ID))
		}
		tx.Op("materialize", clusters...)
		return nil
	}); err != nil {
		return nil, err
	}
	waiting = map[int]bool{}
	for _, m := range made {
		if m.Waits {
			waiting[m.ID] = true
		}
	}
	host, err := c.Hostname()
	if err != nil {
		c.Warn("%v", err)
		return waiting, nil
	}
	log := joblog.For(c)
	for _, m := range made {
		log.Submitted(m.ID, m.Cluster, host)
	}
	log.Write(c)
	return waiting, nil
}

// notYetMade tells the user of a dry run how many jobs a cycle would create first. The
// dry run computes without them, since it writes nothing.
func notYetMade(c *cmdline.Call, v *spool.View) {
	list, room := lifecycle.Wanting(v, c.Config)
	if len(list) == 0 {
		return
	}
	all := 0
	var names []string
	for i, f := range list {
		all += room[i]
		names = append(names, pool.Procs{Cluster: f.Cluster, First: f.Next, Last: f.Next + room[i] - 1}.String())
	}
	const most = 2
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%s more", plural.Count(more, "cluster")))
	}
	c.Warn("%d %s still to come would appear first, and %s left out here: %s",
		all, plural.Pick(all, "job that is", "jobs that are"), plural.Pick(all, "is", "are"), strings.Join(names, ", "))
}

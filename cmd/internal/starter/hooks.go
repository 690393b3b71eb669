package starter

import (
	"fmt"
	"os/exec"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/hooks"
	"fairspool/cmd/internal/onchange"
	"fairspool/spool"
)

// runHooks is the life of a runner of commands for job events: it runs all that wait. What goes wrong
// is written to the log of the supervisors.
func runHooks(c *cmdline.Call) error {
	sp, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	log := hooks.Log(sp.Dir())
	log.Detach()
	c.Stderr = log
	return hooks.Run(hooks.Settings{
		Folder: sp.ClaimLock(""), Timeout: c.Config.EventCommandTimeout, Nobody: c.Config.NobodySlotUser,
		Warn: func(format string, args ...any) { log.Add(fmt.Errorf(format, args...)) },
	})
}

// startHooks starts a runner if commands wait for one and starter stands beside the other programs.
func startHooks(c *cmdline.Call, sp *spool.Spool) error {
	if len(hooks.Due(sp.ClaimLock(""))) == 0 {
		return nil
	}
	folder, prefix, ok := onchange.Siblings(c.Name)
	if !ok {
		return nil
	}
	common, err := c.Common()
	if err != nil {
		return err
	}
	var runner *exec.Cmd
	if runner, err = hooks.Start(onchange.Pool{Dir: sp.Dir(), Programs: folder, Prefix: prefix, Args: common}); err == nil && runner != nil {
		go runner.Wait() // a pass that lives on reaps it
	}
	return err
}

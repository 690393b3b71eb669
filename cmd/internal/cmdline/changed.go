package cmdline

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"

	"fairspool/cmd/internal/onchange"
	"fairspool/lib/family"
)

// cycleOnChange is the variable that turns CYCLE_ON_CHANGE off for a command.
const cycleOnChange = "FAIRSPOOL_CYCLE_ON_CHANGE"

// Changed starts a cycle and a pass of starter, once what the command changed in the queue is
// committed, unless CYCLE_ON_CHANGE is off. A cycle that cannot be started is warned of.
func (c *Call) Changed() { c.starting(onchange.Pool.Changed) }

// revive starts a cycle that another command has left to be started. Without one, that costs
// next to nothing.
func (c *Call) revive() {
	if dir, err := c.SpoolDir(); err == nil && onchange.Left(dir) {
		c.starting(onchange.Pool.Revive)
	}
}

// starting calls a function that may start a driver, where changes do so at all. The driver is not
// waited for: it outlives this process.
func (c *Call) starting(start func(onchange.Pool) (*exec.Cmd, error)) {
	p, ok, err := c.OnChange()
	if err == nil && ok {
		_, err = start(p)
	}
	if err != nil {
		c.Warn("warning: no cycle was started: %v; negotiate and then starter run what waits", Cause(err))
	}
}

// OnChange returns the pool whose cycles changes start, and false if they start none: because
// CYCLE_ON_CHANGE is off, the call's time is the user's own, or the other programs are not found.
func (c *Call) OnChange() (p onchange.Pool, ok bool, err error) {
	on, err := c.cycleOnChange()
	if err != nil || !on || c.simulated {
		return p, false, err
	}
	program := c.Name
	if c.ThroughDoor() && c.surroundings().Program != "" {
		program = c.surroundings().Program
	}
	if p.Programs, p.Prefix, ok = onchange.Siblings(program); !ok {
		return p, false, nil
	}
	common, err := c.Common()
	if err != nil {
		return p, false, err
	}
	p.Dir, p.Args = common[1], withoutLockWait(common)
	p.Notes = family.Inside()
	p.Env, err = environmentOfOwner(c.ThroughDoor())
	return p, err == nil, err
}

// cycleOnChange returns CYCLE_ON_CHANGE of the configuration, false if the environment turns it off.
func (c *Call) cycleOnChange() (bool, error) {
	text := os.Getenv(cycleOnChange)
	if text == "" {
		return c.Config.CycleOnChange, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s: %q: want true or false", cycleOnChange, text)
	}
	return on && c.Config.CycleOnChange, nil
}

// withoutLockWait leaves out of common flags how long this command may wait for a locked spool:
// no process waits for a driver.
func withoutLockWait(common []string) (args []string) {
	for i := 0; i+1 < len(common); i += 2 {
		if common[i] != "-lock-wait" {
			args = append(args, common[i:i+2]...)
		}
	}
	return args
}

// ownersPath is where programs are looked for that act for the spool's account alone.
const ownersPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environmentOfOwner returns the environment of what acts for the spool's owner alone: this
// process's without the variables behind common flags, which are given as flags. Of a caller through
// the door nothing is taken over.
func environmentOfOwner(throughDoor bool) (env []string, err error) {
	if throughDoor {
		u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
		if err != nil {
			return nil, err
		}
		return []string{"PATH=" + ownersPath, "HOME=" + u.HomeDir, "USER=" + u.Username, "LOGNAME=" + u.Username}, nil
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !isCommon(name) {
			env = append(env, entry)
		}
	}
	return env, nil
}

// isCommon reports whether a variable is behind a common flag.
func isCommon(variable string) bool {
	for _, v := range environment {
		if v == variable {
			return true
		}
	}
	return false
}

package hooks

import (
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/onchange"
	"fairspool/lib/asuser"
)

// Flag is the option of starter with which it is a runner.
const Flag = "hooks"

// Start starts a runner for a pool, unless one is at work, which will find earlier files, or this process is a job's,
// which starts no process that is to outlive the job. If root serves the account of the spool, the runner is root's,
// too. The caller may Wait for it, if it lives on.
func Start(p onchange.Pool) (runner *exec.Cmd, err error) {
	if p.Notes {
		return nil, nil
	}
	lock, err := lockRunner(filepath.Join(p.Dir, "claims.d"))
	if err != nil || lock == nil {
		return nil, err
	}
	lock.Close() // a runner that finds it locked meanwhile leaves its files to the one to come
	c := exec.Command(p.Program("starter"), slices.Concat(p.Args, []string{"-" + Flag})...)
	c.Dir, c.Env = "/", p.Env // no file system is kept busy for a runner's sake
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.Beside {
		c.SysProcAttr.Cloneflags = unix.CLONE_PARENT
	}
	if e := asuser.Root(func() { err = c.Start() }); e != nil {
		err = e
	}
	return c, err
}

package glidein

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fairspool/lib/asuser"
	"fairspool/lib/clean"
	"fairspool/lib/engine"
)

// engineTime is how long a command of an engine may take.
const engineTime = time.Minute

// runEngine runs a command of an engine, as the account that it names, and returns its output. The command has nothing
// of the caller's environment; ENV of the engine sets its variables.
func runEngine(ctx context.Context, of engine.Command) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	c := exec.CommandContext(ctx, of.Args[0], of.Args[1:]...)
	c.Dir, c.WaitDelay = "/", time.Second
	var out, bad bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(of.Input), &out, &bad
	name, home := "", ""
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		name, home = u.Username, u.HomeDir
	}
	if of.Owner != "" {
		u, known, err := asuser.LookUp(of.Owner)
		if err == nil && !known {
			err = errors.New("this machine knows no such user")
		}
		if err != nil {
			return nil, fmt.Errorf("rights of %s: %w", of.Owner, err)
		}
		name, home = u.Name, u.Home
		c.SysProcAttr = &syscall.SysProcAttr{Credential: u.Credential()}
	}
	c.Env = append([]string{"PATH=" + asuser.Path, "HOME=" + home, "USER=" + name, "LOGNAME=" + name, "SHELL=/bin/sh"}, of.Env...)
	var err error
	if e := asuser.Root(func() { err = c.Start() }); e != nil || err != nil {
		return nil, errors.Join(e, err)
	}
	err = c.Wait()
	if ctx.Err() != nil {
		err = fmt.Errorf("%s does not answer for %d s", of.Args[0], int(engineTime.Seconds()))
	} else if err != nil {
		err = &engineError{of.Args[0], clean.Line(lastLine(bad.Bytes())), err}
	}
	return out.Bytes(), err
}

// engineError is the failure of an engine's command.
type engineError struct {
	program, says string
	err           error
}

func (e *engineError) Error() string {
	if e.says == "" {
		return e.program + ": " + e.err.Error()
	}
	return e.program + ": " + e.says
}

func (e *engineError) Unwrap() error { return e.err }

// refused reports whether an engine's command has ended by itself: it was not killed, and has not begun to hang.
func refused(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Exited()
}

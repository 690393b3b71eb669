package starter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/hooks"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/systemd"
	"fairspool/lib/asuser"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/spool"
)

const (
	// spawning is how many supervisors may be starting at the same time. Each needs the
	// spool's lock once; more of them would only wait for it.
	spawning = 8
	// answerTime is how long a supervisor may take until it has answered, on
	// top of what it may wait for the spool.
	answerTime = 30 * time.Second
	// running is the answer of a supervisor whose job runs.
	running = "running"
)

// start starts a supervisor for every attempt that is matched and returns the attempts
// that run. The prefix distinguishes the spool's claims from those of other spools on
// this machine.
func (r *report) start(c *cmdline.Call, prefix string, matched []pool.Attempt) ([]*exec.Cmd, error) {
	flags, err := c.Common()
	if err != nil {
		return nil, err
	}
	answers, err := spawnAll(c, prefix, flags, matched)
	if err != nil {
		return nil, err
	}
	var supervisors []*exec.Cmd
	for i, claim := range matched {
		id := claim.Job.String()
		for _, line := range answers[i].lines {
			c.Warn("job %s: %s", id, line)
		}
		switch a := answers[i]; {
		case a.running:
			r.Started = append(r.Started, id)
			supervisors = append(supervisors, a.process)
		case len(a.lines) > 0:
			r.fail(id, strings.Join(a.lines, "; "), a.locked)
		}
	}
	return supervisors, nil
}

// scope is how supervisors get scopes, once systemd has given this process one. Until then it is asked for each time.
var scope atomic.Pointer[systemd.Scope]

// spawnAll starts the supervisors of attempts, with the flags, and returns their answers.
func spawnAll(c *cmdline.Call, prefix string, flags []string, attempts []pool.Attempt) ([]answer, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	unit := scope.Load()
	if unit == nil && len(attempts) > 0 {
		unit = systemd.Here().Scope()
		scope.Store(unit)
	}
	answers := make([]answer, len(attempts))
	var all sync.WaitGroup
	places := make(chan struct{}, spawning)
	for i, a := range attempts {
		places <- struct{}{}
		all.Go(func() {
			args := slices.Concat(flags, []string{"-supervise", a.String()})
			answers[i] = spawnIn(unit, prefix+a.String(), program, args, c.LockWait()+answerTime)
			<-places
		})
	}
	all.Wait()
	return answers, nil
}

// answer is what a supervisor said before it was left alone. Neither running nor lines:
// the claim was gone, or another process had it.
type answer struct {
	process *exec.Cmd
	running bool
	lines   []string // its bad news, each without the program's name
	spoke   bool     // one of them was the supervisor's, and not of the program that should have executed it
	locked  bool     // it gave up because the spool stayed locked
}

// refused reports whether the command ended before it became a supervisor, which would
// have said why.
func (a answer) refused() bool {
	return !a.running && !a.spoke && a.process != nil && a.process.ProcessState != nil && !a.process.ProcessState.Success()
}

// spawn starts a command that is, or becomes, a supervisor, in a session of its own, and
// waits until it has answered.
func spawn(s *exec.Cmd, wait time.Duration) answer {
	read, write, err := os.Pipe()
	if err != nil {
		return answer{lines: []string{"its supervisor: " + err.Error()}}
	}
	defer read.Close()
	s.Dir = "/" // no file system is kept busy for a supervisor's sake
	s.Stdout, s.Stderr = write, write
	s.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if e := asuser.Root(func() { launch.Lazily(func() { err = s.Start() }) }); e != nil {
		err = e
	}
	write.Close()
	if err != nil {
		return answer{lines: []string{"its supervisor: " + err.Error()}}
	}
	a := answer{process: s}
	read.SetReadDeadline(time.Now().Add(wait))
	lines := bufio.NewScanner(read)
	for lines.Scan() {
		if lines.Text() == running {
			a.running = true
			return a
		}
		line, ours := strings.CutPrefix(lines.Text(), "starter: ")
		a.lines, a.spoke = append(a.lines, line), a.spoke || ours
	}
	switch err := lines.Err(); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		go s.Wait() // a pass that lives on reaps it all the same
		a.lines = append(a.lines, fmt.Sprintf("its supervisor, process %d, did not answer within %v", s.Process.Pid, wait))
	case err != nil:
		a.lines = append(a.lines, err.Error())
	default:
		s.Wait()
		a.locked = s.ProcessState.ExitCode() == cmdline.ExitLocked
	}
	return a
}

// spawnIn starts a supervisor in a scope of that name, or without one if there are no scopes or the
// scope is refused: a second supervisor does no harm. It waits as spawn does.
func spawnIn(s *systemd.Scope, name, program string, args []string, wait time.Duration) answer {
	// systemd-run may take a dollar sign for a variable's.
	if s != nil && !strings.Contains(program+strings.Join(args, ""), "$") {
		if a := spawn(s.Command(context.Background(), name, program, args), wait); !a.refused() {
			return a
		}
	}
	return spawn(exec.Command(program, args...), wait)
}

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

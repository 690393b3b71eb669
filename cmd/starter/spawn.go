package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/pool"
)

const (
	// spawning is how many supervisors are on their way at the same time. Each
	// needs the spool's lock once; more of them would only wait for it.
	spawning = 8
	// answerTime is how long a supervisor may take until it has answered, on
	// top of what it may wait for the spool.
	answerTime = 30 * time.Second
	// running is the answer of a supervisor whose job runs.
	running = "running"
)

// start starts a supervisor for every Matched claim and returns those whose
// jobs run.
func (r *report) start(c *cmdline.Call, claims []pool.Claim) ([]*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	common, err := c.Common()
	if err != nil {
		return nil, err
	}
	var matched []pool.Claim
	for _, claim := range claims {
		if claim.State == pool.Matched {
			matched = append(matched, claim)
		}
	}
	answers := make([]answer, len(matched))
	var all sync.WaitGroup
	places := make(chan struct{}, spawning)
	for i, claim := range matched {
		places <- struct{}{}
		all.Go(func() {
			answers[i] = spawn(program, slices.Concat(common, []string{"-supervise", claim.LockName()}), c.LockWait()+answerTime)
			<-places
		})
	}
	all.Wait()
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

// answer is what a supervisor said before it was left alone. Neither running
// nor any line: the claim was not there any more, or somebody else's.
type answer struct {
	process *exec.Cmd
	running bool
	lines   []string // its bad news, each without the program's name
	locked  bool     // it gave up because the spool stayed locked
}

// spawn starts a supervisor in a session of its own, and waits until it has
// answered.
func spawn(program string, args []string, wait time.Duration) answer {
	read, write, err := os.Pipe()
	if err != nil {
		return answer{lines: []string{"its supervisor: " + err.Error()}}
	}
	defer read.Close()
	s := exec.Command(program, args...)
	s.Dir = "/" // no file system is kept busy for a supervisor's sake
	s.Stdout, s.Stderr = write, write
	s.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = s.Start()
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
		a.lines = append(a.lines, strings.TrimPrefix(lines.Text(), "starter: "))
	}
	switch err := lines.Err(); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		a.lines = append(a.lines, fmt.Sprintf("its supervisor, process %d, did not answer within %v", s.Process.Pid, wait))
	case err != nil:
		a.lines = append(a.lines, err.Error())
	default:
		s.Wait()
		a.locked = s.ProcessState.ExitCode() == cmdline.ExitLocked
	}
	return a
}

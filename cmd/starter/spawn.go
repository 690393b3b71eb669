package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/asuser"
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
// jobs run. The prefix tells the spool's claims from those of others on this machine.
func (r *report) start(c *cmdline.Call, prefix string, claims []pool.Claim) ([]*exec.Cmd, error) {
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
	var unit *scope
	if len(matched) > 0 {
		unit = systemdHere().scope()
	}
	answers := make([]answer, len(matched))
	var all sync.WaitGroup
	places := make(chan struct{}, spawning)
	for i, claim := range matched {
		places <- struct{}{}
		all.Go(func() {
			args := slices.Concat(common, []string{"-supervise", claim.LockName()})
			answers[i] = unit.spawn(prefix+claim.LockName(), program, args, c.LockWait()+answerTime)
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
	spoke   bool     // one of them was its own, and not that of what should have executed it
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
	if e := asuser.Root(func() { err = s.Start() }); e != nil {
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
		go s.Wait() // a pass that lives on waits for it all the same
		a.lines = append(a.lines, fmt.Sprintf("its supervisor, process %d, did not answer within %v", s.Process.Pid, wait))
	case err != nil:
		a.lines = append(a.lines, err.Error())
	default:
		s.Wait()
		a.locked = s.ProcessState.ExitCode() == cmdline.ExitLocked
	}
	return a
}

// scope is how a supervisor gets a transient unit of systemd's of its own. What runs in
// the unit of a caller ends with that: a service that is restarted, a session whose user logs
// out. nil: this machine has none to give, and a session of its own has to do.
type scope struct {
	words []string // of systemd-run(1), but for the unit's name
	env   []string // beside ours
}

// systemd is where a machine shows that systemd runs it, and what it does for a user.
type systemd struct {
	run    string // /run
	linger string // /var/lib/systemd/linger
	uid    int
	name   string // of the user
}

// systemdHere is that of this machine and process.
func systemdHere() systemd {
	s := systemd{run: "/run", linger: "/var/lib/systemd/linger", uid: os.Geteuid()}
	if asuser.Privileged() {
		s.uid = 0
	}
	if u, err := user.LookupId(strconv.Itoa(s.uid)); err == nil {
		s.name = u.Username
	}
	return s
}

// scope finds out whether systemd gives us scopes, by asking for one. A user's own
// systemd ends with the user's last session unless the user lingers (loginctl(1)): in a scope of
// such a one a supervisor would be worse off.
func (m systemd) scope() *scope {
	if _, err := os.Stat(filepath.Join(m.run, "systemd/system")); err != nil {
		return nil
	}
	program, there := asuser.Find("systemd-run")
	if !there {
		return nil
	}
	s := &scope{words: []string{program}}
	if m.uid != 0 {
		runtime := filepath.Join(m.run, "user", strconv.Itoa(m.uid))
		for _, file := range []string{filepath.Join(m.linger, m.name), filepath.Join(runtime, "systemd/private")} {
			if _, err := os.Stat(file); m.name == "" || err != nil {
				return nil
			}
		}
		s.words = append(s.words, "--user")
		s.env = []string{"XDG_RUNTIME_DIR=" + runtime}
	}
	s.words = append(s.words, "--scope", "--quiet", "--collect", "--slice=fairspool.slice", "--property=Delegate=yes")
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := errors.ErrUnsupported
	asuser.Root(func() { err = s.command(ctx, fmt.Sprintf("probe-%d", os.Getpid()), "true", nil).Run() })
	if err != nil {
		return nil
	}
	return s
}

// command returns the command that executes a program in a scope of that name.
func (s *scope) command(ctx context.Context, name, program string, args []string) *exec.Cmd {
	words := append([]string{"--unit=fairspool-" + name + ".scope", "--", program}, args...)
	c := exec.CommandContext(ctx, s.words[0], append(s.words[1:len(s.words):len(s.words)], words...)...)
	c.Env = append(os.Environ(), s.env...)
	return c
}

// spawn starts a supervisor in a scope of that name, and without one where that is
// refused: a supervisor that is there twice does no harm. Waits as spawn does.
func (s *scope) spawn(name, program string, args []string, wait time.Duration) answer {
	// systemd-run may take a dollar sign for a variable's.
	if s != nil && !strings.Contains(program+strings.Join(args, ""), "$") {
		if a := spawn(s.command(context.Background(), name, program, args), wait); !a.refused() {
			return a
		}
	}
	return spawn(exec.Command(program, args...), wait)
}

// step is something that has just been done for an attempt by its supervisor or, where
// that is gone, by the pass that ends it.
type step string

const (
	stepLocked       step = "locked"       // it has the claim's lock
	stepBegun        step = "begun"        // it is recorded that the attempt runs
	stepPlacing      step = "placing"      // the scratch directory and the inputs come next
	stepPlaced       step = "placed"       // they are there
	stepExecuted     step = "executed"     // the program was started, at first or after a checkpoint
	stepLogged       step = "logged"       // the event log has that
	stepTold         step = "told"         // the job was told to leave
	stepKilled       step = "killed"       // it was sent SIGKILL, since it did not
	stepEnded        step = "ended"        // the program has ended
	stepAlone        step = "alone"        // nothing that it started is left
	stepStored       step = "stored"       // the output is where it belongs, or kept
	stepCheckpointed step = "checkpointed" // a checkpoint is kept
	stepResuming     step = "resuming"     // and recorded
	stepTidied       step = "tidied"       // the scratch directory is gone
	stepKept         step = "kept"         // what the event log is to be told of the end is kept, until it is
	stepFinished     step = "finished"     // the end is recorded, and the slot's next attempt, if there is one
	stepConcluded    step = "concluded"    // the event log has the end
	stepUnlocked     step = "unlocked"     // the lock file, too
)

// reached is told of each step. It does nothing: tests have it end the process there.
var reached = func(step) {}

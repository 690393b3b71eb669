package local

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/jobargs"
	"fairspool/lib/launch"
	"fairspool/lib/shell"
)

const (
	// mostShells is how many shells there may be beside a job at a time.
	mostShells = 10
	// firstShell is how long a job that exists for a shell (InteractiveJob) waits for it.
	firstShell = 2 * time.Minute
	// bourne is the shell of users without one on this machine.
	bourne = "/bin/sh"
)

// shells are the programs that the job's owner runs beside the job, in its family.
type shells struct {
	m   *Machine
	job launch.Job // as it was started, without a container
	at  net.Listener

	mu     sync.Mutex
	closed bool // none may be started
	open   int
	first  *time.Timer // ends a job that is there for a shell, and has got none
}

// listen has the machine take requests for shells beside the job. It returns without them if it
// cannot listen.
func (m *Machine) listen(job launch.Job) *shells {
	s := &shells{m: m, job: job}
	at, err := net.Listen("unix", shell.Address(m.FamilyOf(m.Attempt, nil).Name))
	if err != nil {
		m.tell(fmt.Errorf("no shells beside the job: %w", err))
		return s
	}
	s.at = at
	if m.interactive {
		s.first = time.AfterFunc(firstShell, s.leave)
	}
	go s.accept()
	return s
}

// close has no more shells started. Those that run end with the family.
func (s *shells) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.at != nil {
		s.at.Close()
	}
	if s.first != nil {
		s.first.Stop()
	}
}

func (s *shells) accept() {
	for {
		conn, err := s.at.Accept()
		if err != nil {
			return
		}
		if !s.may(conn) || !s.enter() {
			conn.Close()
			continue
		}
		go func() {
			defer s.exit()
			shell.Serve(conn, s.terminal, s.start)
		}()
	}
}

// may reports whether the asking user has the rights of the job's owner anyhow: as the owner, root, or the account that
// this process serves.
func (s *shells) may(conn net.Conn) bool {
	uid, err := shell.Peer(conn)
	return err == nil && (uid == 0 || uid == os.Geteuid() || s.job.Account.Other() && uid == int(s.job.Account.UID))
}

// enter counts a shell, unless there are too many.
func (s *shells) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.open >= mostShells {
		return false
	}
	if s.open++; s.first != nil {
		s.first.Stop()
	}
	return true
}

// exit counts a shell that has ended. A job that exists for a shell ends with the last
// one.
func (s *shells) exit() {
	s.mu.Lock()
	s.open--
	last := s.open == 0 && !s.closed
	s.mu.Unlock()
	if last && s.m.interactive {
		s.leave()
	}
}

// leave ends a job that was there for a shell.
func (s *shells) leave() { s.m.process.Signal(syscall.SIGTERM) }

// terminal makes a pseudo-terminal of the owner's.
func (s *shells) terminal() (master, terminal *os.File, err error) {
	err = s.job.Account.As(func() (err error) {
		master, terminal, err = shell.Terminal()
		return err
	})
	return master, terminal, err
}

// start starts the requested program in the job's family and directory, with its environment and its
// limits.
func (s *shells) start(r shell.Request, stdio *os.File) (wait func() (status int), err error) {
	if s.job.Container != nil {
		return nil, errors.New("the job runs in a container, which qshell does not enter")
	}
	job := s.job
	job.Stdio, job.Cmd, job.Args, job.Arg0 = stdio, bourne, nil, ""
	switch {
	case len(r.Command) > 0:
		job.Args = append([]string{"-c", `exec "$@"`, "sh"}, r.Command...)
	case path.IsAbs(r.Shell) && executable(job.Account, r.Shell):
		job.Cmd = filepath.Clean(r.Shell)
	}
	job.Env = jobargs.MergeEnv(job.Env, []string{"TERM=" + cmp.Or(strings.Map(plain, r.Term), "dumb"), "SHELL=" + job.Cmd})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the job has ended")
	}
	var p *launch.Process
	ended, err := s.m.family.Join(func() (pid int, err error) {
		if p, err = launch.Start(job, s.m.pipe, s.m.family); err != nil {
			return 0, err
		}
		return p.PID(), nil
	})
	if err != nil {
		return nil, err
	}
	return func() int {
		e := p.Wait()
		ended()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			return -1
		}
		if e.Signal != 0 {
			return 128 + e.Signal // as shells have it
		}
		return e.Code
	}, nil
}

// executable reports whether an account may execute a file.
func executable(of launch.Account, path string) bool {
	return of.As(func() error { return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) }) == nil
}

// plain leaves out of the name of a terminal what no such name has.
func plain(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-+._", r) {
		return r
	}
	return -1
}

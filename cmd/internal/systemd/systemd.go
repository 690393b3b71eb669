// Package systemd is what systemd does for starter on a machine that it runs: it gives supervisors
// scopes of their own, reports whether the machine shuts down, and hears how the service does. On other
// machines nothing of this happens.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

// patience bounds how long a question to systemd may take.
const patience = 5 * time.Second

// Machine is where a machine shows that systemd runs it, and what systemd does for a user.
type Machine struct {
	Run    string // /run
	Linger string // /var/lib/systemd/linger
	UID    int
	Name   string // of the user
}

// Here returns this machine, for the user of this process.
func Here() Machine {
	m := Machine{Run: "/run", Linger: "/var/lib/systemd/linger", UID: os.Geteuid()}
	if asuser.Privileged() {
		m.UID = 0
	}
	if u, err := user.LookupId(strconv.Itoa(m.UID)); err == nil {
		m.Name = u.Username
	}
	return m
}

// Scope is a way to give a process a transient unit of its own. A process in the unit of a caller
// ends with that: a service that is restarted, a session whose user logs out.
type Scope struct {
	words []string // of systemd-run(1), except the unit's name
	env   []string // beside ours
}

// Scope finds out whether systemd gives scopes, by asking for one; nil: it does not. A user's own
// systemd ends with the user's last session unless the user lingers (loginctl(1)): in a scope of
// such a user a process would be worse off.
func (m Machine) Scope() *Scope {
	if _, err := os.Stat(filepath.Join(m.Run, "systemd/system")); err != nil {
		return nil
	}
	program, there := asuser.Find("systemd-run")
	if !there {
		return nil
	}
	s := &Scope{words: []string{program}}
	if m.UID != 0 {
		runtime := filepath.Join(m.Run, "user", strconv.Itoa(m.UID))
		for _, file := range []string{filepath.Join(m.Linger, m.Name), filepath.Join(runtime, "systemd/private")} {
			if _, err := os.Stat(file); m.Name == "" || err != nil {
				return nil
			}
		}
		s.words = append(s.words, "--user")
		s.env = []string{"XDG_RUNTIME_DIR=" + runtime}
	}
	s.words = append(s.words, "--scope", "--quiet", "--collect", "--slice=fairspool.slice", "--property=Delegate=yes")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := errors.ErrUnsupported
	asuser.Root(func() { err = s.Command(ctx, fmt.Sprintf("probe-%d", os.Getpid()), "true", nil).Run() })
	if err != nil {
		return nil
	}
	return s
}

// Command returns the command that executes a program in a scope, fairspool-NAME.scope.
func (s *Scope) Command(ctx context.Context, name, program string, args []string) *exec.Cmd {
	words := append([]string{"--unit=fairspool-" + name + ".scope", "--", program}, args...)
	c := exec.CommandContext(ctx, s.words[0], append(s.words[1:len(s.words):len(s.words)], words...)...)
	c.Env = append(os.Environ(), s.env...)
	return c
}

// Stopping reports whether the machine shuts down, by systemctl(1), is-system-running. It waits a few
// seconds at most, and is false where systemd does not run the machine or does not answer.
func Stopping() bool {
	program, there := asuser.Find("systemctl")
	if !there {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var said []byte
	asuser.Root(func() { said, _ = exec.CommandContext(ctx, program, "is-system-running").Output() }) // the exit status answers another question
	return strings.TrimSpace(string(said)) == "stopping"
}

// Notify tells systemd how the service is, as sd_notify(3) does; where systemd has not asked for
// that it does nothing.
func Notify(states ...string) {
	if notifySocket == "" {
		return
	}
	c, err := net.Dial("unixgram", notifySocket)
	if err != nil {
		return // there is no listener
	}
	defer c.Close()
	c.Write([]byte(strings.Join(states, "\n")))
}

// notifySocket is where systemd listens. Processes that this one starts do not inherit it: they
// speak for themselves.
var notifySocket = takeNotifySocket()

func takeNotifySocket() string {
	defer os.Unsetenv("NOTIFY_SOCKET")
	return os.Getenv("NOTIFY_SOCKET")
}

// Monotonic is the text that RELOADING=1 requires.
func Monotonic() string {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return fmt.Sprintf("MONOTONIC_USEC=%d", t.Nano()/1000)
}

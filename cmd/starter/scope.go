package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/asuser"
)

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

package cmdline

import (
	"fmt"
	"os"
	"os/user"
	"strconv"

	"fairspool/cmd/internal/door"
)

// Caller is the person on whose word a command acts.
type Caller struct {
	Name  string // the login name, which jobs have as Owner
	Admin bool   // may steer everybody's jobs and change accounts
}

// May reports whether the caller may change jobs of this owner.
func (w Caller) May(owner string) bool { return w.Admin || owner != "" && owner == w.Name }

// Caller returns who runs the command: through the door the user whom the kernel names, else
// the process's own. Of the users of the door root, the spool's account and those that
// ADMINISTRATORS names are administrators. Without a door everybody is one, as a spool opens for
// its owner alone.
func (c *Call) Caller() (Caller, error) {
	s := c.surroundings()
	if s.Session != nil {
		p := s.Session.Peer
		admin := p.UID == 0 || p.UID == s.UID || c.Config.Administers(p.Name, p.Groups)
		return Caller{Name: p.Name, Admin: admin}, nil
	}
	name, err := s.UserName(s.UID)
	if err != nil {
		return Caller{}, fmt.Errorf("your login name: %w", err)
	}
	return Caller{Name: name, Admin: true}, nil
}

// ThroughDoor reports whether the command runs in serve, for a caller who may be of another
// account: then it reads and writes files by ReadFile and Replace alone.
func (c *Call) ThroughDoor() bool { return c.surroundings().Session != nil }

// Ask asks the caller's end of a command that runs in serve a question, which Command.Before
// answers there, and reads the answer.
func (c *Call) Ask(question, answer any) error { return c.surroundings().Session.Ask(question, answer) }

// Surroundings is what a command finds where it runs: who runs it, and where the
// places of the whole machine are. Commands have those of Here; tests make others.
type Surroundings struct {
	UID      int // the process's effective one
	UserName func(uid int) (string, error)

	Config, Spool string // the machine's configuration and spool

	// Session is the caller's request in serve, for whose spool and configuration Spool and
	// Config stand then; nil: the command runs for its own user.
	Session *door.Session
	Program string // which runs the session's command; empty: the command's own
}

// surroundings are the call's; those of the process for a Call that nobody made.
func (c *Call) surroundings() Surroundings {
	if c.around.UserName == nil {
		return Here()
	}
	return c.around
}

// Here returns the surroundings of this process.
func Here() Surroundings {
	return Surroundings{UID: os.Geteuid(), UserName: loginName, Config: systemConfig, Spool: systemSpool}
}

// loginName returns the login name of a uid. Only for the process's own user it may come
// from the environment, where the machine does not know one.
func loginName(uid int) (string, error) {
	if uid == os.Getuid() && uid == os.Geteuid() {
		u, err := user.Current()
		if err != nil {
			return "", err
		}
		return u.Username, nil
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "", fmt.Errorf("uid %d has none on this machine", uid)
	}
	return u.Username, nil
}

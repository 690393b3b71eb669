package cmdline

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
)

// Caller is the person on whose word a command acts.
type Caller struct {
	Name  string // the login name, which jobs have as Owner
	Admin bool   // may steer everybody's jobs and change accounts
}

// May tells whether the caller may change jobs of this owner.
func (w Caller) May(owner string) bool { return w.Admin || owner != "" && owner == w.Name }

// Caller returns who runs the command: of a set-user-ID program the real user, of
// one under `sudo -u ACCOUNT` the user of sudo, else the effective user. To the
// first two the account is lent; they are administrators if ADMINISTRATORS names
// them. Everybody else is one, as a spool opens for nobody but its owner, and so
// is root, lent an account or not.
func (c *Call) Caller() (Caller, error) {
	s := c.surroundings()
	uid, lent, err := s.caller()
	if err != nil {
		return Caller{}, err
	}
	name := s.SudoUser
	if !lent || name == "" || s.setUserID() {
		if name, err = s.UserName(uid); err != nil {
			return Caller{}, fmt.Errorf("your login name: %w", err)
		}
	}
	return Caller{Name: name, Admin: !lent || slices.Contains(c.Config.Administrators, name)}, nil
}

// SetUserID tells whether the command is a set-user-ID program that somebody else
// than its owner has called.
func (c *Call) SetUserID() bool { return c.surroundings().setUserID() }

// Surroundings is what a command finds where it runs: who runs it, and where the
// places of the whole machine are. Commands have those of Here; tests make others.
type Surroundings struct {
	Real, Effective int    // the process's uids
	SudoUID         string // who became Effective by sudo, as a number; empty: nobody
	SudoUser        string // the same by name
	UserName        func(uid int) (string, error)

	Config, Spool string // the machine's configuration and spool
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
	return Surroundings{
		Real: os.Getuid(), Effective: os.Geteuid(),
		SudoUID: os.Getenv("SUDO_UID"), SudoUser: os.Getenv("SUDO_USER"), UserName: loginName,
		Config: systemConfig, Spool: systemSpool,
	}
}

// loginName returns the login name of a uid. Only for a user who is nobody else may
// it come from the environment, where the machine does not know one.
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

func (s Surroundings) setUserID() bool { return s.Real != s.Effective }

// lent tells whether the effective user's rights are lent to somebody else.
func (s Surroundings) lent() bool {
	_, lent, err := s.caller()
	return lent || err != nil
}

// caller returns the uid on whose word the command acts, and whether it was lent
// the effective user's rights.
func (s Surroundings) caller() (uid int, lent bool, err error) {
	uid = s.Effective
	switch {
	case s.setUserID():
		uid = s.Real
	case s.SudoUID != "" && s.Effective != 0:
		n, err := strconv.ParseUint(s.SudoUID, 10, 32)
		if err != nil {
			return 0, false, fmt.Errorf("SUDO_UID: %q: not a user's number", s.SudoUID)
		}
		uid = int(n)
	}
	if uid == 0 {
		uid = s.Effective // root may become anybody, without us
	}
	return uid, uid != s.Effective, nil
}

// ofTheLender are the common flags that say which spool and configuration are meant
// and what time it is. Who is lent an account has no say in them.
var ofTheLender = []string{"config", "spool", "now"}

// allow refuses what nobody may do with an account that is not theirs. given tells
// whether a common flag was given.
func (s Surroundings) allow(c Command, given func(flag string) bool) error {
	_, lent, err := s.caller()
	switch {
	case err != nil || !lent:
		return err
	case s.setUserID() && !c.SetUserID:
		return fmt.Errorf("set-user-ID: it would open files with another user's rights: call it by sudo -u instead")
	}
	for _, flag := range ofTheLender {
		if v := environment[flag]; os.Getenv(v) != "" {
			return Usagef("%s: not with an account that is lent to you%s", v, s.wayOut())
		}
		if given(flag) {
			return Usagef("-%s: not with an account that is lent to you%s", flag, s.wayOut())
		}
	}
	return nil
}

// wayOut says what somebody does who works in a shell of the account.
func (s Surroundings) wayOut() string {
	if s.setUserID() {
		return ""
	}
	return " by sudo; in a shell of its own, unset SUDO_UID"
}

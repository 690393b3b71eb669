package asuser

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// service is what a process of root's does that serves another account.
type service struct {
	account User
	least   int   // the lowest uid of users
	groups  []int // root's own further groups
}

var serving atomic.Pointer[service]

// Serve makes a process of root's act with the rights of an account from now on, in all its
// threads. Users are whoever has at least the uid least: root's rights are used for no other. A
// process that serves the account already has least changed. It is an error for root, and for an
// account that is a user itself: whoever owned it could act as any user. An error leaves the
// process with ids of which none may be relied upon: it has to end.
func Serve(account User, least int) error {
	if account.UID == 0 || account.UID >= least {
		return fmt.Errorf("%s (uid %d): want an account with a uid from 1 to %d", account.Name, account.UID, least-1)
	}
	next := &service{account: account, least: least}
	if s := serving.Load(); s != nil {
		if s.account.UID != account.UID {
			return fmt.Errorf("%s: the process serves %s", account.Name, s.account.Name)
		}
		next.groups = s.groups
		serving.Store(next)
		return nil
	}
	var err error
	if next.groups, err = os.Getgroups(); err != nil {
		return err
	}
	if err := syscall.Setgroups(account.Groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := syscall.Setresgid(0, account.GID, 0); err != nil {
		return os.NewSyscallError("setresgid", err)
	}
	if err := syscall.Setresuid(0, account.UID, 0); err != nil {
		return os.NewSyscallError("setresuid", err)
	}
	serving.Store(next)
	// A core file would have what was read with root's rights.
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}

// Served returns the account that this process of root's serves, and false if it serves none.
func Served() (account User, yes bool) {
	if s := serving.Load(); s != nil {
		return s.account, true
	}
	return account, false
}

// Privileged reports whether this process can act as any user: it is root's, whether or not it
// serves another account.
func Privileged() bool { return serving.Load() != nil || os.Geteuid() == 0 }

// Refusal returns why a process that serves an account does nothing with the rights of a user:
// system accounts, and root above all, are not the account's to act for. It is empty if it does, and
// for a process that serves none.
func Refusal(u User) string {
	s := serving.Load()
	switch {
	case s == nil || u.UID >= s.least:
		return ""
	case u.UID == 0:
		return fmt.Sprintf("it has root's rights, which no job has that comes from a spool of the account %s", s.account.Name)
	case u.UID == s.account.UID:
		return "the spool belongs to it, and no job has the rights to that"
	}
	return fmt.Sprintf("uid %d is below MIN_UID = %d: a system account's", u.UID, s.least)
}

// Root runs fn on a thread of its own with root's rights if the process serves an account, and else
// just runs it. fn must do its work itself and start no goroutine for that. The error is about the
// rights alone: fn was not run then.
func Root(fn func()) error {
	if serving.Load() == nil {
		fn()
		return nil
	}
	return User{Name: "root"}.onThread(BecomeRoot, func() error { fn(); return nil })
}

// BecomeRoot gives the calling thread root's rights for as long as it lives, if the process serves
// an account: the goroutine has to be locked to it, and to end so. For a thread that was the user's,
// too. The thread must not be the process's first one.
func BecomeRoot() error {
	s := serving.Load()
	if s == nil {
		return nil
	}
	// The uid comes first: root's may set the rest.
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, same, 0, same); e != 0 {
		return os.NewSyscallError("setresuid", e)
	}
	if err := unix.Setgroups(s.groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	return setIDs(same, same, 0, 0)
}

// Path is the PATH of programs that are started for an account or for root.
const Path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Start starts a command. If the process serves an account, the command has the ids of the
// account alone, and an environment that says no more than who that is.
func Start(c *exec.Cmd) error {
	s := serving.Load()
	if s == nil {
		return c.Start()
	}
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Credential = s.account.Credential()
	c.Env = s.account.environment()
	var err error
	if e := Root(func() { err = c.Start() }); e != nil {
		return e
	}
	return err
}

// Credential returns what exec.Cmd needs to start a process of a user's.
func (u User) Credential() *syscall.Credential {
	c := &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}
	for _, gid := range u.Groups {
		c.Groups = append(c.Groups, uint32(gid))
	}
	return c
}

func (u User) environment() []string {
	return []string{"PATH=" + Path, "HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name}
}

// Folders are where programs are looked for that are run for root, whatever its PATH is. Tests
// have others.
var Folders = strings.Split(Path, ":")

// Find returns the path of a program in Folders, and false if none has it.
func Find(name string) (path string, ok bool) {
	for _, folder := range Folders {
		path := folder + "/" + name
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path, true
		}
	}
	return "", false
}

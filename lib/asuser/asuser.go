// Package asuser does things with the rights of a user, for a process that runs as root, and
// knows who the users of this machine are.
//
// A user says where the log of a job is to be written, and root would write it
// anywhere. Linux knows the rights of each thread: the user's are taken on in a
// thread of its own, which is thrown away afterwards, so that nothing else ever
// runs with them and root's come back whatever happens.
//
// A process of root's that serves another account (Serve) is the other way round: all of it runs
// with the account's effective ids, and threads of their own have root's rights (Root) or a user's
// (Do). So what the process does not do as somebody else on purpose, it does with the rights of the
// account. The real and the saved ids stay root's on every thread: nobody but root can send
// the process signals, or trace it.
//
// Threads are not for processes to be started as a user, which would be half root's again: Start
// starts one that is the account's alone, and exec.Cmd's Credential one that is a user's.
//
// Users are looked up in /etc/passwd and /etc/group, and those that are not there
// by getent(1) and id(1): a static program cannot ask LDAP and its like itself.
package asuser

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Do runs fn with the rights to files of the user of that name: its uid, its
// group and its further groups. Files that fn makes belong to it. fn must do its
// work itself and start no goroutine for that. For a user whom this machine does not
// know standIn is meant, who must not be root; empty: there is none. Do returns what fn
// returns, or an error about the user when it could not become that: for somebody who is
// not known nothing is done as root.
//
// Where the process is not root's, or name is empty, fn is just run; so it is for root as
// the user, unless the process serves an account.
func Do(name, standIn string, fn func() error) error {
	if !Privileged() || name == "" {
		return fn()
	}
	u, known, err := LookUp(name)
	if err == nil && !known && standIn != "" {
		u, known, err = LookUp(standIn)
		known = known && u.UID != 0
	}
	switch {
	case err != nil:
		return fmt.Errorf("rights of %s: %w", name, err)
	case !known:
		return fmt.Errorf("rights of %s: this machine knows no such user", name)
	}
	return u.Do(fn)
}

// Do runs fn with the rights to files of a user, as the function Do does. Only the
// ids of the user count, and its name for the error. A process that serves an account does
// nothing for users whom Refusal refuses, but for the account itself.
func (u User) Do(fn func() error) error {
	s := serving.Load()
	switch {
	case !Privileged(), s == nil && u.UID == 0, s != nil && u.UID == s.account.UID:
		return fn()
	}
	if why := Refusal(u); why != "" {
		return fmt.Errorf("rights of %s: %s", u.Name, why)
	}
	return u.onThread(u.assume, fn)
}

// onThread changes the ids of a thread by assume, runs fn on it, and lets the thread end: the
// runtime throws away the thread of a goroutine that ends locked to it, and makes no other
// from it. Only the process's first thread it keeps, by which the whole process would be
// the user's for ps(1) and pkill(1): while that is locked, another one is found.
func (u User) onThread(assume, fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			done <- u.onThread(assume, fn)
			runtime.UnlockOSThread()
			return
		}
		if err := assume(); err != nil {
			done <- fmt.Errorf("rights of %s: %w", u.Name, err)
			return
		}
		done <- fn()
	}()
	return <-done
}

// assume gives the calling thread, and no other, the rights: the user's effective ids, which
// those for files follow. With them go the capabilities, without which a root's ids for files
// alone would still open settings of the kernel (/proc/sys), which go by the effective id, look
// into root's processes, and pass over quotas. The real and saved ids stay root's, so that the
// user can neither signal nor trace it. These are the system's own calls: those of
// package syscall would change all threads.
func (u User) assume() error {
	if err := BecomeRoot(); err != nil {
		return err
	}
	if err := unix.Setgroups(u.Groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	return setIDs(same, same, uintptr(u.GID), uintptr(u.UID))
}

// same, as an id, leaves that as it is.
const same = ^uintptr(0)

// setIDs sets the real and the effective ids of the calling thread.
func setIDs(realGroup, realUser, group, user uintptr) error {
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, realGroup, group, same); e != 0 {
		return os.NewSyscallError("setresgid", e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, realUser, user, same); e != 0 {
		return os.NewSyscallError("setresuid", e)
	}
	return nil
}

// Become gives the whole process the user's ids, real, effective and saved, and its groups: it has
// been root before, and never is again. For a process that is not root it fails.
func (u User) Become() error {
	if err := syscall.Setgroups(u.Groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := syscall.Setresgid(u.GID, u.GID, u.GID); err != nil {
		return os.NewSyscallError("setresgid", err)
	}
	return os.NewSyscallError("setresuid", syscall.Setresuid(u.UID, u.UID, u.UID))
}

// DoToProcesses runs fn on a thread of its own that counts as one of the user's where
// somebody's own processes are meant: it may set the limits of the user's processes
// (prlimit(2)). Root may do so in any case, but not the root of a container that lacks
// CAP_SYS_RESOURCE. Rights to files, and all others, stay those of root. Only the ids
// of the user count. fn must do its work itself and start no goroutine for that.
//
// While fn runs the user may send signals to that thread, and so to this process.
func (u User) DoToProcesses(fn func() error) error {
	if !Privileged() || u.UID == 0 {
		return fn()
	}
	assume := func() error {
		if err := BecomeRoot(); err != nil {
			return err
		}
		return setIDs(uintptr(u.GID), uintptr(u.UID), same, same)
	}
	return u.onThread(assume, fn)
}

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

// Package asuser acts with the rights of a user, for a process that runs as root, and
// looks up the users of this machine.
//
// A user names the file for the log of a job, and root could write to any file. Linux keeps rights by
// thread: a thread of its own takes on the user's rights and ends afterwards, so that no other code
// ever runs with them and root's come back whatever happens.
//
// In a process of root's that serves another account (Serve), all threads run
// with the account's effective ids, and threads of their own have root's rights (Root) or a user's
// (Do). So the process has the rights of the account unless it asks for others explicitly. The real and
// the saved ids stay root's on every thread: only root can send the process signals, or trace it.
//
// Processes are not started on such threads, as they would be root's in part: Start
// starts a process that is the account's alone, and exec.Cmd's Credential one that is a user's.
//
// Users are looked up in /etc/passwd and /etc/group, and those that are not there
// by getent(1) and id(1): a static program cannot ask LDAP and the like itself.
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

// Do runs fn with the rights to files of the user of that name: its uid, its group and its further
// groups. Files that fn makes belong to the user. fn must do its work itself and start no goroutine for
// that. standIn replaces a user that this machine does not know, and must not be root; empty: there is
// none. Do returns fn's error, or an error if it cannot take on the user's rights: it never runs fn as
// root for an unknown user.
//
// Do just runs fn if the process is not root's, or name is empty; also if the user is root, unless the
// process serves an account.
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
// ids of the user count, and its name for the error. In a process that serves an account, Do returns an
// error for users that Refusal refuses, except for the account itself.
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
// runtime ends the thread of a goroutine that ends locked to it, and makes no other from it. But it
// keeps the process's first thread, whose ids ps(1) and pkill(1) would take for the process's:
// onThread locks that one while it looks for another.
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

// assume gives the user's effective ids, which the ids for files follow, to the calling thread alone.
// The thread also loses its capabilities. With ids for files alone it could still open settings of the
// kernel (/proc/sys), which go by the effective id, look into root's processes, and exceed quotas. The
// real and saved ids stay root's, so that the user can neither signal nor trace the thread. These are
// raw system calls: those of package syscall would change all threads.
func (u User) assume() error {
	if err := BecomeRoot(); err != nil {
		return err
	}
	if err := unix.Setgroups(u.Groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	return setIDs(same, same, uintptr(u.GID), uintptr(u.UID))
}

// same, as an id, leaves the id unchanged.
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

// Become gives the whole process the user's ids, real, effective and saved, and its groups, for the rest
// of its life. It fails for a process that is not root's.
func (u User) Become() error {
	if err := syscall.Setgroups(u.Groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := syscall.Setresgid(u.GID, u.GID, u.GID); err != nil {
		return os.NewSyscallError("setresgid", err)
	}
	return os.NewSyscallError("setresuid", syscall.Setresuid(u.UID, u.UID, u.UID))
}

// DoToProcesses runs fn on a thread of its own that may set the limits of the user's processes
// (prlimit(2)), as the user's own processes may. Root may do so without it, but not the root of a
// container that lacks CAP_SYS_RESOURCE. All other rights, also to files, stay root's. Only the ids of
// the user count. fn must do its work itself and start no goroutine for that.
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

// service is the account that a process of root's serves.
type service struct {
	account User
	least   int   // the lowest uid of users
	groups  []int // root's own further groups
}

var serving atomic.Pointer[service]

// Serve makes a process of root's act with the rights of an account from now on, in all its
// threads. Root's rights serve only users with a uid of at least least. If the process serves the
// account already, Serve changes least. It is an error for root, and for an account that is a user
// itself, whose owner could act as any user. After an error the process must end: its ids are
// undefined.
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
	// A core file could have data that was read with root's rights.
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

// Refusal returns why a process that serves an account does not act with the rights of a user: it never
// acts as root or a system account. It is empty if the process does, or serves no account.
func Refusal(u User) string {
	s := serving.Load()
	switch {
	case s == nil || u.UID >= s.least:
		return ""
	case u.UID == 0:
		return fmt.Sprintf("it has root's rights, and root runs no such job from a spool of the account %s", s.account.Name)
	case u.UID == s.account.UID:
		return "it owns the spool, and no job runs with its rights"
	}
	return fmt.Sprintf("uid %d is below MIN_UID = %d: a system account's", u.UID, s.least)
}

// Root runs fn on a thread of its own with root's rights if the process serves an account, and otherwise
// just runs it. fn must do its work itself and start no goroutine for that. After an error, which is
// about the rights, fn has not run.
func Root(fn func()) error {
	if serving.Load() == nil {
		fn()
		return nil
	}
	return User{Name: "root"}.onThread(BecomeRoot, func() error { fn(); return nil })
}

// BecomeRoot gives the calling thread root's rights for the rest of its life if the process serves
// an account, also if the thread had a user's rights. The goroutine must be locked to the thread and end
// so. The thread must not be the process's first one.
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
// account alone, and an environment of PATH, HOME, USER and LOGNAME.
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

// Folders are the folders of programs that are run for root, whatever its PATH is. Tests set others.
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

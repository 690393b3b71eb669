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
	"runtime"
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

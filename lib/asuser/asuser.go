// Package asuser does things to files with the rights of a user, for a process
// that runs as root.
//
// A user says where the log of a job is to be written, and root would write it
// anywhere. Linux has rights to files that are apart from those of the process,
// and for a thread alone: they are taken on in a thread of its own, which is
// thrown away afterwards, so that nothing else ever runs with them and root's
// come back whatever happens.
//
// It is not for processes to be started, which would be root's again.
package asuser

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Do runs fn with the rights to files of the user of that name: its uid, its
// group and its further groups. Files that fn makes belong to it. fn must do its
// work itself and start no goroutine for that. Do returns what fn returns, or an
// error about the user when it could not become that.
//
// Where the process is not root, or the user is root or not known to this
// machine, fn is just run.
func Do(name string, fn func() error) error {
	if os.Geteuid() != 0 {
		return fn()
	}
	id, ok, err := lookUp(name)
	switch {
	case err != nil:
		return fmt.Errorf("rights of %s: %w", name, err)
	case !ok || id.uid == 0:
		return fn()
	}
	return id.do(name, fn)
}

// identity is whose rights are taken on.
type identity struct {
	uid, gid int
	groups   []int
}

// lookUp returns the ids of a user; false for one that is not known.
func lookUp(name string) (id identity, known bool, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		known, err = afterFailure(err)
		return id, known, err
	}
	if id.uid, err = strconv.Atoi(u.Uid); err != nil {
		return id, true, err
	}
	if id.gid, err = strconv.Atoi(u.Gid); err != nil {
		return id, true, err
	}
	groups, err := u.GroupIds()
	if err != nil {
		return id, true, err
	}
	for _, g := range groups {
		n, err := strconv.Atoi(g)
		if err != nil {
			return id, true, err
		}
		id.groups = append(id.groups, n)
	}
	return id, true, nil
}

// afterFailure returns what a user is that could not be looked up: unknown to this
// machine, or one of whom it cannot tell just now. What is done for that one must not
// be done as root.
func afterFailure(err error) (known bool, _ error) {
	var unknown user.UnknownUserError
	if errors.As(err, &unknown) {
		return false, nil
	}
	return true, err
}

// do runs fn on a thread that has the rights of the identity and ends with it:
// the runtime throws away the thread of a goroutine that ends locked to it, and
// makes no other from it.
func (id identity) do(name string, fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := id.assume(); err != nil {
			done <- fmt.Errorf("rights of %s: %w", name, err)
			return
		}
		done <- fn()
	}()
	return <-done
}

// assume gives the calling thread, and no other, the rights. These calls of
// package unix are the system's own: those of package syscall would change all
// threads.
func (id identity) assume() error {
	if err := unix.Setgroups(id.groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	// Both return no error, but the id from before: asked for one that nobody
	// has they tell what is in force.
	const nobody = -1
	unix.SetfsgidRetGid(id.gid)
	if gid, _ := unix.SetfsgidRetGid(nobody); gid != id.gid {
		return os.NewSyscallError("setfsgid", unix.EPERM)
	}
	unix.SetfsuidRetUid(id.uid)
	if uid, _ := unix.SetfsuidRetUid(nobody); uid != id.uid {
		return os.NewSyscallError("setfsuid", unix.EPERM)
	}
	return nil
}

// Package account has root serve the account that a spool belongs to.
package account

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/asuser"
	"fairspool/spool"
)

// Serve makes a process of root's act with the rights of the account that the spool belongs to, if
// that is not root. It acts on the spool with these rights, and takes root's back only for a job's
// process and its owner's files (package asuser). It fails if root must not do that for this
// account. For other users it fails if root's starter runs the jobs of the spool.
func Serve(c *cmdline.Call) error {
	dir, err := c.SpoolDir()
	if err != nil {
		return err
	}
	if !asuser.Privileged() {
		if spool.RunByRoot(dir) {
			return fmt.Errorf("spool %s: root's starter runs its jobs, as their owners: run this as root", dir)
		}
		return nil
	}
	uid, err := ownerOf(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("spool %s: %w", dir, cmdline.Cause(err))
	}
	if uid == 0 {
		return nil
	}
	account, known, err := asuser.LookUpID(uid)
	if err == nil && !known {
		err = errors.New("this machine knows no such user")
	}
	if err != nil {
		return fmt.Errorf("spool %s: belongs to uid %d: %w", dir, uid, err)
	}
	if uid >= c.Config.MinUID {
		return fmt.Errorf("spool %s: belongs to %s (uid %d), who could run jobs as any user if root ran them: root does so only for its own spool and for that of a system account, with a uid below MIN_UID = %d", dir, account.Name, uid, c.Config.MinUID)
	}
	if err := IsRoots(c); err != nil {
		return err
	}
	return asuser.Serve(account, c.Config.MinUID)
}

// IsRoots returns an error if users other than root may write to the configuration, which says for
// which users root acts, and what it runs.
func IsRoots(c *cmdline.Call) error {
	args, err := c.Common()
	if err != nil {
		return err
	}
	path := cmdline.Here().Config
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "-config" {
			path = args[i+1]
		}
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("configuration %s: %w", path, cmdline.Cause(err))
	}
	if about, ok := info.Sys().(*syscall.Stat_t); !ok || about.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("configuration %s: others than root may write to it, and root acts on it: chown root and chmod 644 it", path)
	}
	return nil
}

// ownerOf returns the uid that a file belongs to.
func ownerOf(path string) (uid int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	about, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return int(about.Uid), nil
}

// NoteRoot notes in the spool that root's starter runs its jobs, if this is one.
func NoteRoot(sp *spool.Spool) error {
	if _, serves := asuser.Served(); !serves {
		return nil
	}
	return sp.NoteRoot()
}

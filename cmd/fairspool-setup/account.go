package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

const oNoFollow = unix.O_NOFOLLOW | unix.O_DIRECTORY

// comment is the comment of an account in passwd(5) by which -undo knows one that was made here.
const comment = "fairspool, made by fairspool-setup"

// leastUser is the lowest uid that a user may have: root's starter serves no account from there on.
const leastUser = 1000

func (p *plan) accountStep() step {
	return step{
		what: "account " + p.account,
		look: func() (state, error) {
			u, known, err := asuser.LookUp(p.account)
			if err != nil || !known {
				return state{}, err
			}
			if u.UID == 0 || u.UID >= leastUser {
				err = &stepError{"account " + p.account, fmt.Sprintf("uid %d is not a system account's, from 1 to %d: name another with -account", u.UID, leastUser-1)}
			}
			return state{there: true, right: err == nil, ours: isCommented(p.account)}, err
		},
		made: "made",
		make: func() error {
			return either(
				[]string{"useradd", "--system", "--user-group", "--no-create-home", "--home-dir", p.spool, "--shell", "/usr/sbin/nologin", "--comment", comment, p.account},
				[]string{"addgroup", "-S", p.account},
				[]string{"adduser", "-S", "-D", "-H", "-h", p.spool, "-s", "/sbin/nologin", "-G", p.account, "-g", comment, p.account})
		},
		keeps: func() string {
			if _, err := os.Lstat(p.spool); err == nil && !(p.dry && p.spoolGoes()) {
				return "it has " + p.spool
			}
			return ""
		},
		removed: "removed",
		remove: func() error {
			err := either([]string{"userdel", p.account}, []string{"deluser", p.account})
			if _, there := entry("/etc/group", p.account); err == nil && there { // as login.defs(5) may want it
				err = either([]string{"groupdel", p.account}, []string{"delgroup", p.account})
			}
			return err
		},
	}
}

// isCommented reports whether an account of passwd(5) was made here.
func isCommented(account string) bool {
	f, ok := entry("/etc/passwd", account)
	return ok && len(f) == 7 && f[4] == comment
}

// entry returns the fields of the line of passwd(5) or group(5) that has a name.
func entry(file, name string) (fields []string, ok bool) {
	text, _ := os.ReadFile(file)
	for line := range bytes.Lines(text) {
		if f := strings.Split(string(line), ":"); f[0] == name {
			return f, true
		}
	}
	return nil, false
}

// spoolStep is the folder of the spool: the account's, and all may pass through to the door.
func (p *plan) spoolStep() step {
	const mode = 0o711
	return step{
		what: p.spool,
		look: func() (state, error) {
			if err := isRoots(filepath.Dir(p.spool)); err != nil {
				return state{}, &stepError{p.spool, err.Error() + ": name another place with -spool"}
			}
			info, err := os.Lstat(p.spool)
			if errors.Is(err, os.ErrNotExist) {
				return state{}, nil
			}
			if err != nil {
				return state{}, err
			}
			u, known, err := asuser.LookUp(p.account)
			owner := int(info.Sys().(*syscall.Stat_t).Uid)
			is := known && owner == u.UID
			switch {
			case err != nil:
			case !info.IsDir():
				err = &stepError{p.spool, "is there, and no folder: name another place with -spool"}
			case !is && len(entries(p.spool)) > 0:
				err = &stepError{p.spool, fmt.Sprintf("is there and belongs to uid %d: chown -R %s it when no job runs, or name another place with -spool", owner, p.account)}
			}
			return state{there: true, right: is && info.Mode().Perm() == mode, ours: is}, err
		},
		made: fmt.Sprintf("made, mode %#o, of %s", mode, p.account),
		make: func() error {
			u, known, err := asuser.LookUp(p.account)
			if err == nil && !known {
				err = fmt.Errorf("the machine does not know %s, which was made", p.account)
			}
			if err != nil {
				return err
			}
			return makeFolder(p.spool, mode, u.UID, u.GID)
		},
		keeps: func() string {
			if p.spoolGoes() {
				return ""
			}
			return "-purge removes it, with all jobs and accounts"
		},
		removed: "removed",
		remove:  func() error { return os.RemoveAll(p.spool) },
	}
}

// spoolGoes reports whether -undo removes the spool: one in which there is nothing goes in any case.
func (p *plan) spoolGoes() bool { return p.purge || len(entries(p.spool)) == 0 }

func entries(folder string) []os.DirEntry {
	list, _ := os.ReadDir(folder)
	return list
}

// poolStep is the pool in the spool, which is made as the account.
func (p *plan) poolStep() step {
	return step{
		what: "pool in " + p.spool,
		look: func() (state, error) {
			_, err := os.Stat(filepath.Join(p.spool, "VERSION"))
			return state{there: err == nil, right: err == nil}, nil
		},
		made: "made",
		make: func() error { return execute(p.programs.Program("qstat"), "-spool", p.spool) },
	}
}

// mayPurge is an error while jobs run that -purge would leave without a spool.
func (p *plan) mayPurge() error {
	if !p.purge {
		return nil
	}
	if out, err := quiet(p.programs.Program("qstat"), "-spool", p.spool, "-run", "-af", "ClusterId").Output(); err == nil && len(out) > 0 {
		return &stepError{"-purge", "jobs run: qdel -all and wait until they have left, or leave out -purge"}
	}
	return nil
}

// programsAreRoots is an error if others than root could change what units and crontabs run.
func (p *plan) programsAreRoots() error {
	for _, name := range []string{"serve", "starter", "negotiate", "qstat"} {
		path, err := filepath.EvalSymlinks(p.programs.Program(name))
		if err != nil {
			return &stepError{p.programs.Program(name), "is not there: install all programs of fairspool in one folder, and name it with -prefix"}
		}
		if err := isRoots(path); err != nil {
			return &stepError{path, err.Error() + ", and root would run it: install fairspool as root, in a folder that is root's"}
		}
	}
	return nil
}

// isRoots is an error if others than root may write to a file, or to a folder that leads to it. A
// group of the system's may.
func isRoots(path string) error {
	for ; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		s := info.Sys().(*syscall.Stat_t)
		if mode := info.Mode().Perm(); s.Uid != 0 || mode&0o002 != 0 || mode&0o020 != 0 && s.Gid >= leastUser {
			return errors.New("others than root may write to " + path)
		}
		if path == "/" {
			return nil
		}
	}
}

// either runs the first command if the machine has its program, and else all others.
func either(first []string, others ...[]string) error {
	if path, ok := find(first[0]); ok {
		return execute(path, first[1:]...)
	}
	for _, words := range others {
		path, ok := find(words[0])
		if !ok {
			return fmt.Errorf("neither %s nor %s is there", first[0], words[0])
		}
		if err := execute(path, words[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// folders are where the system's own programs are, whatever PATH is.
var folders = []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"}

func find(program string) (path string, ok bool) {
	for _, folder := range folders {
		path := folder + "/" + program
		if unix.Access(path, unix.X_OK) == nil {
			return path, true
		}
	}
	return "", false
}

// quiet returns a command with nothing of this process's environment.
func quiet(path string, args ...string) *exec.Cmd {
	c := exec.Command(path, args...)
	c.Dir, c.Env = "/", []string{"PATH=" + strings.Join(folders, ":"), "LC_ALL=C", "FAIRSPOOL_CYCLE_ON_CHANGE=false"}
	return c
}

// execute runs a command; its error says what the command has said.
func execute(path string, args ...string) error {
	out, err := quiet(path, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(path), err, bytes.TrimSpace(out))
	}
	return nil
}

package setup

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/asuser"
)

// step is a thing to make, or to remove. Functions that it lacks are nil.
type step struct {
	what string
	// look says how the thing is now. An error stops all before anything is done.
	look func() (state, error)
	// make makes it, which made says in the message.
	made string
	make func() error
	// keeps says why -undo leaves it, empty if it does not. remove removes it, which removed says.
	keeps   func() string
	removed string
	remove  func() error
}

// state is how a thing is.
type state struct {
	there bool // something is there
	right bool // it is as it has to be
	ours  bool // fairspool-setup has made it
}

// stepError is why a thing cannot be made or removed.
type stepError struct{ what, why string }

func (e *stepError) Error() string { return e.what + ": " + e.why }

// say tells what became of a thing; changed says that it was made or removed, or would be.
func (p *plan) say(what string, changed bool, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.did.Steps = append(p.did.Steps, doneStep{what, changed, text})
	p.print(what, text)
}

// advise says what to do by hand if systemd does not run the machine.
func (p *plan) advise(format string, args ...any) {
	p.did.Advice = fmt.Sprintf(format, args...)
	p.print("systemd does not run this machine", p.did.Advice)
}

func (p *plan) print(what, text string) {
	if !p.call.Has("json") {
		fmt.Fprintf(p.call.Stdout, "%s: %s\n", what, text)
	}
}

// make makes all that is not there, after a look whether all can be made.
func (p *plan) make() error {
	if err := p.programsAreRoots(); err != nil {
		return err
	}
	steps := p.steps()
	for _, s := range steps {
		if _, err := s.look(); err != nil {
			return err
		}
	}
	for _, s := range steps {
		now, err := s.look()
		switch {
		case err != nil:
			return err
		case now.right:
			p.say(s.what, false, "is there")
		case p.dry:
			p.say(s.what, true, "would be %s", s.made)
		default:
			if err := s.make(); err != nil {
				return &stepError{s.what, err.Error()}
			}
			p.say(s.what, true, "%s", s.made)
		}
	}
	if !p.systemd {
		p.advise("a line of an rc script starts the door and the jobs,\n    %s -watch -door -q &\nor lines of %s do, which start them again, too:\n    * * * * *    root  flock -n /run/lock/fairspool %[1]s -watch -door -q\n    */5 * * * *  root  %[3]s -q",
			p.programs.Program("starter"), "/etc/cron.d/fairspool", p.programs.Program("negotiate"))
	}
	return nil
}

// undo removes what fairspool-setup has made, the last first.
func (p *plan) undo() error {
	if err := p.mayPurge(); err != nil {
		return err
	}
	steps := p.steps()
	slices.Reverse(steps)
	for _, s := range steps {
		if s.remove == nil {
			continue
		}
		now, err := s.look()
		if err != nil && !now.there {
			return err
		}
		why := ""
		if s.keeps != nil {
			why = s.keeps()
		}
		switch {
		case !now.there:
			p.say(s.what, false, "is not there")
		case !now.ours:
			p.say(s.what, false, "stays: fairspool-setup has not made it so")
		case why != "":
			p.say(s.what, false, "stays: %s", why)
		case p.dry:
			p.say(s.what, true, "would be %s", s.removed)
		default:
			if err := s.remove(); err != nil {
				return &stepError{s.what, err.Error()}
			}
			p.say(s.what, true, "%s", s.removed)
		}
	}
	if p.stale {
		return systemctl("daemon-reload")
	}
	if !p.systemd {
		p.advise("end starter -watch -door, and remove its line from the rc script or the crontab")
	}
	return nil
}

// steps returns all things in the order of creation.
func (p *plan) steps() []step {
	list := []step{p.accountStep(), p.folder(configFolder), p.configStep(), p.spoolStep(), p.poolStep()}
	if !p.systemd {
		return list
	}
	for _, f := range p.files() {
		list = append(list, p.fileStep(f))
	}
	list = append(list, p.reloadStep())
	for _, unit := range enabled {
		list = append(list, p.unitStep(unit))
	}
	return list
}

// folder is a folder of root's that all may read.
func (p *plan) folder(path string) step {
	return step{
		what: path,
		look: func() (state, error) {
			info, err := os.Lstat(path)
			if errors.Is(err, os.ErrNotExist) {
				return state{}, nil
			}
			if err == nil && !info.IsDir() {
				err = &stepError{path, "is there, and no folder"}
			}
			return state{there: true, right: err == nil, ours: true}, err
		},
		made:    "made",
		make:    func() error { return makeFolder(path, 0o755, 0, 0) },
		keeps:   func() string { return p.otherThan(path, configFile) },
		removed: "removed",
		remove:  func() error { return os.Remove(path) },
	}
}

// otherThan says which entry of a folder is not goes, a file to be removed; empty: none.
func (p *plan) otherThan(path, goes string) string {
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if full := path + "/" + e.Name(); full != goes || !p.dry || !p.isUntouched(full) {
			return full + " is in it"
		}
	}
	return ""
}

// makeFolder makes a folder with an owner and a mode, whatever the umask.
func makeFolder(path string, mode os.FileMode, uid, gid int) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|oNoFollow, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chown(uid, gid); err != nil {
		return err
	}
	return f.Chmod(mode)
}

const oNoFollow = unix.O_NOFOLLOW | unix.O_DIRECTORY

// comment is the comment in passwd(5) by which -undo recognizes an account that was made here.
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
			if u, known, err := asuser.LookUp(p.account); err == nil && known {
				endProcesses(u.UID)
			}
			err := either([]string{"userdel", p.account}, []string{"deluser", p.account})
			if _, there := entry("/etc/group", p.account); err == nil && there { // as login.defs(5) may want it
				err = either([]string{"groupdel", p.account}, []string{"delgroup", p.account})
			}
			return err
		},
	}
}

// endProcesses kills the processes of an account, and waits until they have ended. podman(1) leaves one when it is asked whether it
// runs containers, and userdel(8) refuses to remove an account that has processes.
func endProcesses(uid int) {
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0) // before its owner is read: the number may be another process's later
		if err != nil {
			continue
		}
		status, _ := os.ReadFile(file)
		if bytes.Contains(status, fmt.Appendf(nil, "\nUid:\t%d\t", uid)) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
			for err = unix.EINTR; err == unix.EINTR; {
				_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
			}
		}
		unix.Close(fd)
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

// spoolGoes reports whether -undo removes the spool. It always removes an empty one.
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

// execute runs a command; its error includes the command's output.
func execute(path string, args ...string) error {
	out, err := quiet(path, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(path), err, bytes.TrimSpace(out))
	}
	return nil
}

//go:embed files
var templates embed.FS

// mark is the first line of files that fairspool-setup writes, by which -undo recognizes
// them.
const mark = "# Made by fairspool-setup, which writes it anew: changes belong in a file of their own (systemctl edit)."

// file is a file that is written as a whole.
type file struct{ path, text string }

// Places of the system's.
const unitFolder = "/etc/systemd/system/"

var units = []string{"fairspool.slice", "fairspool.socket", "fairspool@.service", "fairspool-starter.service", "fairspool-negotiate.service", "fairspool-negotiate.timer"}

// enabled are the units that are started now and at each boot.
var enabled = []string{"fairspool.socket", "fairspool-starter.service", "fairspool-negotiate.timer"}

// files returns the files for systemd.
func (p *plan) files() []file {
	list := []file{
		{"/etc/sysusers.d/fairspool.conf", p.text("sysusers.conf")},
		{"/etc/tmpfiles.d/fairspool.conf", p.text("tmpfiles.conf")},
	}
	for _, unit := range units {
		list = append(list, file{unitFolder + unit, p.text(unit)})
	}
	return list
}

// text returns the text of a template.
func (p *plan) text(name string) string {
	text, err := templates.ReadFile("files/" + name)
	if err != nil {
		panic(err)
	}
	line := "# SPOOL = \"" + p.spool + "\""
	if p.spool != usualSpool {
		line = line[2:]
	}
	return strings.NewReplacer("{mark}", mark, "{comment}", comment, "{account}", p.account, "{spool}", p.spool, "{spool line}", line,
		"{serve}", p.programs.Program("serve"), "{starter}", p.programs.Program("starter"), "{negotiate}", p.programs.Program("negotiate")).Replace(string(text))
}

func (p *plan) fileStep(f file) step {
	return step{
		what: f.path,
		look: func() (state, error) {
			text, err := os.ReadFile(f.path)
			if errors.Is(err, os.ErrNotExist) {
				return state{}, nil
			}
			ours := strings.HasPrefix(string(text), mark+"\n")
			if err == nil && !ours {
				err = &stepError{f.path, "is there, and fairspool-setup has not made it: remove it, and keep changes in a file of their own (systemctl edit)"}
			}
			return state{there: true, right: string(text) == f.text, ours: ours}, err
		},
		made:    "written",
		make:    func() error { p.stale = true; return writeFile(f) },
		removed: "removed",
		remove:  func() error { p.stale = true; return os.Remove(f.path) },
	}
}

// configStep is the configuration, which is the administrator's once it is there.
func (p *plan) configStep() step {
	return step{
		what: configFile,
		look: func() (state, error) {
			_, err := os.Stat(configFile)
			if errors.Is(err, os.ErrNotExist) {
				return state{}, nil
			}
			return state{there: true, right: err == nil, ours: p.isUntouched(configFile)}, err
		},
		made:    "written",
		make:    func() error { return writeFile(file{configFile, p.text("fairspool.toml")}) },
		removed: "removed",
		remove:  func() error { return os.Remove(configFile) },
	}
}

// isUntouched reports whether the configuration is as it was made.
func (p *plan) isUntouched(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && string(text) == p.text("fairspool.toml")
}

func writeFile(f file) error {
	if err := os.MkdirAll(parent(f.path), 0o755); err != nil {
		return err
	}
	if _, err := cmdline.Replace(f.path, 0o644, func(w io.Writer) error { _, err := io.WriteString(w, f.text); return err }); err != nil {
		return cmdline.Cause(err)
	}
	return os.Chmod(f.path, 0o644) // whatever the umask
}

func parent(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// reloadStep has systemd read the units that were written.
func (p *plan) reloadStep() step {
	return step{
		what: "systemd",
		look: func() (state, error) { return state{right: !p.stale && !p.anyStale()}, nil },
		made: "told of the units",
		make: func() error { return systemctl("daemon-reload") },
	}
}

// anyStale reports whether a unit is not written as it has to be, as in a dry run.
func (p *plan) anyStale() bool {
	for _, f := range p.files() {
		if text, _ := os.ReadFile(f.path); string(text) != f.text {
			return true
		}
	}
	return false
}

func (p *plan) unitStep(unit string) step {
	return step{
		what: unit,
		look: func() (state, error) {
			text, err := os.ReadFile(unitFolder + unit)
			there := err == nil
			right := there && systemctl("is-enabled", "--quiet", unit) == nil && systemctl("is-active", "--quiet", unit) == nil
			return state{there: there, right: right && !p.stale && !p.anyStale(), ours: strings.HasPrefix(string(text), mark+"\n")}, nil
		},
		made: "enabled and started",
		make: func() error {
			if err := systemctl("enable", "--quiet", unit); err != nil {
				return err
			}
			return systemctl("restart", unit) // one that runs as it was before, too
		},
		removed: "stopped and disabled",
		remove:  func() error { return systemctl("disable", "--quiet", "--now", unit) },
	}
}

func systemctl(args ...string) error {
	path, ok := find("systemctl")
	if !ok {
		return errors.New("systemctl is not there")
	}
	return execute(path, args...)
}

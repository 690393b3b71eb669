package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// step is a thing that is made, and removed. Its functions for what it does not have are nil.
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

func (p *plan) say(what, format string, args ...any) {
	fmt.Fprintf(p.call.Stdout, "%s: %s\n", what, fmt.Sprintf(format, args...))
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
			p.say(s.what, "is there")
		case p.dry:
			p.say(s.what, "would be %s", s.made)
		default:
			if err := s.make(); err != nil {
				return &stepError{s.what, err.Error()}
			}
			p.say(s.what, "%s", s.made)
		}
	}
	if !p.systemd {
		p.say("systemd does not run this machine", "a line of an rc script starts the door and the jobs,\n    %s -watch -door -q &\nor lines of %s do, which start them again, too:\n    * * * * *    root  flock -n /run/lock/fairspool %[1]s -watch -door -q\n    */5 * * * *  root  %[3]s -q",
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
			p.say(s.what, "is not there")
		case !now.ours:
			p.say(s.what, "stays: fairspool-setup has not made it so")
		case why != "":
			p.say(s.what, "stays: %s", why)
		case p.dry:
			p.say(s.what, "would be %s", s.removed)
		default:
			if err := s.remove(); err != nil {
				return &stepError{s.what, err.Error()}
			}
			p.say(s.what, "%s", s.removed)
		}
	}
	if p.stale {
		return systemctl("daemon-reload")
	}
	if !p.systemd {
		p.say("systemd does not run this machine", "end starter -watch -door, and remove its line from the rc script or the crontab")
	}
	return nil
}

// steps returns all things in the order in which they are made.
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

// otherThan says that a folder is not empty, but for a file that goes.
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

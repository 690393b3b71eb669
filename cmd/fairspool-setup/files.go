package main

import (
	"embed"
	"errors"
	"io"
	"os"
	"strings"

	"fairspool/cmd/internal/cmdline"
)

//go:embed files
var templates embed.FS

// mark is the first line of files that fairspool-setup writes, and by which -undo knows them.
const mark = "# Made by fairspool-setup, which writes it anew: changes belong in a file of their own (systemctl edit)."

// file is a file that is written as a whole.
type file struct{ path, text string }

// Places of the system's.
const unitFolder = "/etc/systemd/system/"

var units = []string{"fairspool.slice", "fairspool.socket", "fairspool@.service", "fairspool-starter.service", "fairspool-negotiate.service", "fairspool-negotiate.timer"}

// enabled are the units that are started now and at each boot.
var enabled = []string{"fairspool.socket", "fairspool-starter.service", "fairspool-negotiate.timer"}

// files returns what systemd is told.
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

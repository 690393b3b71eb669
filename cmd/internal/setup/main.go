// Package setup is fairspool-setup, which makes this machine's pool for all of its users.
package setup

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/onchange"
	"fairspool/lib/policy/registry"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:     "fairspool-setup",
		Brief:    "make this machine's pool for all of its users",
		Synopsis: []string{"[-dry-run] [-json] [-account NAME] [-spool DIR] [-prefix DIR]", "-undo [-purge] [-dry-run] [-json] [options]"},
		About: `Sets up a pool that all users of a machine share, and prints each step on a line: the system account that owns the spool, the spool, /etc/fairspool/fairspool.toml and, where systemd runs the machine, units that open the door and run jobs. Without systemd it prints the lines of an rc script and a crontab that do so. Root runs it once. It leaves what exists already unchanged: a second call changes nothing.

With -undo it removes what it has made, and nothing else. The spool and its account stay unless -purge is given.`,
		Flags: []cmdline.Flag{
			{Name: "json", Help: "print what is done as JSON"},
			{Name: "dry-run", Help: "print what would be done, and do nothing"},
			{Name: "undo", Help: "remove what was made"},
			{Name: "purge", Help: "-undo: also remove the spool, with all jobs and accounts, and the account that owns it"},
			{Name: "account", Args: []string{"NAME"}, Help: "the account that owns the spool (default fairspool)"},
			{Name: "spool", Args: []string{"DIR"}, Help: "the spool (default SPOOL of the configuration, else /var/spool/fairspool)"},
			{Name: "prefix", Args: []string{"DIR"}, Help: "the folder of fairspool's programs (default that of fairspool-setup)"},
		},
		Examples: []cmdline.Example{
			{Does: "show what would be done", Line: "fairspool-setup -dry-run"},
			{Does: "set the pool up", Line: "fairspool-setup"},
			{Does: "remove the units, and keep the spool", Line: "fairspool-setup -undo"},
			{Does: "remove everything, also the jobs and the accounts", Line: "fairspool-setup -undo -purge"},
		},
		WithoutSpool: true,
		Outputs:      func() []cmdline.Output { return []cmdline.Output{{Name: "fairspool-setup", Value: did{}}} },
		Run:          run,
	}
}

func run(c *cmdline.Call) error {
	p, err := read(c)
	if err != nil {
		return err
	}
	if c.Has("undo") {
		err = p.undo()
	} else {
		err = p.make()
	}
	if c.Has("json") && (err == nil || len(p.did.Steps) > 0) {
		p.did.DryRun = p.dry
		err = cmp.Or(err, c.JSON(p.did))
	}
	return err
}

// did is what -json prints.
type did struct {
	DryRun bool // nothing was done
	Steps  []doneStep
	Advice string `json:",omitempty"` // remaining steps to do by hand
}

// doneStep is one line of the result.
type doneStep struct {
	What    string // "account fairspool", or a file
	Changed bool   // it was made or removed, or would be
	Result  string // "made"
}

// The machine's places.
const (
	configFolder = "/etc/fairspool"
	configFile   = configFolder + "/fairspool.toml"
	usualSpool   = "/var/spool/fairspool"
)

// plan is the things to make, or to remove.
type plan struct {
	call     *cmdline.Call
	account  string
	spool    string
	programs onchange.Pool
	systemd  bool // systemd runs the machine
	dry      bool // nothing is done
	purge    bool // the spool is removed
	stale    bool // systemd has not read the units that were written
	did      did
}

var (
	accountName = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)
	// plainPath is a path that means the same in units, crontabs and the shell.
	plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_+-][A-Za-z0-9._+-]*)+$`)
)

// read makes a plan of the command line and the machine.
func read(c *cmdline.Call) (*plan, error) {
	p := &plan{call: c, account: "fairspool", spool: usualSpool, dry: c.Has("dry-run"), purge: c.Has("purge"), did: did{Steps: []doneStep{}}}
	switch {
	case len(c.Args) > 0:
		return nil, cmdline.Usagef("%s: fairspool-setup takes no arguments; see fairspool-setup -help", c.Args[0])
	case p.purge && !c.Has("undo"):
		return nil, cmdline.Usagef("-purge: only with -undo")
	}
	cfg, err := registry.Load(configFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if cfg.Spool != "" {
		p.spool = cfg.Spool
	}
	if c.Has("account") {
		if p.account = c.Value("account"); !accountName.MatchString(p.account) {
			return nil, cmdline.Usagef("-account: %q: want a login name of small letters, digits, _ and -", p.account)
		}
	}
	if c.Has("spool") {
		p.spool = filepath.Clean(c.Value("spool"))
		if err == nil && cfg.Spool != p.spool && (cfg.Spool != "" || p.spool != usualSpool) {
			return nil, &stepError{configFile, "its SPOOL is not " + p.spool + ", which the commands would not find: set SPOOL there first"}
		}
	}
	folder, prefix, ok := onchange.Siblings(c.Name)
	if c.Has("prefix") {
		folder = filepath.Clean(c.Value("prefix"))
	} else if !ok {
		return nil, errors.New("the programs of fairspool are not in the folder of fairspool-setup: name their folder with -prefix DIR")
	}
	p.programs = onchange.Pool{Programs: folder, Prefix: prefix}
	for flag, path := range map[string]string{"spool": p.spool, "prefix": folder} {
		if !plainPath.MatchString(path) {
			return nil, cmdline.Usagef("-%s: %q: want an absolute path of letters, digits, . _ + and -", flag, path)
		}
	}
	_, err = os.Stat("/run/systemd/system")
	p.systemd = err == nil
	if os.Geteuid() != 0 && !p.dry {
		return nil, errors.New("only root makes a pool for all users: call it as root, or with -dry-run")
	}
	return p, nil
}

package cmdline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/door"
	"fairspool/cmd/internal/onchange"
	"fairspool/lib/asuser"
	"fairspool/lib/config"
	"fairspool/lib/family"
	"fairspool/lib/policy/registry"
	"fairspool/spool"
)

// The places of the whole machine. A user without access to them has places
// of their own, by the XDG base directory specification.
const (
	systemConfig = "/etc/fairspool/fairspool.toml"
	systemSpool  = "/var/spool/fairspool"
)

// loadConfig reads the configuration: the named file, which has to be there,
// else the machine's, else the user's own, else the defaults.
func (s Surroundings) loadConfig(named string) (config.Config, error) {
	if named != "" {
		return load(named)
	}
	places := []string{s.Config}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "fairspool", "fairspool.toml"))
	}
	for _, path := range places {
		if c, err := load(path); !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	return registry.Default(), nil
}

func load(path string) (config.Config, error) {
	c, err := registry.Load(path)
	var at *fs.PathError
	if errors.As(err, &at) {
		return c, fmt.Errorf("configuration %s: %w", path, at.Err)
	}
	return c, err
}

// SpoolDir returns the directory of the spool, which need not exist yet. It fails where the
// machine has a pool that the caller cannot use, and no other one was chosen.
func (c *Call) SpoolDir() (string, error) {
	around := c.surroundings()
	switch {
	case c.dir != "":
		return c.dir, nil
	case c.Config.Spool != "":
		return c.Config.Spool, nil
	case usable(around.Spool) || isSocket(filepath.Join(around.Spool, door.SocketName)):
		return around.Spool, nil
	}
	if err := around.closed(); err != nil {
		return "", err
	}
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no place for the spool: %w; name one with -spool", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "fairspool"), nil
}

// closed returns an error if the machine's spool is there, which the caller may not write to,
// with what to do.
func (s Surroundings) closed() error {
	info, err := os.Stat(s.Spool)
	if err != nil {
		return nil
	}
	const own = "or choose a pool of your own with -spool DIR or FAIRSPOOL_DIR"
	stat, ok := info.Sys().(*syscall.Stat_t)
	_, err = os.Stat(filepath.Join(s.Spool, versionFile))
	switch {
	case !ok || !info.IsDir() || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s, the place of this machine's pool, has no pool, and you may not make one there: ask for one, %s", s.Spool, own)
	case int(stat.Uid) == s.UID:
		return fmt.Errorf("%s, this machine's pool, belongs to you, but you may not write to it: chmod u+rwx it, %s", s.Spool, own)
	}
	return fmt.Errorf("%s, this machine's pool, belongs to %s and has no door for other users: its administrator makes one with fairspool-setup, %s", s.Spool, s.called(int(stat.Uid)), own)
}

// called returns the login name of a uid, or the number as sudo takes it.
func (s Surroundings) called(uid int) string {
	name, err := s.UserName(uid)
	if err != nil {
		return "#" + strconv.Itoa(uid)
	}
	return name
}

// Private reports whether the spool in an absolute directory is the caller's own, and not one
// that an account keeps for a machine's users under an administrator. Root's own is private
// wherever it is.
func (c *Call) Private(dir string) bool {
	around := c.surroundings()
	return (dir != around.Spool || around.UID == 0) && around.Session == nil
}

// usable reports whether the caller may write to the directory, or create it.
func usable(dir string) bool {
	err := unix.Access(dir, unix.W_OK|unix.X_OK)
	if errors.Is(err, fs.ErrNotExist) {
		err = unix.Access(filepath.Dir(dir), unix.W_OK|unix.X_OK)
	}
	return err == nil
}

// leaveRoot changes from root to the account of the spool, irrevocably, if the spool belongs to
// another account. So no file in the spool becomes root's.
func (c *Call) leaveRoot() error {
	around := c.surroundings()
	if around.UID != 0 {
		return nil
	}
	dir, err := c.SpoolDir()
	if err != nil {
		return nil // which is said when the spool is to be opened
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 {
		return nil
	}
	u, known, err := asuser.LookUpID(int(stat.Uid))
	if err == nil && !known {
		err = fmt.Errorf("uid %d has no login name on this machine", stat.Uid)
	}
	if err == nil {
		err = u.Become()
	}
	if err != nil {
		return fmt.Errorf("spool %s: rights of its account: %w", dir, err)
	}
	return nil
}

// SpoolOptions returns how the command opens a spool, for functions of package spool that
// take a directory.
func (c *Call) SpoolOptions() spool.Options {
	return spool.Options{
		Program:      c.Name,
		UIDDomain:    c.Config.UIDDomain,
		LockWait:     c.lockWait,
		AllowNetwork: c.Config.AllowNetworkSpool,
		Now:          c.Now,
		User:         c.doorUser(),
		Sight:        c.sight(),
		Reserve:      spool.ReserveSize,
		OwnSignals:   c.Name == "starter",
		Warn:         func(message string) { c.Warn("%s", message) },
	}
}

// sight returns the function that says what the caller may see of an owner's jobs; nil:
// the caller sees all.
func (c *Call) sight() func(owner string) spool.Sight {
	if !c.ThroughDoor() {
		return nil
	}
	who, err := c.Caller()
	if err == nil && who.Admin {
		return nil
	}
	others := spool.Whole
	switch {
	case c.Config.QueueVisible == "own":
		others = spool.Unlisted
	case c.Config.DetailsVisible == "own":
		others = spool.Outline
	default:
		return nil
	}
	return func(owner string) spool.Sight {
		if who.May(owner) {
			return spool.Whole
		}
		return others
	}
}

// OwnJobsOnly reports whether the caller may have no jobs listed but their own.
func (c *Call) OwnJobsOnly() bool {
	see := c.sight()
	return see != nil && see("") == spool.Unlisted
}

// doorUser returns the login name of a caller through the door, empty without.
func (c *Call) doorUser() string {
	if s := c.surroundings().Session; s != nil {
		return s.Peer.Name
	}
	return ""
}

// ExistingSpool does as Spool, but fails where no spool is instead of making one.
func (c *Call) ExistingSpool() (*spool.Spool, error) {
	dir, err := c.ExistingDir()
	if err != nil {
		return nil, err
	}
	// The VERSION is written last: opening what lacks it would make a spool.
	if _, err := os.Stat(filepath.Join(dir, versionFile)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("VERSION is missing: see the rest with spool check, save it with spool salvage")
		}
		return nil, fmt.Errorf("spool %s: %w", dir, Cause(err))
	}
	return c.open(dir, c.SpoolOptions())
}

// ExistingDir returns the absolute directory of the spool. It fails if the directory
// holds nothing of a spool; a damaged spool is no error.
func (c *Call) ExistingDir() (string, error) {
	dir, err := c.SpoolDir()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", err
	}
	return dir, spool.Find(dir)
}

const versionFile = "VERSION"

// cycleOnChange is the variable that turns CYCLE_ON_CHANGE off for a command.
const cycleOnChange = "FAIRSPOOL_CYCLE_ON_CHANGE"

// Changed starts a cycle and a pass of starter, once the command's changes of the queue are
// committed, unless CYCLE_ON_CHANGE is off. It warns of a cycle that cannot be started.
func (c *Call) Changed() {
	if c.Trial == nil {
		c.starting(onchange.Pool.Changed)
	}
}

// revive starts a cycle that another command has left to be started. Without one, that costs
// next to nothing.
func (c *Call) revive() {
	if dir, err := c.SpoolDir(); err == nil && onchange.Left(dir) {
		c.starting(onchange.Pool.Revive)
	}
}

// starting calls a function that may start a driver, where changes do so at all. The driver is not
// waited for: it outlives this process.
func (c *Call) starting(start func(onchange.Pool) (*exec.Cmd, error)) {
	p, ok, err := c.OnChange()
	if err == nil && ok {
		_, err = start(p)
	}
	if err != nil {
		c.Warn("warning: no cycle was started: %v; run negotiate, and then starter", Cause(err))
	}
}

// OnChange returns the pool in which changes start cycles. It returns false if CYCLE_ON_CHANGE is
// off, the call's time is the user's own, or the other programs are not found.
func (c *Call) OnChange() (p onchange.Pool, ok bool, err error) {
	on, err := c.cycleOnChange()
	if err != nil || !on || c.simulated {
		return p, false, err
	}
	program := c.Name
	if c.ThroughDoor() && c.surroundings().Program != "" {
		program = c.surroundings().Program
	}
	if p.Programs, p.Prefix, ok = onchange.Siblings(program); !ok {
		return p, false, nil
	}
	common, err := c.Common()
	if err != nil {
		return p, false, err
	}
	p.Dir, p.Args = common[1], withoutLockWait(common)
	p.Notes = family.Inside()
	p.Env, err = environmentOfOwner(c.ThroughDoor())
	return p, err == nil, err
}

// cycleOnChange returns CYCLE_ON_CHANGE of the configuration, false if the environment turns it off.
func (c *Call) cycleOnChange() (bool, error) {
	text := os.Getenv(cycleOnChange)
	if text == "" {
		return c.Config.CycleOnChange, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s: %q: want true or false", cycleOnChange, text)
	}
	return on && c.Config.CycleOnChange, nil
}

// withoutLockWait leaves out of common flags how long this command may wait for a locked spool:
// no process waits for a driver.
func withoutLockWait(common []string) (args []string) {
	for i := 0; i+1 < len(common); i += 2 {
		if common[i] != "-lock-wait" {
			args = append(args, common[i:i+2]...)
		}
	}
	return args
}

// ownersPath is where programs are looked for that act for the spool's account alone.
const ownersPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environmentOfOwner returns the environment of a process that acts for the spool's owner alone:
// this process's without the variables of common flags, which are given as flags. Through the door
// it takes nothing from the caller.
func environmentOfOwner(throughDoor bool) (env []string, err error) {
	if throughDoor {
		u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
		if err != nil {
			return nil, err
		}
		return []string{"PATH=" + ownersPath, "HOME=" + u.HomeDir, "USER=" + u.Username, "LOGNAME=" + u.Username}, nil
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !isCommon(name) {
			env = append(env, entry)
		}
	}
	return env, nil
}

// isCommon reports whether a variable is behind a common flag.
func isCommon(variable string) bool {
	for _, v := range environment {
		if v == variable {
			return true
		}
	}
	return false
}

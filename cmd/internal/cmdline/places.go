package cmdline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/lib/config"
)

// The places of the whole machine. A user without access to them has places
// of their own, by the XDG base directory specification.
const (
	systemConfig = "/etc/fairspool/fairspool.toml"
	systemSpool  = "/var/spool/fairspool"
)

// loadConfig reads the configuration: the named file, which has to be there,
// else the machine's, else the user's own, else the defaults. Who is lent an account
// has none of their own there.
func (s Surroundings) loadConfig(named string) (config.Config, error) {
	if named != "" {
		return load(named)
	}
	places := []string{s.Config}
	if dir, err := os.UserConfigDir(); err == nil && !s.lent() {
		places = append(places, filepath.Join(dir, "fairspool", "fairspool.toml"))
	}
	for _, path := range places {
		if c, err := load(path); !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	return config.Default(), nil
}

func load(path string) (config.Config, error) {
	c, err := config.Load(path)
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
	case usable(around.Spool) || around.lent():
		return around.Spool, nil
	}
	if err := around.closed(c.Name); err != nil {
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
// with how the command is let in.
func (s Surroundings) closed(command string) error {
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
	case int(stat.Uid) == s.Effective:
		return fmt.Errorf("%s, this machine's pool, belongs to you, but you may not write to it: chmod u+rwx it, %s", s.Spool, own)
	case stat.Uid == 0 && command == "submit":
		return s.belongs(0, "sudo submit -owner "+s.called(s.Effective)+" ...", own)
	case stat.Uid == 0:
		return s.belongs(0, "sudo "+command+" ...", own)
	}
	return s.belongs(int(stat.Uid), "sudo -u "+s.called(int(stat.Uid))+" "+command+" ...", own)
}

// belongs says to which account the machine's pool belongs, how to use it, and what else to do.
func (s Surroundings) belongs(uid int, use, own string) error {
	return fmt.Errorf("%s, this machine's pool, belongs to %s, and you are %s: use it by %s, %s", s.Spool, s.called(uid), s.called(s.Effective), use, own)
}

// called returns the login name of a uid, or the number as sudo takes it.
func (s Surroundings) called(uid int) string {
	name, err := s.UserName(uid)
	if err != nil {
		return "#" + strconv.Itoa(uid)
	}
	return name
}

// Private reports whether the spool in an absolute directory is the caller's own: not one that
// an account keeps for a machine's users, whose administrator sees to it. Root's own is private
// wherever it is.
func (c *Call) Private(dir string) bool {
	around := c.surroundings()
	return (dir != around.Spool || around.Effective == 0) && !around.lent()
}

// usable tells whether the caller may write to the directory, or make it
// where there is none.
func usable(dir string) bool {
	err := unix.Access(dir, unix.W_OK|unix.X_OK)
	if errors.Is(err, fs.ErrNotExist) {
		err = unix.Access(filepath.Dir(dir), unix.W_OK|unix.X_OK)
	}
	return err == nil
}

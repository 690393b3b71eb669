package cmdline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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

// SpoolDir returns the directory of the spool, which need not exist yet.
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

// Private reports whether the spool in an absolute directory is the caller's own and not
// the machine's, which an administrator sees to.
func (c *Call) Private(dir string) bool {
	around := c.surroundings()
	return dir != around.Spool && !around.lent()
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

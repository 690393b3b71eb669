package cmdline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fairspool/spool"
)

// SpoolOptions returns how the command opens a spool, for those of the spool's
// functions that take a directory.
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

// sight returns what the caller may see of jobs of an owner, nil for all.
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

// ExistingSpool does as Spool, but fails where no spool is instead of making
// one. With older it opens one of an older format too, for looking only.
func (c *Call) ExistingSpool(older bool) (*spool.Spool, error) {
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
	o := c.SpoolOptions()
	o.Older = older
	return c.open(dir, o)
}

// ExistingDir returns the directory of the spool, absolute, and fails where
// nothing of a spool is. What is there may be damaged.
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

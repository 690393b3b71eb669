package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/spool"
)

// follow is starter -watch.
func follow(c *cmdline.Call) error {
	signals := make(chan os.Signal, 4) // from now on, as its first pass may take a while
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	sp, host, err := here(c)
	if err != nil {
		return err
	}
	err = sp.Watching(host, func() error { return watchOver(c, sp, host, signals) })
	if err != nil && spool.Gone(sp.Dir()) {
		return errSpoolGone // whatever was missing of it first
	}
	return err
}

// watchOver starts what is matched on this machine until a signal ends it.
func watchOver(c *cmdline.Call, sp *spool.Spool, host string, signals <-chan os.Signal) error {
	if err := reopenStopped(c, sp, host); err != nil {
		return err
	}
	f, err := newFollower(c, sp, host)
	if err != nil {
		return err
	}
	f.starts = true
	if err := f.followCycles(); err != nil {
		return err
	}
	if err := f.tellClosed(); err != nil {
		return err
	}
	if c.Has("door") {
		shut, err := openDoor(c, sp.Dir())
		if err != nil {
			return err
		}
		defer shut()
	}
	notify("READY=1")
	return left(f.loop(signals, passEvery))
}

// here returns the spool and the name of this machine.
func here(c *cmdline.Call) (*spool.Spool, string, error) {
	host, err := c.Hostname()
	if err != nil {
		return nil, "", err
	}
	sp, err := c.Spool()
	if err == nil {
		sp.FollowDomain()
	}
	return sp, host, err
}

// reopenStopped opens a machine that the stop of another watch has drained. One that
// somebody has drained stays so.
func reopenStopped(c *cmdline.Call, sp *spool.Spool, host string) error {
	stopped := func(v *spool.View) bool { d, _ := operation.DrainOf(v, host); return d.Stopped }
	is := false
	if err := sp.View(func(v *spool.View) error { is = stopped(v); return nil }); err != nil || !is {
		return err
	}
	return operation.Account(sp, c.Reading(), c.Warn, func(tx *spool.Tx) error {
		if stopped(&tx.View) {
			operation.Reopen(tx, host)
		}
		return nil
	})
}

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/family"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// familyOf returns what the processes of an attempt are kept together by. Those of a job of
// the standard universe may be made again in a later attempt, with the environment that
// they had, so that all of its attempts have one name.
func familyOf(cfg *config.Config, sp *spool.Spool, claim pool.Claim, ad *classad.Ad) family.Options {
	name := claim.LockName()
	if ad != nil && isStandard(ad) {
		name = claim.Job.String()
	}
	return family.Options{Name: familyPrefix(sp) + name, Base: cfg.BaseCgroup}
}

func isStandard(ad *classad.Ad) bool {
	n, ok := ad.EvalInt(&classad.Context{}, pool.AttrJobUniverse)
	return ok && pool.Universe(n) == pool.Standard
}

// familyPrefix begins the names of the families of a spool. Copies of a spool have its id,
// and claims of the same names, so that its directory is part of it.
func familyPrefix(sp *spool.Spool) string {
	dir := sp.Dir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(sp.ID() + "\x00" + dir))
	return fmt.Sprintf("%x-", sum[:8])
}

// sweepCgroups removes the cgroups of attempts whose supervisors died when all had ended.
// A supervisor has its lock file for as long as it has a cgroup.
func sweepCgroups(cfg *config.Config, sp *spool.Spool) {
	prefix := familyPrefix(sp)
	family.Sweep(cfg.BaseCgroup, func(group string) bool {
		name, ours := strings.CutPrefix(group, prefix)
		if !ours {
			return true
		}
		if _, err := parseAttempt(name); err != nil {
			locks, err := filepath.Glob(sp.ClaimLock(name + ".*")) // of any attempt of the job
			return err != nil || len(locks) > 0
		}
		_, err := os.Lstat(sp.ClaimLock(name))
		return !errors.Is(err, os.ErrNotExist)
	})
}

// killLeft kills what is left of a job whose supervisor is gone, until none of it has the claim's pipe
// open any more. It has the patience to go.
func killLeft(lock *claimLock, o family.Options, patience time.Duration) error {
	if _, err := family.Survivors(o, patience); err != nil {
		return fmt.Errorf("%s, and %w", supervisorDied, err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		alive, err := lock.isAlive()
		if err != nil || !alive {
			return err
		}
		if killed := family.EndHolders(lock.pipePath()); time.Now().After(end) {
			return fmt.Errorf("%s, and %d processes of the job are still there %v after SIGKILL", supervisorDied, killed, patience)
		}
	}
}

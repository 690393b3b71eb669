package health

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Of looks at the spool that a command line names, and does not make one. Damage is a finding; the
// error says that nothing can be told.
func Of(c *cmdline.Call) ([]Finding, error) {
	s, err := c.ExistingSpool(false)
	var found []Finding
	if err == nil {
		found, err = In(c, s)
	}
	if damage := new(spool.DamageError); errors.As(err, &damage) {
		return []Finding{{Code: Damage, Severity: Critical, Stops: true, What: legible(damage),
			Remedy: "spool check says what else is damaged, and spool(5) what to do"}}, nil
	}
	return found, err
}

// In looks at a spool that is open. The error may be a *spool.DamageError.
func In(c *cmdline.Call, s *spool.Spool) (found []Finding, err error) {
	f, err := Gather(c, s)
	if err == nil {
		f.Died, err = died(s, f.Host)
	}
	if err == nil {
		err = s.View(func(v *spool.View) (err error) { found, err = Look(v, f); return err })
	}
	return found, err
}

// Gather returns the facts of a spool, but for Died.
func Gather(c *cmdline.Call, s *spool.Spool) (f Facts, err error) {
	f = Facts{
		At: c.Reading(), Clock: time.Now(), Events: joblog.Unwritten(s),
		Patience: c.Config.HealthTimeout, ClaimTimeout: c.Config.Cycle.RequestClaimTimeout,
	}
	if f.Host, err = c.Hostname(); err != nil {
		return f, err
	}
	if f.Disk, err = diskOf(s.Dir()); err != nil {
		return f, err
	}
	if _, f.OnChange, err = c.OnChange(); err == nil && f.OnChange {
		f.Trouble, f.Troubled, err = onchange.Trouble(s.Dir())
	}
	if err != nil {
		return f, err
	}
	if f.Served, err = s.Served(); err != nil {
		return f, err
	}
	if f.Holders, err = s.Holders(); err != nil {
		return f, err
	}
	report, err := s.Report()
	if err == nil && report != nil {
		f.Cycled, err = timeOf(report)
	}
	f.Report = err
	return f, nil
}

// diskOf returns what the file system of a folder has for its owner.
func diskOf(dir string) (Disk, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return Disk{}, fmt.Errorf("%s: %w", dir, err)
	}
	block := uint64(st.Bsize)
	return Disk{Size: st.Blocks * block, Free: st.Bavail * block, Files: st.Files, FreeFiles: st.Ffree}, nil
}

// timeOf returns when the cycle of a report was.
func timeOf(report []byte) (time.Time, error) {
	head, err := operation.HeadOf(report)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("cycle.json: %w", err)
	case head.Time == 0:
		return time.Time{}, errors.New("cycle.json: it has no Time")
	}
	return time.Unix(head.Time, 0), nil
}

// died returns the claims on a machine that have no supervisor, by their LockName. A supervisor
// that has just ended had one: what a later view still shows as such a claim has none.
func died(s *spool.Spool, host string) (map[string]bool, error) {
	var here []pool.Claim
	err := s.View(func(v *spool.View) error {
		for _, c := range v.Claims() {
			if supervised(c) && strings.EqualFold(c.Machine, host) {
				here = append(here, c)
			}
		}
		return nil
	})
	all := map[string]bool{}
	for _, c := range here {
		locked, e := s.ClaimLocked(c.LockName())
		if e != nil {
			return nil, e
		}
		all[c.LockName()] = !locked
	}
	return all, err
}

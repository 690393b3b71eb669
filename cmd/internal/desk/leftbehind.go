package desk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"fairspool/cmd/internal/claimlock"
	"fairspool/lib/family"
	"fairspool/lib/launch/local"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// LeftBehind is what attempts and jobs have left on the disk and may no longer need.
type LeftBehind struct {
	desks    *Desks
	attempts map[string]bool       // with a lock file or a scratch directory
	kept     map[string]pool.JobID // directories with kept files of jobs
}

// LeftBehind looks for what there is. It has to be called before the view that
// says which claims and jobs there are: they are older than their files.
func (n *Desks) LeftBehind() LeftBehind {
	attempts, kept := n.machine.Folder.Entries()
	l := LeftBehind{n, lockFiles(n.Spool), kept}
	for _, name := range attempts {
		l.attempts[name] = true
	}
	return l
}

// Spare takes out what claims and jobs still need.
func (l LeftBehind) Spare(v *spool.View, claims []pool.Claim) {
	for _, claim := range claims {
		delete(l.attempts, claim.LockName())
	}
	for name, id := range l.kept {
		if _, ok := v.Job(id); ok {
			delete(l.kept, name)
		}
	}
}

// Sweep removes the rest, and empty cgroups: a supervisor died between ending its claim and cleaning
// up. What another process holds the lock of is left alone.
func (l LeftBehind) Sweep() {
	for name := range l.attempts {
		if lock, err := claimlock.Open(l.desks.Spool.ClaimLock(name)); err == nil {
			l.desks.machine.Folder.Remove(name) // what stays is for the next pass
			lock.Leave()
		}
	}
	for name := range l.kept {
		l.desks.machine.Folder.Remove(name)
	}
	sweepCgroups(l.desks.machine, l.desks.Spool)
}

// lockFiles returns the names of all claims' files.
func lockFiles(sp *spool.Spool) map[string]bool {
	entries, _ := os.ReadDir(sp.ClaimLock(""))
	names := map[string]bool{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), claimlock.PipeName)
		if _, err := pool.ParseAttempt(name); err == nil {
			names[name] = true
		}
	}
	return names
}

// sweepCgroups removes the empty cgroups of attempts whose supervisors have died.
// A supervisor has its lock file for as long as it has a cgroup.
func sweepCgroups(on local.Settings, sp *spool.Spool) {
	family.Sweep(on.Base, func(group string) bool {
		name, ours := strings.CutPrefix(group, on.Prefix)
		if !ours {
			return true
		}
		if _, err := pool.ParseAttempt(name); err != nil {
			locks, err := filepath.Glob(sp.ClaimLock(name + ".*")) // of any attempt of the job
			return err != nil || len(locks) > 0
		}
		_, err := os.Lstat(sp.ClaimLock(name))
		return !errors.Is(err, os.ErrNotExist)
	})
}

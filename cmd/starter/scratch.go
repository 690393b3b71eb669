package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/config"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// keptName ends the name of the directory with what an attempt has left for the
// job's next one.
const keptName = ".kept"

// imagesName ends the name of the directory with the images of a job's processes.
const imagesName = ".images"

// scratchFolder returns the folder in which the jobs of a spool have their scratch
// directories, each named after its attempt. EXECUTE may serve several spools,
// whose jobs have the same ids; one spool has one folder by whatever path it is
// reached.
func scratchFolder(cfg *config.Config, sp *spool.Spool) string {
	if cfg.Execute == "" {
		return filepath.Join(sp.Dir(), "execute")
	}
	dir := sp.Dir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(cfg.Execute, fmt.Sprintf("spool-%x", sum[:6]))
}

// makeFolder makes the folder of the scratch directories, if it is missing. Users whose
// jobs root runs have to get through it to their own, and through the spool if it is there.
func makeFolder(folder string) error {
	err := launch.MakeFolder(folder)
	if err != nil || !asuser.Privileged() {
		return err
	}
	if parent := filepath.Dir(folder); !spool.Gone(parent) {
		err = letThrough(parent, 0)
	}
	return errors.Join(err, letThrough(folder, unix.O_NOFOLLOW))
}

// letThrough lets everybody through a folder of ours to what they know the name of there:
// each is closed by its own mode to those whom it does not concern. The folder is opened
// with further flags of open(2).
func letThrough(folder string, flags int) error {
	f, err := os.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY|flags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	const through = 0o011
	info, err := f.Stat()
	if err != nil || info.Mode().Perm()&through == through {
		return err
	}
	return f.Chmod(info.Mode().Perm() | through)
}

// removeScratch removes what has a name in the folder, if the folder is there.
func removeScratch(folder, name string) error {
	switch err := launch.OwnFolder(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return launch.RemoveTree(filepath.Join(folder, name))
}

// keptPath returns where in the folder the files of a job are kept.
func keptPath(folder string, id pool.JobID) string {
	return filepath.Join(folder, keptFor(id))
}

func keptFor(id pool.JobID) string { return id.String() + keptName }

// removeKept removes what attempts have left for the next one of a job, be it not whole.
func removeKept(folder string, id pool.JobID) (err error) {
	for _, name := range []string{keptFor(id), id.String() + imagesName} {
		err = errors.Join(err, removeScratch(folder, name), removeScratch(folder, name+launch.Unfinished))
	}
	return err
}

// scratches returns the names of the attempts that have scratch directories, and what is
// kept of each job.
func scratches(folder string) (attempts []string, kept map[string]pool.JobID) {
	kept = map[string]pool.JobID{}
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if _, err := pool.ParseAttempt(e.Name()); err == nil {
			attempts = append(attempts, e.Name())
			continue
		}
		name := strings.TrimSuffix(e.Name(), launch.Unfinished)
		name, isKept := strings.CutSuffix(name, keptName)
		name, isImages := strings.CutSuffix(name, imagesName)
		if id, err := pool.ParseJobID(name); err == nil && (isKept || isImages) {
			kept[e.Name()] = id
		}
	}
	return attempts, kept
}

// leftBehind is what attempts and jobs have left on the disk whose time may be over.
type leftBehind struct {
	folder   string                // of the scratch directories
	attempts map[string]bool       // with a lock file or a scratch directory
	kept     map[string]pool.JobID // directories with what was kept of jobs
}

// findLeftBehind looks for what there is. It has to be called before the view that
// says which claims and jobs there are: they are older than their files.
func findLeftBehind(cfg *config.Config, sp *spool.Spool) leftBehind {
	folder := scratchFolder(cfg, sp)
	attempts, kept := scratches(folder)
	l := leftBehind{folder, lockFiles(sp), kept}
	for _, name := range attempts {
		l.attempts[name] = true
	}
	return l
}

// spare takes out what is still needed.
func (l leftBehind) spare(v *spool.View, claims []pool.Claim) {
	for _, claim := range claims {
		delete(l.attempts, claim.LockName())
	}
	for name, id := range l.kept {
		if _, ok := v.Job(id); ok {
			delete(l.kept, name)
		}
	}
}

// sweep removes the rest: a supervisor died between ending its claim and cleaning
// up. What another process holds the lock of is left alone.
func (l leftBehind) sweep(sp *spool.Spool) {
	for name := range l.attempts {
		if lock, err := lockClaim(sp.ClaimLock(name)); err == nil {
			removeScratch(l.folder, name) // what stays is for the next pass
			lock.leave()
		}
	}
	for name := range l.kept {
		removeScratch(l.folder, name)
	}
}

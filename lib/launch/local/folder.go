package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// Folder is where the attempts at the jobs of one spool have their scratch directories on this machine, each named
// after its attempt, and where is kept what an attempt has left for its job's next one.
type Folder struct {
	Path string
	// Above is a folder of the pool that must be passable for users whose jobs root runs;
	// empty: there is none.
	Above string
}

// keptName ends the name of the directory with the files that an attempt has left for its job's next one.
const keptName = ".kept"

// imagesName ends the name of the directory with the images of a job's processes.
const imagesName = ".images"

// Scratch returns the path of the scratch directory of an attempt.
func (f Folder) Scratch(a pool.Attempt) string { return filepath.Join(f.Path, a.String()) }

// Kept returns where the files of a job are kept between two attempts.
func (f Folder) Kept(id pool.JobID) string { return filepath.Join(f.Path, id.String()+keptName) }

// images returns where the images of a job's processes are between two attempts.
func (f Folder) images(id pool.JobID) string { return filepath.Join(f.Path, id.String()+imagesName) }

// Make makes the folder if it is missing. Users whose jobs root runs must be able to pass it to their
// own directories.
func (f Folder) Make() error {
	err := launch.MakeFolder(f.Path)
	if err != nil || !asuser.Privileged() {
		return err
	}
	if f.Above != "" {
		err = letThrough(f.Above, 0)
	}
	return errors.Join(err, letThrough(f.Path, unix.O_NOFOLLOW))
}

// letThrough makes a folder of ours passable: all users can reach entries whose names
// they know, and each entry's own mode restricts its access. The folder is opened with
// further flags of open(2).
func letThrough(folder string, flags int) error {
	const through = 0o011
	if info, err := os.Lstat(folder); err == nil && info.IsDir() && info.Mode().Perm()&through == through {
		return nil
	}
	f, err := os.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY|flags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Mode().Perm()&through == through {
		return err
	}
	return f.Chmod(info.Mode().Perm() | through)
}

// Remove removes the entries with these names in the folder. Missing entries are no
// error.
func (f Folder) Remove(names ...string) error {
	err := launch.OwnFolder(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		err = errors.Join(err, launch.RemoveTree(filepath.Join(f.Path, name)))
	}
	return err
}

// Forget removes what attempts have left for the next one of a job, be it not whole.
func (f Folder) Forget(id pool.JobID) error {
	kept, images := id.String()+keptName, id.String()+imagesName
	return f.Remove(kept, kept+launch.Unfinished, images, images+launch.Unfinished)
}

// Entries returns the names of the attempts with scratch directories, and the jobs with
// kept files, by their names in the folder.
func (f Folder) Entries() (attempts []string, kept map[string]pool.JobID) {
	kept = map[string]pool.JobID{}
	entries, _ := os.ReadDir(f.Path)
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

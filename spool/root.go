package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// rootFile is the name of the file that says that root's starter runs the jobs of a spool.
const rootFile = "starter.root"

const rootText = "The jobs of this spool are run by root's starter, as their owners: see starter(8).\n"

// NoteRoot notes that root's starter runs the jobs of the spool, whose account is another, as their
// owners. From then on starters of the account run none of them. serve calls it before it takes a
// job from another user, and root's starter when it first runs.
func (s *Spool) NoteRoot() error {
	if RunByRoot(s.dir) {
		return nil
	}
	f, err := s.files.Open(s.path(rootFile), readWrite|create, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(rootText), 0)
	return errors.Join(err, f.Close())
}

// RunByRoot reports whether NoteRoot was called for the spool in a directory.
func RunByRoot(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, rootFile))
	return !errors.Is(err, fs.ErrNotExist)
}

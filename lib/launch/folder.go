package launch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// OwnFolder returns an error unless a path is a folder of the effective user's to which no other
// user may write: in a place where all users may make files, the first one there could have this
// process write, execute and remove any files.
func OwnFolder(folder string) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	switch owner, ok := info.Sys().(*syscall.Stat_t); {
	case !info.IsDir():
		return fmt.Errorf("%s: not a folder: remove it", folder)
	case !ok || int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s: belongs to somebody else: remove it, or set another EXECUTE", folder)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s: others may write there: look what they left, then chmod 700", folder)
	}
	return nil
}

// MakeFolder makes a folder of mode 0700, durably, or is content with one that OwnFolder is
// content with. The folder gets its name once it is on the disk: after a power cut, a file system
// without a journal may have the name lead to the file that was there before. Several processes
// may make it at the same time.
func MakeFolder(folder string) error {
	if err := OwnFolder(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made := folder + Unfinished
	err := unix.Mkdir(made, 0o700)
	if err == unix.EEXIST && unix.Unlink(made) == nil { // no folder
		err = unix.Mkdir(made, 0o700)
	}
	if err != nil && err != unix.EEXIST {
		return &fs.PathError{Op: "mkdir", Path: folder, Err: err}
	}
	err = syncPath(made)
	if err == nil {
		err = os.Rename(made, folder)
	}
	if err == nil {
		return cmp.Or(OwnFolder(folder), syncPath(filepath.Dir(folder)))
	}
	os.Remove(made)
	if OwnFolder(folder) == nil { // made by another process
		return nil
	}
	return err
}

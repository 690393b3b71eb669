package cmdline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file as a whole or not at all, and durably: it has a name of its
// own until all is there. A file that is there is replaced, one behind a symbolic link
// in its place; anything else that has the name is left alone, with an error. The
// new file has the mode less the umask. It returns how many bytes it has.
func Replace(name string, mode fs.FileMode, write func(io.Writer) error) (n int64, err error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return 0, errors.New("it is there, and no regular file: give the name of another, or - for standard output")
	}
	f, err := beside(name, mode)
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) // nothing is there once it is renamed
	defer f.Close()
	if err := write(f); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	if n, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return 0, err
	}
	return n, syncDir(filepath.Dir(name))
}

// beside makes a new file in the folder of another. What a dead process left
// under the first name that comes to mind does not keep it from that.
func beside(name string, mode fs.FileMode) (f *os.File, err error) {
	for i := range 100 {
		f, err = os.OpenFile(fmt.Sprintf("%s.%d-%d.new", name, os.Getpid(), i), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

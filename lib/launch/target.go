package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// target is where copies are made.
type target interface {
	// folder makes a directory if it is missing. One that it has made is to get its mode when all that belongs
	// there has been copied; until then its owner may do anything there.
	folder(path string, perm fs.FileMode) (made bool, err error)
	// file makes a copy of what is read, with the mode and the time of the original.
	file(ctx context.Context, from io.Reader, info fs.FileInfo, path string) error
	// link makes a symbolic link.
	link(to, path string) error
}

// inScratch makes copies in a directory in which no other process writes. Existing files
// give way, and no link is followed.
type inScratch struct {
	sync bool // copies of files are brought to the disk
}

// all are the rights of its owner to a directory.
const all fs.FileMode = 0o700

func (inScratch) folder(path string, perm fs.FileMode) (bool, error) {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		if info.Mode()&all == all {
			return false, nil
		}
		return true, os.Chmod(path, perm|all) // as good as a new one
	}
	if err := removeTree(path); err != nil {
		return false, err
	}
	return true, os.Mkdir(path, perm|all)
}

func (t inScratch) file(ctx context.Context, from io.Reader, info fs.FileInfo, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if err = removeTree(path); err == nil {
			f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
	}
	if err != nil {
		return err
	}
	if err := pour(ctx, from, f); err != nil {
		f.Close()
		return err
	}
	err = f.Chmod(info.Mode().Perm())
	if err == nil && t.sync {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		// Files that the job does not touch keep their time.
		err = os.Chtimes(path, info.ModTime(), info.ModTime())
	}
	return err
}

func (inScratch) link(to, path string) error {
	if err := removeTree(path); err != nil {
		return err
	}
	return os.Symlink(to, path)
}

// inPlace makes copies among a user's own files: each appears as a whole or not
// at all, and is on the disk when it appears.
type inPlace struct {
	streams []fs.FileInfo   // files that are not replaced
	folders map[string]bool // with files that were made
}

var errStream = errors.New("is the job's standard output or error as well")

func (t *inPlace) folder(path string, perm fs.FileMode) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return false, nil
	case err == nil:
		return false, &fs.PathError{Op: "mkdir", Path: path, Err: unix.ENOTDIR}
	}
	t.folders[filepath.Dir(path)] = true
	err = os.Mkdir(path, perm|all)
	if info, e := os.Stat(path); errors.Is(err, fs.ErrExist) && e == nil && info.IsDir() {
		return false, nil // another job was faster
	}
	return true, err
}

func (t *inPlace) file(ctx context.Context, from io.Reader, info fs.FileInfo, path string) error {
	there, err := os.Stat(path)
	switch {
	case err != nil: // nothing there, or something that leads nowhere
	case there.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: unix.EISDIR}
	case path == os.DevNull:
		return nil
	case !there.Mode().IsRegular():
		return &fs.PathError{Op: "open", Path: path, Err: errKind}
	default:
		if t.isStream(there) {
			return &fs.PathError{Op: "open", Path: path, Err: errStream}
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	return t.replace(ctx, from, info, path)
}

func (t *inPlace) isStream(there fs.FileInfo) bool {
	return slices.ContainsFunc(t.streams, func(s fs.FileInfo) bool { return os.SameFile(there, s) })
}

// replace puts a copy where a file is, or none.
func (t *inPlace) replace(ctx context.Context, from io.Reader, info fs.FileInfo, path string) error {
	f, err := unfinished(filepath.Dir(path))
	if err != nil {
		return at(path, err)
	}
	err = pour(ctx, from, f.File)
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		t.folders[filepath.Dir(path)] = true
		err = f.become(path)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		if f.name != "" {
			os.Remove(f.name)
		}
		return at(path, err)
	}
	return nil
}

// copying is a file that is being written and does not show yet.
type copying struct {
	*os.File
	name string // empty where the file system has files without names
}

// hidden begins the names of files that are being written, and of those that take
// another's place at that moment.
const hidden = ".fairspool-"

func unfinished(dir string) (*copying, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return &copying{File: os.NewFile(uintptr(fd), dir)}, nil
	}
	f, err := os.CreateTemp(dir, hidden+"*")
	if err != nil {
		return nil, err
	}
	return &copying{f, f.Name()}, nil
}

// become gives the file its name, in the place of another.
func (c *copying) become(path string) error {
	if c.name == "" {
		name, err := beside(path, func(name string) error {
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", c.Fd()), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
		})
		if err != nil {
			return err
		}
		c.name = name
	}
	return os.Rename(c.name, path)
}

// beside makes a file under a hidden name in the directory of a path, skipping names that
// a killed process has left.
func beside(path string, create func(name string) error) (name string, err error) {
	for n := 0; ; n++ {
		name = filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%d.%d", hidden, os.Getpid(), n))
		if err = create(name); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
}

// at names the intended path in the error of a temporary file.
func at(path string, err error) error {
	return &fs.PathError{Op: "write", Path: path, Err: cause(err)}
}

func (t *inPlace) link(to, path string) error {
	if there, err := os.Stat(path); err == nil && t.isStream(there) {
		return &fs.PathError{Op: "open", Path: path, Err: errStream}
	}
	t.folders[filepath.Dir(path)] = true
	name, err := beside(path, func(name string) error { return os.Symlink(to, name) })
	if err != nil {
		return at(path, err)
	}
	if err := os.Rename(name, path); err != nil {
		os.Remove(name)
		return at(path, err)
	}
	return nil
}

// sync has the new names on the disk.
func (t *inPlace) sync() error {
	for _, path := range slices.Sorted(maps.Keys(t.folders)) { // of several errors always the same
		if err := syncNames(path); err != nil {
			return err
		}
	}
	return nil
}

// copier copies files and directories. Errors name the path at fault, as
// *fs.PathError.
type copier struct {
	ctx  context.Context
	into target
	// own is a directory that is not copied: where the copies go to.
	own fs.FileInfo
	// links: symbolic links in directories are copied as they are. Otherwise
	// those that lead to a file are copied as that file.
	links bool
	// within: of the symbolic links in a directory those are left out that lead out of this one; empty: none.
	within string
	// without are the paths in directories that are not copied.
	without []string
	// bytes, if not nil, counts the bytes copied of files.
	bytes *int64
}

var (
	errKind = errors.New("neither a file nor a directory")
	errSelf = errors.New("the scratch directory of the job lies in it")
)

// parcel copies a file or a directory.
func (c *copier) parcel(p parcel) error {
	info, err := os.Stat(p.from)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return c.tree(p.from, info, p.to)
	case p.contents:
		return &fs.PathError{Op: "open", Path: p.from, Err: unix.ENOTDIR}
	}
	return c.file(p.from, p.to)
}

// tree copies the content of a directory into another, which is made if it is missing.
// Links to directories stay links, so that there are no loops.
func (c *copier) tree(from string, info fs.FileInfo, to string) error {
	if c.own != nil && os.SameFile(info, c.own) {
		return &fs.PathError{Op: "copy", Path: filepath.Dir(from), Err: errSelf}
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	made, err := c.into.folder(to, info.Mode().Perm())
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(from, e.Name())
		if slices.Contains(c.without, path) {
			continue
		}
		if err := c.entry(e, path, filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	if made {
		return os.Chmod(to, info.Mode().Perm())
	}
	return nil
}

// entry copies what stands in a directory. Pipes, sockets and devices are left out.
func (c *copier) entry(e fs.DirEntry, from, to string) error {
	switch {
	case e.IsDir():
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		return c.tree(from, info, to)
	case e.Type().IsRegular():
		return c.file(from, to)
	case e.Type()&fs.ModeSymlink == 0:
		return nil
	}
	if info, err := os.Stat(from); err == nil && info.Mode().IsRegular() && !c.links {
		return c.file(from, to)
	}
	name, err := os.Readlink(from)
	if err != nil || c.within != "" && !leadsInside(c.within, from, name) {
		return err
	}
	return c.into.link(name, to)
}

// leadsInside reports whether a symbolic link leads to something in a directory of which all links do so, or
// to nothing. No .. may stand behind a name, which may be another link's.
func leadsInside(dir, path, to string) bool {
	above, err := filepath.Rel(dir, filepath.Dir(path))
	return err == nil && !filepath.IsAbs(to) && filepath.Clean(to) == to && filepath.IsLocal(filepath.Join(above, to))
}

// file copies a file.
func (c *copier) file(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: from, Err: errKind}
	}
	if err := c.into.file(c.ctx, f, info, to); err != nil {
		return err
	}
	if c.bytes != nil {
		*c.bytes += info.Size()
	}
	return nil
}

// chunk is how much is copied between two looks at the context.
const chunk = 64 << 20

// pour copies all that is read, by the kernel where it can.
func pour(ctx context.Context, from io.Reader, to *os.File) error {
	if _, isFile := from.(*os.File); !isFile {
		_, err := stream(ctx, from, to)
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := io.CopyN(to, from, chunk)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

package launch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

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
	// bytes, if not nil, counts what was copied of files.
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

// tree copies what is in a directory into another, which is made if it is
// missing. Links to directories stay links, so that no way goes round.
func (c *copier) tree(from string, info fs.FileInfo, to string) error {
	if c.own != nil && os.SameFile(info, c.own) {
		return &fs.PathError{Op: "copy", Path: filepath.Dir(from), Err: errSelf}
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	made, err := c.into.folder(to, info.Mode().Perm()|0o700)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.entry(e, filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
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
	if err != nil {
		return err
	}
	return c.into.link(name, to)
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

// pour copies all of a file, by the kernel where it can.
func pour(ctx context.Context, from, to *os.File) error {
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

package spool

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// files is the layer through which every open, lock, write, sync, rename and
// removal of the spool goes, so that a test can make any of them fail.
type files interface {
	Open(name string, flag int, perm fs.FileMode) (file, error)
	// Lock opens a file and takes the flock on it, waiting at most wait; ErrLocked: it is
	// still held elsewhere then.
	Lock(name string, flag int, shared bool, wait time.Duration) (fileLock, error)
	Rename(from, to string) error
	Remove(name string) error
	Mkdir(name string, perm fs.FileMode) error
	SyncDir(name string) error
}

// file is an open file of the layer.
type file interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Truncate(size int64) error
	// Allocate makes the file at least so large, with room on the disk for all of it; EOPNOTSUPP: the
	// file system cannot.
	Allocate(size int64) error
	Sync() error
	Close() error
}

// fileLock is a flock that is held.
type fileLock interface {
	Stat() (fs.FileInfo, error)
	// Unlock frees the lock, also if it fails.
	Unlock() error
}

// disk is the real layer.
type disk struct{}

type diskFile struct{ *os.File }

func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f diskFile) Allocate(size int64) error { return unix.Fallocate(int(f.Fd()), 0, 0, size) }

func (disk) Open(name string, flag int, perm fs.FileMode) (file, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

func (disk) Lock(name string, flag int, shared bool, wait time.Duration) (fileLock, error) {
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_EX | unix.LOCK_NB
	if shared {
		how = unix.LOCK_SH | unix.LOCK_NB
	}
	for end := time.Now().Add(wait); ; {
		if err = unix.Flock(int(f.Fd()), how); err == nil {
			return diskLock{f}, nil
		}
		left := time.Until(end)
		if err == unix.EWOULDBLOCK && left > 0 {
			time.Sleep(min(lockPoll, left))
			continue
		}
		f.Close()
		if err == unix.EWOULDBLOCK {
			err = ErrLocked
		}
		return nil, err
	}
}

type diskLock struct{ *os.File }

// Unlock frees the lock even where a child of this process, which has not yet begun its
// program, has the file open too. Closing the file frees it where that fails.
func (l diskLock) Unlock() error {
	return errors.Join(unix.Flock(int(l.Fd()), unix.LOCK_UN), l.Close())
}

func (disk) Rename(from, to string) error { return os.Rename(from, to) }
func (disk) Remove(name string) error     { return os.Remove(name) }

// Mkdir makes a directory, and is content with one that is there.
func (disk) Mkdir(name string, perm fs.FileMode) error {
	if err := os.Mkdir(name, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// SyncDir makes the names in a directory durable.
func (disk) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// mkdirAll makes a directory and those above it that are missing, durably.
func mkdirAll(fsys files, name string) error {
	if _, err := os.Stat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(name)
	if err := mkdirAll(fsys, parent); err != nil {
		return err
	}
	if err := fsys.Mkdir(name, 0o700); err != nil {
		return err
	}
	return errors.Join(fsys.SyncDir(name), fsys.SyncDir(parent))
}

// replace gives the file name new contents, durably and at once: whoever
// opens it sees the old or the new, also after a power cut. The temporary
// file stands beside it so that the rename stays on one file system. An error
// leaves the old, unless it is errUncertain.
func replace(fsys files, name string, data []byte) error {
	temporary := name + ".new"
	err := writeNew(fsys, temporary, data)
	if err == nil {
		err = fsys.Rename(temporary, name)
	}
	if err != nil {
		fsys.Remove(temporary)
		return err
	}
	if err = fsys.SyncDir(filepath.Dir(name)); err != nil {
		return fmt.Errorf("%w; %w", err, errUncertain)
	}
	return nil
}

// How files are opened.
const (
	readOnly  = os.O_RDONLY
	readWrite = os.O_RDWR
	create    = os.O_CREATE
	truncate  = os.O_TRUNC
)

// writeNew writes a file that nobody knows of yet, durably but for its name.
func writeNew(fsys files, name string, data []byte) error {
	f, err := fsys.Open(name, readWrite|create|truncate, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// contents reads a whole file through the layer; a missing one is
// fs.ErrNotExist.
func contents(fsys files, name string) ([]byte, error) {
	f, err := fsys.Open(name, readOnly, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return tail(f, 0)
}

// tail reads a file from offset to its present end.
func tail(f file, offset int64) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size <= offset {
		return nil, nil
	}
	b := make([]byte, size-offset)
	n, err := f.ReadAt(b, offset)
	if errors.Is(err, io.EOF) {
		err = nil // cut short since Size; what is there counts
	}
	return b[:n], err
}

// sumTo returns the CRC-32C of the first bytes of a file.
func sumTo(f file, end int64) (sum uint32, err error) {
	b := make([]byte, min(end, 1<<20))
	for at := int64(0); at < end; {
		n, err := f.ReadAt(b[:min(int64(len(b)), end-at)], at)
		if n == 0 && err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, castagnoli, b[:n])
		at += int64(n)
	}
	return sum, nil
}

// Package files is the layer through which a spool reads and writes its files, so that a test can
// make any of that fail.
package files

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked says that another process held a lock for longer than the caller waits.
var ErrLocked = errors.New("the spool is locked")

// Layer is the layer through which every open, lock, write, sync, rename and
// removal of the spool goes, so that a test can make any of them fail.
type Layer interface {
	Open(name string, flag int, perm fs.FileMode) (File, error)
	// Lock opens a file and takes the flock on it, waiting at most wait; ErrLocked: it is
	// still held elsewhere then.
	Lock(name string, flag int, shared bool, wait time.Duration) (Lock, error)
	Rename(from, to string) error
	Remove(name string) error
	Mkdir(name string, perm fs.FileMode) error
	SyncDir(name string) error
}

// File is an open file of the layer.
type File interface {
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

// Lock is a flock that is held.
type Lock interface {
	Stat() (fs.FileInfo, error)
	// Unlock frees the lock, also if it fails.
	Unlock() error
}

// Disk is the real layer.
type Disk struct{}

type diskFile struct{ *os.File }

func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f diskFile) Allocate(size int64) error { return unix.Fallocate(int(f.Fd()), 0, 0, size) }

func (Disk) Open(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// open opens a file as os.OpenFile does, which takes five system calls more to find out that no file of a disk can be
// waited for.
func open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	for {
		fd, err := unix.Open(name, flag|unix.O_CLOEXEC, uint32(perm))
		if err == nil {
			return os.NewFile(uintptr(fd), name), nil
		}
		if err != unix.EINTR {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

func (Disk) Lock(name string, flag int, shared bool, wait time.Duration) (Lock, error) {
	f, err := open(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	for end := time.Now().Add(wait); ; {
		if err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err == nil {
			return diskLock{f}, nil
		}
		left := time.Until(end)
		switch {
		case err != unix.EWOULDBLOCK || left <= 0:
		case forsaken.Load() == 0:
			return await(f, how, left)
		default:
			time.Sleep(min(Poll, left))
			continue
		}
		f.Close()
		if err == unix.EWOULDBLOCK {
			err = ErrLocked
		}
		return nil, err
	}
}

// forsaken counts the threads of this process that wait for a flock in vain.
var forsaken atomic.Int32

// await waits at most wait for the flock on an open file, in the kernel's queue: freeing the lock wakes one
// process; with repeated attempts all waiting processes would wake. flock(2) cannot wait for a bounded
// time. So a thread waits that await leaves behind when the time is over: it frees the lock as soon as it
// has it.
func await(f *os.File, how int, wait time.Duration) (Lock, error) {
	var over atomic.Bool
	done := make(chan error, 1)
	go func() {
		err := unix.Flock(int(f.Fd()), how)
		for err == unix.EINTR {
			err = unix.Flock(int(f.Fd()), how)
		}
		if over.Swap(true) {
			diskLock{f}.Unlock()
			forsaken.Add(-1)
			return
		}
		done <- err
	}()
	late := time.NewTimer(wait)
	defer late.Stop()
	var err error
	select {
	case err = <-done:
	case <-late.C:
		forsaken.Add(1)
		if !over.Swap(true) {
			return nil, ErrLocked
		}
		forsaken.Add(-1)
		err = <-done
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return diskLock{f}, nil
}

type diskLock struct{ *os.File }

// Unlock frees the lock even where a child of this process, which has not yet begun its
// program, has the file open too. Closing the file frees it where that fails.
func (l diskLock) Unlock() error {
	return errors.Join(unix.Flock(int(l.Fd()), unix.LOCK_UN), l.Close())
}

func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

func (Disk) Remove(name string) error { return os.Remove(name) }

// Mkdir makes a directory, and is content with one that is there.
func (Disk) Mkdir(name string, perm fs.FileMode) error {
	if err := os.Mkdir(name, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// SyncDir makes the names in a directory durable.
func (Disk) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// MkdirAll makes a directory and those above it that are missing, durably.
func MkdirAll(fsys Layer, name string) error {
	if _, err := os.Stat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(name)
	if err := MkdirAll(fsys, parent); err != nil {
		return err
	}
	if err := fsys.Mkdir(name, 0o700); err != nil {
		return err
	}
	return errors.Join(fsys.SyncDir(name), fsys.SyncDir(parent))
}

// Replace gives the file name new contents, durably and at once: a reader sees the old or
// the new, also after a power cut. The temporary file stands beside it so that the rename
// stays on one file system. An error leaves the old, unless it is ErrUncertain.
func Replace(fsys Layer, name string, data []byte) error {
	return ReplaceBy(fsys, name, whole(data), func() error { return nil })
}

// ReplaceBy does as Replace with what write writes. Once that is durable, and while the old contents still are there, it calls
// ready.
func ReplaceBy(fsys Layer, name string, write func(io.Writer) error, ready func() error) error {
	temporary := name + ".new"
	err := WriteNewBy(fsys, temporary, write)
	if err == nil {
		err = ready()
	}
	if err == nil {
		err = fsys.Rename(temporary, name)
	}
	if err != nil {
		fsys.Remove(temporary)
		return err
	}
	if err = fsys.SyncDir(filepath.Dir(name)); err != nil {
		return fmt.Errorf("%w; %w", err, ErrUncertain)
	}
	return nil
}

// How files are opened.
const (
	ReadOnly  = os.O_RDONLY
	ReadWrite = os.O_RDWR
	Create    = os.O_CREATE
	Truncate  = os.O_TRUNC
)

// WriteNew writes a file that no process knows of yet, durably except for its name.
func WriteNew(fsys Layer, name string, data []byte) error { return WriteNewBy(fsys, name, whole(data)) }

func whole(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// WriteNewBy does as WriteNew with what write writes.
func WriteNewBy(fsys Layer, name string, write func(io.Writer) error) error {
	f, err := fsys.Open(name, ReadWrite|Create|Truncate, 0o600)
	if err != nil {
		return err
	}
	if err = write(io.NewOffsetWriter(f, 0)); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Contents reads a whole file through the layer; a missing one is
// fs.ErrNotExist.
func Contents(fsys Layer, name string) ([]byte, error) {
	return ContentsInto(nil, fsys, name)
}

// ContentsInto does as Contents into a buffer, if there is room.
func ContentsInto(buffer []byte, fsys Layer, name string) ([]byte, error) {
	f, err := fsys.Open(name, ReadOnly, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return tail(buffer, f, 0)
}

// Sum returns the CRC-32C of the first bytes of a file.
func Sum(f File, end int64) (sum uint32, err error) {
	b := make([]byte, min(end, 1<<20))
	for at := int64(0); at < end; {
		n, err := f.ReadAt(b[:min(int64(len(b)), end-at)], at)
		if n == 0 && err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), b[:n])
		at += int64(n)
	}
	return sum, nil
}

// large is how many bytes are worth large pages of memory.
const large = 4 << 20

// Tail reads a file from offset to its present end.
func Tail(f File, offset int64) ([]byte, error) { return tail(nil, f, offset) }

func tail(b []byte, f File, offset int64) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size <= offset {
		return nil, nil
	}
	if size-offset <= int64(cap(b)) {
		b = b[:size-offset]
	} else if b = make([]byte, size-offset); len(b) >= large {
		unix.Madvise(b, unix.MADV_HUGEPAGE) // small ones take half of the time
	}
	n, err := f.ReadAt(b, offset)
	if errors.Is(err, io.EOF) {
		err = nil // cut short since Size; what is there counts
	}
	return b[:n], err
}

// Poll is how often a writer tries again that waits, and may be stopped meanwhile.
const Poll = 3 * time.Millisecond

// ErrUncertain says that a change was refused, but that what was written of it
// could not be taken back, or not durably.
var ErrUncertain = errors.New("the change may yet turn out to be there")

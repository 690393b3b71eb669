package spool

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
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

// ReserveSize is how many bytes the spool of a pool keeps in the file reserve.
const ReserveSize = 8 << 20

const (
	reserveName = "reserve"
	// reserveStep is how much of the reserve is given up at once. What is given up is there for
	// every process, and a job that fills the disk is one of them: so it is little, and what was
	// not used of it is taken back.
	reserveStep = 256 << 10
	// reserveGrain is what the size of the reserve is a multiple of when it is made.
	reserveGrain = 64 << 10
	// reserveShare is the part of a file system's room that the reserve takes at most.
	reserveShare = 4
)

// IsFull reports whether an error says that a disk, or what a quota leaves of it, is full.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// UseReserve lets the transaction have the spool's reserve where the disk is full. It is for what
// ends, holds or removes jobs: there is more room, or no more needed, when that is done.
func (tx *Tx) UseReserve() { tx.spool.mayUse = true }

// reserving is the file layer of a spool with a reserve. Where something finds the disk full that
// may have the reserve, a part of that is given up, and it is done once more.
type reserving struct {
	files
	s *Spool
}

// room does something until it finds room, or the reserve is used up.
func (l reserving) room(do func() error) error {
	for {
		err := do()
		if !IsFull(err) || !l.giveUp() {
			return err
		}
	}
}

func (l reserving) Open(name string, flag int, perm fs.FileMode) (f file, err error) {
	err = l.room(func() error { f, err = l.files.Open(name, flag, perm); return err })
	if err != nil {
		return nil, err
	}
	return reservingFile{f, l}, nil
}

func (l reserving) Rename(from, to string) error {
	return l.room(func() error { return l.files.Rename(from, to) })
}

func (l reserving) Mkdir(name string, perm fs.FileMode) error {
	return l.room(func() error { return l.files.Mkdir(name, perm) })
}

// reservingFile is an open file of the layer.
type reservingFile struct {
	file
	layer reserving
}

func (f reservingFile) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.layer.room(func() error { n, err = f.file.WriteAt(b, off); return err })
	return n, err
}

// Sync gives up a part of the reserve, too, but fails all the same: a sync that failed may have
// let go of what was written, which the caller has to write again.
func (f reservingFile) Sync() error {
	err := f.file.Sync()
	if IsFull(err) {
		f.layer.giveUp()
	}
	return err
}

// giveUp gives a part of the reserve back to the file system, and reports whether there was any
// that may be used.
func (l reserving) giveUp() bool {
	if !l.s.mayUse {
		return false
	}
	f, err := l.files.Open(l.s.path(reserveName), readWrite, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil || size == 0 {
		return false
	}
	left := max(0, size-reserveStep)
	if f.Truncate(left) != nil {
		return false
	}
	l.s.gaveUp += size - left
	return true
}

// keepReserve makes the reserve as large as it is to be, or as the disk has room: what this
// process has given up and not used is taken back whole, but else no more than a part of what is
// left is taken. It is called under the writers' lock; a reserve that cannot be made is no reason
// to fail, and the next writer tries again.
func (s *Spool) keepReserve() {
	l, ok := s.files.(reserving)
	if !ok {
		return
	}
	was := s.gaveUp
	s.gaveUp = 0
	held, size := s.reserved()
	if held >= s.options.Reserve || Gone(s.dir) {
		return
	}
	room, err := available(s.dir)
	want := reserveOf(held, was, room, s.options.Reserve)
	if err != nil || want <= held {
		return
	}
	f, err := l.files.Open(s.path(reserveName), readWrite|create, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	for ; want > held; want -= reserveGrain {
		err := f.Allocate(want)
		if errors.Is(err, unix.EOPNOTSUPP) && size < want {
			_, err = f.WriteAt(noise(want-size), size)
		}
		if !IsFull(err) {
			return
		}
	}
}

// reserveOf returns how large a reserve is to be that has room for held bytes, after it gave up so
// many more, on a file system with so much room.
func reserveOf(held, gaveUp, room, most int64) int64 {
	part := (held + room) / reserveShare / reserveGrain * reserveGrain
	return min(max(held+gaveUp, part), most)
}

// reserved returns how much room the reserve has on the disk, and its size. A copy of it may
// have a size and no room.
func (s *Spool) reserved() (held, size int64) {
	info, err := os.Lstat(s.path(reserveName))
	if err != nil {
		return 0, 0
	}
	size = info.Size()
	about, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return size, size
	}
	return min(size, about.Blocks*512), size
}

// available returns how many bytes there are for everybody on the file system of a folder.
func available(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// noise returns bytes that no file system makes smaller.
func noise(n int64) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

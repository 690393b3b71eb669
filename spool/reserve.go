package spool

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/spool/internal/files"
)

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
	files.Layer
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

func (l reserving) Open(name string, flag int, perm fs.FileMode) (f files.File, err error) {
	err = l.room(func() error { f, err = l.Layer.Open(name, flag, perm); return err })
	if err != nil {
		return nil, err
	}
	return reservingFile{f, l}, nil
}

func (l reserving) Rename(from, to string) error {
	return l.room(func() error { return l.Layer.Rename(from, to) })
}

func (l reserving) Mkdir(name string, perm fs.FileMode) error {
	return l.room(func() error { return l.Layer.Mkdir(name, perm) })
}

// reservingFile is an open file of the layer.
type reservingFile struct {
	files.File
	layer reserving
}

func (f reservingFile) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.layer.room(func() error { n, err = f.File.WriteAt(b, off); return err })
	return n, err
}

// Sync gives up a part of the reserve, too, but fails all the same: a sync that failed may have
// let go of what was written, which the caller has to write again.
func (f reservingFile) Sync() error {
	err := f.File.Sync()
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
	f, err := l.Layer.Open(l.s.path(reserveName), files.ReadWrite, 0)
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
	f, err := l.Layer.Open(s.path(reserveName), files.ReadWrite|files.Create, 0o600)
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

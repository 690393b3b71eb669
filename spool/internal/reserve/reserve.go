// Package reserve keeps room on the disk, in a file, for what ends, holds or removes jobs when the disk is full.
package reserve

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/spool/internal/files"
)

const (
	// step is how much of the reserve is given up at once. What is given up is there for
	// every process, and a job that fills the disk is one of them: so it is little, and what was
	// not used of it is taken back.
	step = 256 << 10
	// Grain is what the size of the reserve is a multiple of when it is made.
	Grain = 64 << 10
	// share is the part of a file system's room that the reserve takes at most.
	share = 4
)

// IsFull reports whether an error says that a disk, or what a quota leaves of it, is full.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Reserve is what a process knows of a reserve. The zero Reserve has no file.
type Reserve struct {
	May bool // what is done may have the reserve

	name   string // the file
	files  files.Layer
	most   int64 // how many bytes it is to keep room for
	gaveUp int64 // bytes, since it was filled last
}

// Over gives the reserve its file, for at most so many bytes, and returns a layer over that of the files: where
// something finds the disk full that may have the reserve, a part of that is given up, and it is done once more.
func (r *Reserve) Over(layer files.Layer, name string, most int64) files.Layer {
	r.name, r.files, r.most = name, layer, most
	return reserving{layer, r}
}

// reserving is that layer.
type reserving struct {
	files.Layer
	reserve *Reserve
}

// room does something until it finds room, or the reserve is used up.
func (l reserving) room(do func() error) error {
	for {
		err := do()
		if !IsFull(err) || !l.reserve.giveUp() {
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
		f.layer.reserve.giveUp()
	}
	return err
}

// giveUp gives a part of the reserve back to the file system, and reports whether there was any
// that may be used.
func (r *Reserve) giveUp() bool {
	if !r.May {
		return false
	}
	f, err := r.files.Open(r.name, files.ReadWrite, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil || size == 0 {
		return false
	}
	left := max(0, size-step)
	if f.Truncate(left) != nil {
		return false
	}
	r.gaveUp += size - left
	return true
}

// GaveUp reports whether a part was given up since Keep.
func (r *Reserve) GaveUp() bool { return r.gaveUp > 0 }

// Keep makes the reserve as large as it is to be, or as the disk has room: what this
// process has given up and not used is taken back whole, but else no more than a part of what is
// left is taken. It makes none where the spool is gone. It is called under the writers' lock; a reserve that cannot be made is no reason
// to fail, and the next writer tries again.
func (r *Reserve) Keep(gone func() bool) {
	if r.files == nil {
		return
	}
	was := r.gaveUp
	r.gaveUp = 0
	held, size := Held(r.name)
	if held >= r.most || gone() {
		return
	}
	room, err := available(filepath.Dir(r.name))
	want := sizeOf(held, was, room, r.most)
	if err != nil || want <= held {
		return
	}
	f, err := r.files.Open(r.name, files.ReadWrite|files.Create, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	for ; want > held; want -= Grain {
		err := f.Allocate(want)
		if errors.Is(err, unix.EOPNOTSUPP) && size < want {
			_, err = f.WriteAt(noise(want-size), size)
		}
		if !IsFull(err) {
			return
		}
	}
}

// sizeOf returns how large a reserve is to be that has room for held bytes, after it gave up so
// many more, on a file system with so much room.
func sizeOf(held, gaveUp, room, most int64) int64 {
	part := (held + room) / share / Grain * Grain
	return min(max(held+gaveUp, part), most)
}

// Held returns how much room the reserve has on the disk, and its size. A copy of it may
// have a size and no room.
func Held(name string) (held, size int64) {
	info, err := os.Lstat(name)
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

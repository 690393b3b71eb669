package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

const (
	// lookDiskEvery is how often a scratch directory is looked through at most.
	lookDiskEvery = 2 * time.Second
	// sparing keeps those looks below two hundredths of the time.
	sparing = 50
	// deepest bounds how many directories are open at the same time, and mostEntries
	// how long a look can take. What lies beyond is not seen.
	deepest     = 500
	mostEntries = 5_000_000
)

// holding is how much a directory holds, found out beside whatever else goes on.
type holding struct {
	dir   string
	kb    int64         // as it was found last
	next  time.Time     // when to look again
	found chan finding  // nil: nobody is looking
	cost  time.Duration // of the last look
}

// finding is what a look has come to.
type finding struct {
	kb   int64
	cost time.Duration
}

// look returns what was found last, and sees to it that somebody looks again in time.
func (h *holding) look() int64 {
	select {
	case f := <-h.found:
		h.take(f)
	default:
	}
	if h.found == nil && !time.Now().Before(h.next) {
		found, dir := make(chan finding, 1), h.dir
		h.found = found
		go func() {
			begun := time.Now()
			kb := heldKB(dir)
			found <- finding{kb, time.Since(begun)}
		}()
	}
	return h.kb
}

// wait is look, but waits a little for whoever looks.
func (h *holding) wait() int64 { return h.waitFor(50 * time.Millisecond) }

func (h *holding) waitFor(patience time.Duration) int64 {
	h.look()
	if h.found != nil {
		select {
		case f := <-h.found:
			h.take(f)
		case <-time.After(patience):
		}
	}
	return h.kb
}

// final returns what the directory holds when nobody writes there any more, if that can
// be found out in a moment.
func (h *holding) final() int64 {
	const patience = time.Second
	if h.found != nil {
		h.waitFor(patience) // it was begun before that
	}
	h.next = time.Time{}
	return h.waitFor(patience)
}

func (h *holding) take(f finding) {
	h.kb, h.cost, h.found = f.kb, f.cost, nil
	h.next = time.Now().Add(max(lookDiskEvery, sparing*f.cost))
}

// heldKB returns how much disk a directory takes with all that is in it, in KB: what is
// allocated, each file once however many names it has. It follows no link, and what goes while
// it looks does not count. Root finds what is hidden in directories that their owner has closed.
func heldKB(dir string) int64 {
	top, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(top)
	var about unix.Stat_t
	if err := unix.Fstat(top, &about); err != nil || asuser.Refusal(asuser.User{UID: int(about.Uid)}) != "" {
		return 0 // it is no job's
	}
	w := walk{linked: map[inode]bool{}}
	asuser.Root(func() {
		fd, err := unix.Openat(top, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			w.directory(fd, 0)
		}
	})
	return w.blocks / 2 // of 512 bytes
}

// inode is a file, whatever its names are.
type inode struct{ dev, number uint64 }

// walk looks through a tree by open directories, so that nobody who moves things about
// under it leads it elsewhere, and no path is too long.
type walk struct {
	blocks  int64
	entries int
	linked  map[inode]bool // files with several names that were counted
}

// directory adds an open directory, which it closes.
func (w *walk) directory(fd, depth int) {
	f := os.NewFile(uintptr(fd), "")
	defer f.Close()
	var self unix.Stat_t
	if unix.Fstat(fd, &self) == nil {
		w.blocks += self.Blocks
	}
	for {
		const atOnce = 1000
		names, err := f.Readdirnames(atOnce)
		for _, name := range names {
			if w.entries++; w.entries > mostEntries {
				return
			}
			w.entry(fd, name, depth)
		}
		if err != nil {
			return
		}
	}
}

// entry adds what has a name in an open directory.
func (w *walk) entry(dir int, name string, depth int) {
	var info unix.Stat_t
	if unix.Fstatat(dir, name, &info, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		if depth == deepest {
			return
		}
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			w.directory(fd, depth+1)
		}
		return
	}
	if info.Nlink > 1 {
		id := inode{uint64(info.Dev), info.Ino}
		if w.linked[id] {
			return
		}
		w.linked[id] = true
	}
	w.blocks += info.Blocks
}

package family

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cell is the cgroup of a family.
type cell struct {
	dir     string
	fd      int  // of the open directory
	limited bool // the kernel keeps the memory limit
}

// openCell makes the cgroup of a family, in the first place that allows it; nil when
// none does.
func openCell(o Options) *cell {
	path, err := base(o.Base)
	if err != nil || !plain(o.Name) || !canStartInside() {
		return nil
	}
	mount, own, ok := hierarchy()
	if !ok {
		return nil
	}
	for _, p := range places(mount, own, os.Getpid()) {
		if dir, err := p.prepare(path, os.Getpid()); err == nil {
			if c := makeCell(filepath.Join(dir, o.Name)); c != nil {
				c.limited = c.limit(o)
				return c
			}
		}
	}
	return nil
}

// makeCell makes an empty cgroup, in the place of one that somebody has left there.
func makeCell(dir string) *cell {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		left := &cell{dir: dir, fd: -1}
		left.kill()
		if left.remove() == nil {
			err = os.Mkdir(dir, 0o755)
		}
	}
	if err != nil {
		return nil
	}
	fd, err := openFile(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		os.Remove(dir)
		return nil
	}
	return &cell{dir: dir, fd: fd}
}

// limit sets the memory limit, and tells whether the kernel keeps one. A family that
// may not have more memory may not have swap space instead: it would not be ended, but
// slow down the whole machine. What is over the limit is ended as a whole.
func (c *cell) limit(o Options) bool {
	const most = 1 << 43 // MB that still are a number of bytes
	if o.MemoryMB <= 0 || o.MemoryMB > most {
		return false
	}
	bytes := strconv.FormatInt(o.MemoryMB<<20, 10)
	write(c.dir, "memory.oom.group", "1")
	if o.Soft {
		return write(c.dir, "memory.high", bytes) == nil
	}
	write(c.dir, "memory.swap.max", "0")
	return write(c.dir, "memory.max", bytes) == nil
}

// pids returns the processes of the cgroup and of those below it.
func (c *cell) pids() (pids []int) {
	for _, dir := range c.tree() {
		pids = append(pids, readPIDs(dir+"/cgroup.procs")...)
		if len(pids) >= mostProcesses {
			break
		}
	}
	return pids
}

// tree returns the directory of the cgroup and of all below, each behind the one that
// it is in.
func (c *cell) tree() (dirs []string) {
	const most = 1000
	dirs = []string{c.dir}
	for i := 0; i < len(dirs) && len(dirs) < most; i++ {
		var info unix.Stat_t
		if unix.Stat(dirs[i], &info) != nil || info.Nlink == 2 {
			continue // it has none
		}
		entries, _ := os.ReadDir(dirs[i])
		for _, e := range entries {
			if e.IsDir() {
				dirs = append(dirs, filepath.Join(dirs[i], e.Name()))
			}
		}
	}
	return dirs
}

// kill sends SIGKILL to all at once, also to what is being started (cgroup.kill, since
// Linux 5.14).
func (c *cell) kill() error { return write(c.dir, "cgroup.kill", "1") }

// populated reports whether there is any process in it.
func (c *cell) populated() bool {
	n, known := c.counts("cgroup.events")["populated"]
	return n != 0 || !known
}

// outOfMemory reports whether the kernel has killed for the cgroup's own limit: "oom" counts
// that no memory was to be had below it, "oom_kill" who was killed, for whatever limit.
func (c *cell) outOfMemory() bool {
	n := c.counts("memory.events")
	return n["oom"] > 0 && n["oom_kill"]+n["oom_group_kill"] > 0
}

// counts reads a file of lines with a name and a number; nothing of one that is not there.
func (c *cell) counts(file string) map[string]int64 {
	var space [8192]byte
	b, _ := readInto(filepath.Join(c.dir, file), space[:])
	counts := map[string]int64{}
	for line := range bytes.Lines(b) {
		name, number, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			counts[name] = n
		}
	}
	return counts
}

// io returns what all of them have read from disks and written there; false where the
// kernel does not say.
func (c *cell) io() (read, written int64, ok bool) {
	b, err := os.ReadFile(filepath.Join(c.dir, "io.stat"))
	for _, field := range bytes.Fields(b) {
		name, number, _ := strings.Cut(string(field), "=")
		n, _ := strconv.ParseInt(number, 10, 64)
		switch name {
		case "rbytes":
			read += n
		case "wbytes":
			written += n
		}
	}
	return read, written, err == nil
}

// remove removes the cgroup and all below it. The kernel may need a moment for what has just
// died there.
func (c *cell) remove() (err error) {
	if c.fd >= 0 {
		unix.Close(c.fd)
		c.fd = -1
	}
	const patience = time.Second
	for begun, wait := time.Now(), time.Millisecond/2; ; wait *= 2 {
		err = nil
		for _, dir := range slices.Backward(c.tree()) {
			if e := syscall.Rmdir(dir); e != nil && e != syscall.ENOENT {
				err = &fs.PathError{Op: "rmdir", Path: dir, Err: e}
			}
		}
		if err == nil || !errors.Is(err, syscall.EBUSY) || time.Since(begun) > patience {
			return err
		}
		time.Sleep(wait)
	}
}

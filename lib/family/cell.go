package family

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
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
	if dir, ok := prepared.Load(path); ok {
		if c := makeCell(filepath.Join(dir.(string), o.Name)); c != nil {
			c.limited = c.limit(o)
			return c
		}
	}
	mount, own, ok := hierarchy()
	if !ok {
		return nil
	}
	for _, p := range places(mount, own, os.Getpid()) {
		if dir, err := p.prepare(path, os.Getpid()); err == nil {
			if c := makeCell(filepath.Join(dir, o.Name)); c != nil {
				prepared.Store(path, dir)
				c.limited = c.limit(o)
				return c
			}
		}
	}
	return nil
}

// prepared is the directory in which this process last made a cgroup, by BASE_CGROUP: a supervisor of
// many short jobs looks for it once.
var prepared sync.Map

// makeCell makes an empty cgroup, in the place of one that was left there.
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

// limit sets the memory limit, and reports whether the kernel keeps one. A family with a
// limit may not use swap space instead: it would not be ended, but slow down the whole
// machine. A family over the limit is ended as a whole.
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

// kill sends SIGKILL to all processes at once, also to those being started (cgroup.kill,
// since Linux 5.14).
func (c *cell) kill() error { return write(c.dir, "cgroup.kill", "1") }

// populated reports whether there is any process in it.
func (c *cell) populated() bool {
	n, known := c.counts("cgroup.events")["populated"]
	return n != 0 || !known
}

// outOfMemory reports whether the kernel has killed for the cgroup's own limit: "oom" counts
// failures to get memory below it, "oom_kill" killed processes, for whatever limit.
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

// remove removes the cgroup and all below it. The kernel may need a moment for processes
// that have just died there.
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

// leaf is where a process goes that makes way for cgroups below its own.
const leaf = "supervisor"

// hierarchy returns where the cgroups (v2) of the machine are mounted, and our own one
// there as an absolute path below that; false when they cannot be told.
func hierarchy() (mount, own string, ok bool) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", "", false
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", false
	}
	mount, root, ok := findMount(string(mounts))
	if !ok {
		return "", "", false
	}
	own, ok = ownGroup(string(groups), root)
	return mount, own, ok
}

// findMount returns where a cgroup2 file system is mounted, by a mountinfo file
// (proc(5)), and which of its directories is mounted there.
func findMount(mountinfo string) (mount, root string, ok bool) {
	lines := bufio.NewScanner(strings.NewReader(mountinfo))
	for lines.Scan() {
		before, after, cut := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if cut && len(fields) >= 5 && strings.HasPrefix(after, "cgroup2 ") {
			return unescape(fields[4]), unescape(fields[3]), true
		}
	}
	return "", "", false
}

// unescape puts back the blanks of a path that mountinfo writes in octal.
func unescape(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+4 <= len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// ownGroup returns a process's cgroup by its /proc/PID/cgroup, below the directory root of
// the file system; false when it has none there.
func ownGroup(groups, root string) (own string, ok bool) {
	for line := range strings.Lines(groups) {
		path, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if !is || !strings.HasPrefix(path, "/") {
			continue
		}
		// Beyond a namespace's root the path begins with "/..".
		if filepath.Clean(path) != path || strings.HasSuffix(path, " (deleted)") {
			return "", false
		}
		if root == "/" {
			return path, true
		}
		below, is := strings.CutPrefix(path, root)
		return filepath.Join("/", below), is && (below == "" || below[0] == '/')
	}
	return "", false
}

// place is a cgroup that may hold others.
type place struct {
	dir string
	// ours: no other process is in it, so that we can leave it to what we make there.
	ours bool
}

// places returns where the process with that id, in the cgroup own, may look for room,
// best first.
func places(mount, own string, pid int) (list []place) {
	dir := filepath.Join(mount, own)
	if own != "/" && filepath.Base(own) != leaf && slices.Equal(readPIDs(dir+"/cgroup.procs"), []int{pid}) {
		list = append(list, place{dir, true})
	}
	return append(list, place{filepath.Join(mount, filepath.Dir(own)), false})
}

// prepare makes a place fit for others below it, and returns the path of base there, which
// is made. Controllers are handed down as far as that is possible.
func (p place) prepare(base string, pid int) (dir string, err error) {
	// Moving a process takes the right to write this file of the cgroup above both ends.
	if err := unix.Faccessat(unix.AT_FDCWD, p.dir+"/cgroup.procs", unix.W_OK, unix.AT_EACCESS); err != nil {
		return "", err
	}
	if p.ours {
		if err := p.leave(pid); err != nil {
			return "", err
		}
	}
	dir = p.dir
	for _, name := range strings.Split(base, "/") {
		handDown(dir)
		dir = filepath.Join(dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			return "", err
		}
	}
	handDown(dir)
	return dir, nil
}

// leave moves us to a leaf below the place.
func (p place) leave(pid int) error {
	dir := filepath.Join(p.dir, leaf)
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	return write(dir, "cgroup.procs", strconv.Itoa(pid))
}

// handDown lets the cgroups below one have controllers. Each is asked for by itself:
// where one is missing, or processes are in the way, the others may do.
func handDown(dir string) {
	for _, controller := range []string{"+memory", "+io"} {
		write(dir, "cgroup.subtree_control", controller)
	}
}

// write writes to a file of a cgroup, which must be there.
func write(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// canStartInside reports whether the kernel starts processes in a cgroup (clone3(2),
// CLONE_INTO_CGROUP, since Linux 5.7), by asking for one that cannot be. It asks once: the kernel
// begins to copy the process before it says no.
var canStartInside = sync.OnceValue(func() bool {
	args := struct {
		flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
	}{flags: unix.CLONE_INTO_CGROUP, exitSignal: uint64(unix.SIGCHLD), cgroup: 1<<31 - 1} // no file has this number
	_, _, err := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	return err == unix.EBADF
})

// findGroups returns the cgroups of a family that may be there, wherever it was
// made: the directories of its name in one that is called as base is.
func findGroups(o Options) (dirs []string) {
	mount, _, ok := hierarchy()
	if !ok || o.Base == "" || !plain(o.Name) {
		return nil
	}
	return groupsBelow(mount, filepath.Join(o.Base, o.Name))
}

// groupsBelow returns the directories below one that end in a path.
func groupsBelow(mount, path string) (dirs []string) {
	filepath.WalkDir(mount, func(dir string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir // it went, or it is not for us to see
		case !d.IsDir():
			return nil
		case strings.HasSuffix(dir, "/"+path):
			dirs = append(dirs, dir)
			return fs.SkipDir
		}
		return nil
	})
	return dirs
}

// Sweep removes the empty cgroups below base for whose names keep returns false: their
// supervisors died after the last process. It looks where Open of this process would make
// one, as cgroups that systemd delegated have gone by themselves.
func Sweep(text string, keep func(name string) bool) {
	path, err := base(text)
	mount, own, ok := hierarchy()
	if err != nil || !ok {
		return
	}
	for _, p := range places(mount, own, os.Getpid()) {
		dir := filepath.Join(p.dir, path)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.IsDir() && !keep(e.Name()) {
				asuser.Root(func() { unix.Rmdir(filepath.Join(dir, e.Name())) }) // the kernel keeps cgroups in use
			}
		}
	}
}

// base returns BASE_CGROUP as a path below a place; an error if it is no such path.
func base(text string) (string, error) {
	path := strings.Trim(filepath.Clean(text), "/")
	if !filepath.IsLocal(path) || path == "." {
		return "", fmt.Errorf("%q: want the path of a cgroup", text)
	}
	return path, nil
}

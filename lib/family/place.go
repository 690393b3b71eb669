package family

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

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

// place is a cgroup in which others can be made.
type place struct {
	dir string
	// ours: nobody but us is in it, so that we can leave it to what we make there.
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
	// Whoever moves a process needs the right to write this file of the cgroup above
	// both ends.
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
// CLONE_INTO_CGROUP, since Linux 5.7), by asking for one that cannot be.
func canStartInside() bool {
	args := struct {
		flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
	}{flags: unix.CLONE_INTO_CGROUP, exitSignal: uint64(unix.SIGCHLD), cgroup: 1<<31 - 1} // no file has this number
	_, _, err := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	return err == unix.EBADF
}

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

// Sweep removes the cgroups below base that are empty and whose names are not to be kept:
// their supervisors died after the last process. It looks where Open of this process would
// make one, for what systemd delegated has gone by itself.
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
				asuser.Root(func() { unix.Rmdir(filepath.Join(dir, e.Name())) }) // the kernel keeps what is in use
			}
		}
	}
}

// base returns BASE_CGROUP as a path below a place; an error when it is none.
func base(text string) (string, error) {
	path := strings.Trim(filepath.Clean(text), "/")
	if !filepath.IsLocal(path) || path == "." {
		return "", fmt.Errorf("%q: want the path of a cgroup", text)
	}
	return path, nil
}

package family

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Survivors ends what is left of a family whose supervisor is gone: what is in its
// cgroup, what has one of its marks, and what descends from that. It returns how many
// processes were sent SIGKILL. The error says how many are there still after so long.
//
// Without a cgroup it does not find a process that has cleared its environment, set its
// limit of file locks, and outlived its ancestors.
func Survivors(o Options, patience time.Duration) (killed int, err error) {
	var cells []*cell
	for _, dir := range findGroups(o) {
		c := &cell{dir: dir, fd: -1}
		defer c.remove() // what cannot be removed is empty, or the error says so
		cells = append(cells, c)
	}
	find := func() []process { return survivors(o, cells) }
	if len(find()) == 0 {
		return 0, nil
	}
	killed, left := end(find, patience)
	if left > 0 {
		err = leftError(left, patience)
	}
	return killed, err
}

// survivors returns what is alive of a family whose supervisor is gone.
func survivors(o Options, cells []*cell) []process {
	list := map[int]process{}
	if plain(o.Name) {
		for _, p := range marked(o) {
			list[p.pid] = p
		}
	}
	for _, c := range cells {
		for _, pid := range c.pids() {
			if p, ok := readProcess(pid); ok {
				list[pid] = p
			}
		}
	}
	return living(list)
}

// EndHolders sends SIGKILL to all processes that hold the flock on a file, as /proc
// tells, and returns how many there were. A process that has the file open without that
// lock is left alone, and so are we.
func EndHolders(path string) (killed int) {
	file, err := os.Stat(path)
	if err != nil {
		return 0
	}
	for pid, p := range allProcesses() {
		if pid != os.Getpid() && holds(pid, file) && p.signal(syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// holds tells whether a process holds the flock on a file.
func holds(pid int, file os.FileInfo) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	links, _ := filepath.Glob(dir + "/fd/*")
	for _, link := range links {
		info, err := os.Stat(link)
		if err != nil || !os.SameFile(info, file) {
			continue
		}
		about, err := os.ReadFile(filepath.Join(dir, "fdinfo", filepath.Base(link)))
		if err == nil && bytes.Contains(about, []byte("FLOCK")) {
			return true
		}
	}
	return false
}

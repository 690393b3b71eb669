package family

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fairspool/lib/asuser"
)

// Survivors ends what is left of a family whose supervisor is gone: what is in its
// cgroup, what has one of its marks, and what descends from that. It returns how many
// processes were sent SIGKILL. The error says how many are there still after so long.
//
// Without a cgroup it does not find a process that has cleared its environment, set its
// limit of file locks, and outlived its ancestors.
func Survivors(o Options, patience time.Duration) (killed int, err error) {
	if e := asuser.Root(func() { killed, err = endSurvivors(o, patience) }); e != nil {
		return 0, e
	}
	return killed, err
}

func endSurvivors(o Options, patience time.Duration) (killed int, err error) {
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

// EndHolders sends SIGKILL to all processes that have a pipe open for reading, and returns how many
// there were. A process that has it open for writing only is left alone, and so are we; and in a
// process that serves an account, whoever is none of its users: a job may have handed the pipe to
// another process.
func EndHolders(path string) (killed int) {
	pipe, err := os.Stat(path)
	if err != nil {
		return 0
	}
	asuser.Root(func() {
		for pid, p := range allProcesses() {
			if pid != os.Getpid() && holds(pid, pipe) && asuser.Refusal(asuser.User{UID: realUser(pid)}) == "" && p.signal(syscall.SIGKILL) == nil {
				killed++
			}
		}
	})
	return killed
}

// holds reports whether a process has a pipe open for reading.
func holds(pid int, pipe os.FileInfo) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	links, _ := filepath.Glob(dir + "/fd/*")
	for _, link := range links {
		info, err := os.Stat(link)
		if err != nil || !os.SameFile(info, pipe) {
			continue
		}
		about, err := os.ReadFile(filepath.Join(dir, "fdinfo", filepath.Base(link)))
		if err == nil && flagsOf(string(about))&syscall.O_ACCMODE != syscall.O_WRONLY {
			return true
		}
	}
	return false
}

// flagsOf returns the flags with which a file was opened, by its fdinfo (proc(5)).
func flagsOf(about string) int64 {
	n, _ := strconv.ParseInt(field(about, "flags:"), 8, 64)
	return n
}

// realUser returns the real uid of a process; 0 if it has ended.
func realUser(pid int) int {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	uid, _ := strconv.Atoi(field(string(status), "Uid:"))
	return uid
}

// field returns the first word behind a name in a text of /proc.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if rest, is := strings.CutPrefix(line, name); is {
			word, _, _ := strings.Cut(strings.TrimSpace(rest), "\t")
			return word
		}
	}
	return ""
}

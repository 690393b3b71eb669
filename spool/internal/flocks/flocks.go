// Package flocks tells which processes of this machine have files locked by flock(2).
package flocks

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Holder is a process that has the exclusive flock of a file.
type Holder struct {
	PID     int
	File    os.FileInfo
	Stopped bool // by a signal: it goes on only at SIGCONT
}

// Holders returns the processes that hold locks of some files. It touches no lock. One
// may be missed while processes of the machine free locks: the kernel's table is read in
// pieces.
func Holders(files []os.FileInfo) (list []Holder, err error) {
	table, err := os.Open("/proc/locks")
	if err != nil {
		return nil, err
	}
	defer table.Close()
	byInode := map[uint64]os.FileInfo{}
	for _, info := range files {
		byInode[info.Sys().(*syscall.Stat_t).Ino] = info
	}
	for lines := bufio.NewScanner(table); lines.Scan(); {
		pid, inode, ok := exclusive(lines.Text())
		if info := byInode[inode]; ok && info != nil && hasOpen(pid, info) {
			list = append(list, Holder{pid, info, stopped(pid)})
			delete(byInode, inode) // a line may come twice when others take locks meanwhile
		}
	}
	return list, nil
}

// exclusive reads a line of /proc/locks, such as
//
//	1: FLOCK  ADVISORY  WRITE 708 00:1b:4398440 0 EOF
//
// and returns the process and the inode of an exclusive flock that is held: false for any other
// line.
func exclusive(line string) (pid int, inode uint64, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" {
		return 0, 0, false
	}
	pid, err := strconv.Atoi(f[4])
	place := strings.Split(f[5], ":")
	inode, bad := strconv.ParseUint(place[len(place)-1], 10, 64)
	return pid, inode, err == nil && bad == nil
}

// hasOpen reports whether a process has a file open: inodes of several file systems may have one
// number.
func hasOpen(pid int, file os.FileInfo) bool {
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range open {
		if info, err := os.Stat(fd); err == nil && os.SameFile(info, file) {
			return true
		}
	}
	return false
}

// stopped reports whether a process is stopped by a signal.
func stopped(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	at := bytes.LastIndexByte(b, ')') + 2
	return err == nil && at < len(b) && b[at] == 'T'
}

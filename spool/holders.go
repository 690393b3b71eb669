package spool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Holder is a process that has one of the spool's locks.
type Holder struct {
	Lock    string // the name of its file, such as negotiate.lock
	PID     int
	Program string // empty: unknown, as the lock is not a fairspool program's
	// Since is when it took the lock, to the second; zero where Program is empty.
	Since time.Time
	// Stopped: it was stopped by a signal, and goes on only at SIGCONT.
	Stopped bool
}

// Holders returns the processes that have the locks for which others wait: those of writers, of
// negotiation cycles and of folds. It touches no lock, and knows of processes of this machine
// only. One may be missed while other processes of the machine free locks: the kernel's table is
// read in pieces.
func (s *Spool) Holders() (list []Holder, err error) {
	table, err := os.Open("/proc/locks")
	if err != nil {
		return nil, err
	}
	defer table.Close()
	files := map[uint64]os.FileInfo{} // by inode
	for _, name := range []string{"lock", "negotiate.lock", "fold.lock"} {
		info, err := os.Stat(s.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[info.Sys().(*syscall.Stat_t).Ino] = info
	}
	for lines := bufio.NewScanner(table); lines.Scan(); {
		pid, inode, ok := flocked(lines.Text())
		if info := files[inode]; ok && info != nil && hasOpen(pid, info) {
			list = append(list, s.heldBy(info.Name(), pid))
			delete(files, inode) // a line may come twice when others take locks meanwhile
		}
	}
	return list, nil
}

// flocked reads a line of /proc/locks, such as
//
//	1: FLOCK  ADVISORY  WRITE 708 00:1b:4398440 0 EOF
//
// and returns the process and the inode of an exclusive flock that is held: false for any other
// line.
func flocked(line string) (pid int, inode uint64, ok bool) {
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

// heldBy returns the holder of a lock, of which the first line of the file tells more.
func (s *Spool) heldBy(name string, pid int) Holder {
	h := Holder{Lock: name, PID: pid, Stopped: stopped(pid)}
	b, err := contents(s.files, s.path(name))
	if err != nil || len(b) < lineSize {
		return h
	}
	line, _ := checked(string(b[:lineSize]))
	var of int
	var program, since string
	fmt.Sscanf(line, "held by pid %d (%s since %s", &of, &program, &since)
	if at, err := time.Parse(time.RFC3339, since); err == nil && of == pid {
		h.Program, h.Since = strings.TrimSuffix(program, ")"), at
	}
	return h
}

// stopped reports whether a process is stopped by a signal.
func stopped(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	at := bytes.LastIndexByte(b, ')') + 2
	return err == nil && at < len(b) && b[at] == 'T'
}

// ClaimLocked reports whether a process is in charge of the claim with this LockName: it has the
// lock that LockClaim takes. The caller must not have it, as this would free it.
func (s *Spool) ClaimLocked(name string) (bool, error) {
	f, err := os.Open(s.ClaimLock(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	whole := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &whole); err != nil {
		return false, fmt.Errorf("%s: fcntl: %w", f.Name(), err)
	}
	return whole.Type != syscall.F_UNLCK, nil
}

// Inside reports whether a file or folder, which need not be there yet, is a
// directory or lies in it, by whatever name: also through symbolic links.
func Inside(name, dir string) bool {
	home, err := os.Stat(dir)
	if err != nil {
		return false
	}
	if name, err = filepath.Abs(name); err != nil {
		return false
	}
	for {
		info, err := os.Stat(name)
		if err == nil && os.SameFile(info, home) {
			return true
		}
		if real, e := filepath.EvalSymlinks(name); err == nil && e == nil {
			name = real
		}
		parent := filepath.Dir(name)
		if parent == name {
			return false
		}
		name = parent
	}
}

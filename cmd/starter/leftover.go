package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// lockOfLost takes both locks on the file of a claim whose supervisor is gone,
// the flock from the hands of what is left of the job if need be: those
// processes are killed, and have the patience to go. errBusy: the supervisor
// lives.
func lockOfLost(path string, patience time.Duration) (*claimLock, error) {
	lock, err := takeCharge(path)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := lock.flock()
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, errBusy) {
			lock.file.Close()
			return nil, err
		}
		if killed := killHolders(path); time.Now().After(end) {
			lock.file.Close()
			return nil, fmt.Errorf("its supervisor died, and %d processes of the job are still there %v after SIGKILL", killed, patience)
		}
	}
}

// killHolders sends SIGKILL to all processes that hold the flock on the file,
// as /proc tells, and returns how many there were. A process that has the
// file open without that lock is left alone.
func killHolders(path string) int {
	file, err := os.Stat(path)
	if err != nil {
		return 0
	}
	killed := 0
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		// The descriptor pins the process: its number cannot pass to another
		// between the look and the signal.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if holds(dir, file) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
			killed++
		}
		unix.Close(fd)
	}
	return killed
}

// holds tells whether the process with that folder in /proc holds the flock
// on a file.
func holds(dir string, file os.FileInfo) bool {
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

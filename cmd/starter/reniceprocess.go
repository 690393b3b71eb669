package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// settle gives all processes of a job the same nice value.
//
// Three things tell Linux how processor time is shared. Within a session it is the nice
// value of each thread. Between sessions, of which each job has its own, it is the nice
// value of their autogroups (sched(7)), where the kernel has these; and between control
// groups that the controller cpu is for, their weight (cgroups(7)). So all three are set.
// A session that a process of the job begins later has 0 until the next interval.
type settle struct {
	want   int   // -20 to 19
	failed error // what could not be had
	again  bool  // the kernel wants to be asked again later
}

// settleRounds is how often the processes are looked at: one that was started by another
// that had the old value has that, too.
const settleRounds = 3

// all sets what there is to be set.
func (s *settle) all(job relatives) {
	ours, _ := autogroup(os.Getpid())
	for range settleRounds {
		changed := false
		for _, pid := range job.Processes() {
			now, err := s.process(pid)
			grouped := s.session(pid, ours)
			if err != nil && !grouped {
				s.failed = err
			}
			changed = changed || now
		}
		if !changed {
			break
		}
	}
	s.weigh(job)
}

// process sets the nice values of a process's threads and tells whether that changed one.
// The error says what could not be had.
func (s *settle) process(pid int) (changed bool, failed error) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			continue
		}
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
		has := 20 - raw // the system call's own scale
		if err != nil || has == s.want {
			continue // one that has ended, or is as it should be
		}
		got := s.thread(tid, has)
		changed = changed || got != has
		if got != s.want {
			failed = fmt.Errorf("the nice value %d is due to it, and it keeps %d: only root may give a process a smaller one than it has", s.want, got)
		}
	}
	return changed, failed
}

// thread sets the nice value of a thread, or what comes next to it of those that it may
// have, and returns the one that it has then.
func (s *settle) thread(tid, has int) int {
	err := unix.Setpriority(unix.PRIO_PROCESS, tid, s.want)
	if err != unix.EACCES && err != unix.EPERM {
		return s.want // also if it has ended
	}
	var limit unix.Rlimit
	if unix.Prlimit(tid, unix.RLIMIT_NICE, nil, &limit) != nil {
		return has
	}
	least := 20 - int(min(limit.Cur, 40)) // getrlimit(2)
	if next := max(s.want, least); next < has && unix.Setpriority(unix.PRIO_PROCESS, tid, next) == nil {
		return next
	}
	return has
}

// session sets the nice value of the autogroup that a process is in, and tells whether
// there is one: the nice values of its threads matter to nobody else then. That of ours
// is let alone, in which a process is until it has a session of its own.
func (s *settle) session(pid int, ours string) bool {
	name, nice := autogroup(pid)
	if name == "" || name == ours || nice == s.want {
		return name != "" && name != ours
	}
	err := setAutogroup(pid, s.want)
	if errors.Is(err, unix.EPERM) && s.want < 0 && nice != 0 {
		err = setAutogroup(pid, 0)
	}
	switch {
	case errors.Is(err, unix.EAGAIN):
		s.again = true
	case errors.Is(err, unix.EPERM):
		s.failed = fmt.Errorf("the nice value %d is due to its session: only root may give a session less than 0", s.want)
	}
	return true
}

func setAutogroup(pid, nice int) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/autogroup", pid), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(strconv.Itoa(nice))
	return err
}

// autogroup returns the name and the nice value of the autogroup that a process is in;
// none where the process, or autogroups, are not there.
func autogroup(pid int) (name string, nice int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	if n, err := fmt.Sscanf(string(text), "%s nice %d", &name, &nice); n != 2 || err != nil {
		return "", 0
	}
	return name, nice
}

// weigh sets the weight of the job's control group.
func (s *settle) weigh(job relatives) {
	fd, ok := job.FD()
	if !ok {
		return
	}
	file, err := unix.Openat(fd, "cpu.weight.nice", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return // the controller is not in force
	}
	if err == nil {
		_, err = unix.Write(file, []byte(strconv.Itoa(s.want)))
		unix.Close(file)
	}
	if err != nil {
		s.failed = &fs.PathError{Op: "write", Path: "cpu.weight.nice", Err: err}
	}
}

// mostDescendants bounds a look at a job that starts processes faster than they can be
// counted.
const mostDescendants = 10000

// descendants returns the process ids of what a process has started, and these in their
// turn. One may be missing when another ends at that moment.
func descendants(pid int) (pids []int) {
	todo := []int{pid}
	for len(todo) > 0 && len(pids) < mostDescendants {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", todo[len(todo)-1]))
		todo = todo[:len(todo)-1]
		for _, file := range files {
			list, _ := os.ReadFile(file) // nothing of a thread that has ended
			for _, word := range strings.Fields(string(list)) {
				if child, err := strconv.Atoi(word); err == nil {
					todo, pids = append(todo, child), append(pids, child)
				}
			}
		}
	}
	return pids
}

// cpuOf returns the seconds of processor time that a process has used, and those of its
// children that it waited for (proc(5), /proc/PID/stat); false for one that has gone.
func cpuOf(pid int) (own, children float64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(text, ')') // the name before it may hold anything
	if err != nil || i < 0 {
		return 0, 0, false
	}
	fields := strings.Fields(string(text[i+1:])) // from field 3 on
	if len(fields) < 15 {
		return 0, 0, false
	}
	number := func(field int) float64 {
		n, _ := strconv.ParseFloat(fields[field-3], 64)
		return n
	}
	const utime, stime, cutime, cstime, perSecond = 14, 15, 16, 17, 100
	return (number(utime) + number(stime)) / perSecond, (number(cutime) + number(cstime)) / perSecond, true
}

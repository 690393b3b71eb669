package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// spent is what an attempt has used so far.
type spent struct {
	wall, user, sys time.Duration
	rssKB           int64 // resident set: what was measured at most
}

// over returns the ad of the job as it reads with what the attempt has used so far:
// RemoteWallClockTime, RemoteUserCpu and RemoteSysCpu are those of all attempts.
func (u spent) over(ad *classad.Ad) *classad.Ad {
	c := &classad.Context{}
	now := classad.New().Chain(ad)
	for _, x := range []struct {
		name string
		more time.Duration
	}{{pool.AttrWallClock, u.wall}, {pool.AttrUserCPU, u.user}, {pool.AttrSysCPU, u.sys}} {
		before, _ := ad.EvalNumber(c, x.name)
		now.SetReal(x.name, before+x.more.Seconds())
	}
	if u.rssKB > 0 {
		now.SetInt(pool.AttrResidentSetSize, u.rssKB)
		if !ad.Has(pool.AttrMemoryUsage) {
			now.SetInt(pool.AttrMemoryUsage, (u.rssKB+1023)/1024)
		}
	}
	return now
}

// measure returns what the attempt has used so far, as far as the processes tell
// that are there: all descendants of the supervisor. Memory that several of them share
// counts for each.
func (p *policy) measure() (u spent) {
	if p.executed.IsZero() {
		return u
	}
	u.wall = time.Since(p.executed)
	rss := int64(0)
	todo := childrenOf("self")
	for seen := 0; len(todo) > 0 && seen < mostProcesses; seen++ {
		pid := strconv.Itoa(todo[len(todo)-1])
		todo = append(todo[:len(todo)-1], childrenOf(pid)...)
		one := readStat(pid)
		u.user, u.sys, rss = u.user+one.user, u.sys+one.sys, rss+one.rssKB
	}
	p.peakKB = max(p.peakKB, rss)
	u.rssKB = p.peakKB
	return u
}

// mostProcesses bounds a look at a job that starts processes faster than they can be
// counted.
const mostProcesses = 10000

// childrenOf returns the process ids of the children of the process that has this
// name in /proc. One may be missing when another ends at that moment.
func childrenOf(name string) (pids []int) {
	files, _ := filepath.Glob("/proc/" + name + "/task/*/children")
	for _, file := range files {
		list, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		for _, word := range strings.Fields(string(list)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// ticks is how long the unit is in which /proc counts processor time.
const ticks = time.Second / 100

// readStat returns what a process has used, together with those of its children that
// it waited for (proc(5), /proc/PID/stat); nothing for one that has gone.
func readStat(pid string) (u spent) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	i := bytes.LastIndexByte(b, ')') // the name before it may hold anything
	if err != nil || i < 0 {
		return spent{}
	}
	fields := strings.Fields(string(b[i+1:])) // from field 3 on
	if len(fields) < 22 {
		return spent{}
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(fields[field-3], 10, 64)
		return n
	}
	const utime, stime, cutime, cstime, rss = 14, 15, 16, 17, 24
	return spent{
		user:  time.Duration(number(utime)+number(cutime)) * ticks,
		sys:   time.Duration(number(stime)+number(cstime)) * ticks,
		rssKB: number(rss) * int64(os.Getpagesize()) / 1024,
	}
}

package main

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/lib/classad"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// processorsFor returns the processors that the job of a claim is bound to: as many as its
// slot has cores, the lowest that we may use and no other job here is bound to. Nil: too few
// of them are left, or how many it takes is not known, and it may run on all.
//
// Whoever calls it holds the spool's lock until the job's ad names them, lest two jobs get
// the same.
func processorsFor(v *spool.View, claim pool.Claim, slot *classad.Ad) []int {
	if slot == nil {
		return nil
	}
	cores, ok := slot.EvalNumber(&classad.Context{}, pool.AttrCpus)
	if !ok || !(cores > 0) {
		return nil
	}
	usable := processorsHere()
	if cores > float64(len(usable)) {
		return nil
	}
	return lowestFree(usable, boundHere(v, claim), int(math.Ceil(cores)))
}

// lowestFree returns the first n of some processors that are not taken; nil when there are
// not so many.
func lowestFree(usable []int, taken map[int]bool, n int) []int {
	var free []int
	for _, cpu := range usable {
		if !taken[cpu] && len(free) < n {
			free = append(free, cpu)
		}
	}
	if len(free) < n {
		return nil
	}
	return free
}

// processorsHere returns the processors that this process may use, ascending; none when that
// cannot be told.
func processorsHere() (list []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for cpu, left := 0, set.Count(); left > 0; cpu++ {
		if set.IsSet(cpu) {
			list, left = append(list, cpu), left-1
		}
	}
	return list
}

// boundHere returns the processors that jobs are bound to which other claims on the same
// machine run.
func boundHere(v *spool.View, claim pool.Claim) map[int]bool {
	taken := map[int]bool{}
	for _, c := range v.Claims() {
		runs := c.State == pool.RunningClaim || c.State == pool.Vacating
		if !runs || c.Job == claim.Job || !strings.EqualFold(c.Machine, claim.Machine) {
			continue
		}
		ad, ok := v.Job(c.Job)
		if !ok {
			continue
		}
		text, _ := ad.EvalString(&classad.Context{}, pool.AttrCPUAffinity)
		for name := range strings.SplitSeq(text, ",") {
			if cpu, err := strconv.Atoi(name); err == nil {
				taken[cpu] = true
			}
		}
	}
	return taken
}

// bound is what a job's ad says of the processors that it is bound to; nothing without any.
func bound(cpus []int) []launch.Found {
	if len(cpus) == 0 {
		return nil
	}
	var names []string
	for _, cpu := range cpus {
		names = append(names, strconv.Itoa(cpu))
	}
	text := classad.String(strings.Join(names, ","))
	return []launch.Found{{Name: pool.AttrCPUAffinity, Expr: classad.Literal(text)}}
}

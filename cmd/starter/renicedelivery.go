package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/spool"
)

// delivery is what was found out for all jobs of a machine at one moment.
type delivery struct {
	At   float64              // seconds since the machine was started
	Jobs map[string]delivered // by the name of the attempt
}

// delivered is a job's part in a delivery.
type delivered struct {
	CPU   float64 // seconds: what its processes and its supervisor's children have used so far
	Usage float64 // seconds: what it has used of late
	Nice  *int    `json:",omitempty"` // what is due to it; nil: nobody has tickets
}

// delivered returns the delivery of the present interval, and makes it when nobody has
// yet; errBusy while another does.
//
// The file is written in its place, as it is its own lock. One that is damaged by a
// crash, or left over from before the machine was started anew, counts as none.
func (r *reprioritizer) delivered() (d delivery, err error) {
	if spool.Gone(r.spool.Dir()) {
		return d, nil
	}
	if err := makeFolder(r.folder); err != nil {
		return d, err
	}
	f, err := os.OpenFile(r.deliveryPath(), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return d, err
	}
	defer f.Close()
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
	case nil:
	case unix.EWOULDBLOCK, unix.EINTR:
		return d, errBusy
	default:
		return d, fmt.Errorf("%s: flock: %w", f.Name(), err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return d, err
	}
	now := r.clock()
	if json.Unmarshal(text, &d) != nil || d.At > now {
		d = delivery{}
	}
	if d.At >= r.begun() && d.Jobs != nil {
		return d, nil
	}
	return r.deliver(f, d, now)
}

// deliver makes the delivery of now, the one after d, and writes it to the file.
func (r *reprioritizer) deliver(f *os.File, d delivery, now float64) (delivery, error) {
	jobs, tickets, err := r.look()
	if err != nil {
		return d, err
	}
	var loads []load
	if err := asuser.Root(func() { loads = measured(jobs) }); err != nil {
		return d, err
	}
	d = d.next(now, loads, tickets, r.RunTime)
	text, err := json.Marshal(d)
	if err != nil {
		return d, err
	}
	if err := f.Truncate(0); err != nil {
		return d, err
	}
	_, err = f.WriteAt(text, 0)
	return d, err
}

// load is a job with what it has used so far.
type load struct {
	runner
	live   float64 // seconds: its processes, with their children that have ended
	reaped float64 // seconds: the children of its supervisor that have ended, maybe of a job before it
}

// measured returns the jobs whose supervisors are there, with what they have used so far.
func measured(jobs []runner) (loads []load) {
	for _, job := range jobs {
		_, reaped, ok := cpuOf(job.pid)
		if !ok {
			continue // the next pass ends the claim
		}
		l := load{runner: job, reaped: reaped}
		for _, pid := range descendants(job.pid) {
			own, children, _ := cpuOf(pid)
			l.live += own + children
		}
		loads = append(loads, l)
	}
	return loads
}

// next returns the delivery that follows d. A job's recent usage is what it has used
// since d and what was not forgotten at d. Of one that d does not know that is all that
// its processes have used.
func (d delivery) next(at float64, loads []load, tickets bool, run config.RunTime) delivery {
	after := delivery{At: at, Jobs: map[string]delivered{}}
	runners := make([]jobprio.Runner, len(loads))
	for i, l := range loads {
		one := delivered{CPU: l.live + l.reaped, Usage: l.live}
		if before, ok := d.Jobs[l.name]; ok {
			one.Usage = jobprio.Forget(before.Usage) + max(one.CPU-before.CPU, 0)
		}
		after.Jobs[l.name] = one
		runners[i] = jobprio.Runner{Tickets: l.tickets, Usage: one.Usage, Procs: l.slots}
	}
	if !tickets {
		return after
	}
	for i, nice := range jobprio.NiceValues(runners, run.Best, run.Worst) {
		one := after.Jobs[loads[i].name]
		one.Nice = &nice
		after.Jobs[loads[i].name] = one
	}
	return after
}

package main

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// A reprioritizer keeps the nice value of an attempt's processes as the tickets of all
// jobs that run on the machine have it (jobprio.NiceValues): its run-time priority.
//
// All supervisors of a spool on a machine look at the same moments, the whole multiples
// of the interval since the machine was started. Whoever is first makes the delivery: it
// looks at the queue and at what all of the jobs have used, and writes down what is due to
// each of them. The others find that done and read it. So they agree, and the queue is
// read once, however many jobs run. Each changes the processes of its own job alone.
type reprioritizer struct {
	config.RunTime
	spool   *spool.Spool
	attempt attempt
	machine string           // as claims call it
	folder  string           // of the scratch directories, where the deliveries are
	now     func() time.Time // policy time
	clock   func() float64   // seconds since the machine was started
	tell    func(error)
	job     relatives

	due  <-chan time.Time
	told bool // that the value cannot be had
}

// relatives are the processes of a job, and its control group, whose directory is open
// as FD where it has one: a family.Family.
type relatives interface {
	Processes() (pids []int)
	FD() (fd int, ok bool)
}

// reprioritizer returns what adjusts the run-time priority of the supervisor's job. It
// never becomes due where reprioritize_interval is 0, or this machine has no name.
func (s *supervisor) reprioritizer(job relatives) *reprioritizer {
	r := &reprioritizer{
		RunTime: s.call.Config.RunTime, spool: s.spool, attempt: s.attempt, folder: s.folder,
		now: s.now, clock: sinceBoot, tell: s.complain, job: job,
	}
	if r.Interval <= 0 {
		return r
	}
	var err error
	if r.machine, err = s.call.Hostname(); err != nil {
		s.complain(err)
		return r
	}
	r.plan()
	return r
}

// sinceBoot returns the seconds since the machine was started, which all processes agree
// on and nobody sets.
func sinceBoot() float64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail with this clock
	return float64(t.Sec) + float64(t.Nsec)/1e9
}

// next fires when apply is to be called; nil: never.
func (r *reprioritizer) next() <-chan time.Time { return r.due }

// plan sets the alarm to a moment after the next multiple of the interval.
func (r *reprioritizer) plan() {
	r.due = time.After(seconds(r.begun()+r.Interval.Seconds()-r.clock()) + time.Millisecond)
}

// begun returns when the interval began that it is now.
func (r *reprioritizer) begun() float64 {
	every := r.Interval.Seconds()
	return math.Floor(r.clock()/every) * every
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Waits for others: for one that makes the delivery, and for the kernel, which lets
// ordinary users change an autogroup ten times a second, all of them together.
const (
	deliveryRetry = 200 * time.Millisecond
	kernelRetry   = 300 * time.Millisecond
)

// apply gives the job's processes the nice value that is due to them. It does not wait
// for others, but has next fire again.
func (r *reprioritizer) apply() {
	if wait := r.adjust(); wait > 0 {
		r.due = time.After(wait)
	} else {
		r.plan()
	}
}

// adjust does what apply says, and returns when to try again; 0: it is done for this
// interval.
func (r *reprioritizer) adjust() (retry time.Duration) {
	d, err := r.delivered()
	switch {
	case errors.Is(err, errBusy):
		return deliveryRetry
	case err != nil:
		r.tell(fmt.Errorf("its run-time priority: %w", err))
		return 0
	}
	job, ok := d.Jobs[r.attempt.name()]
	if !ok || job.Nice == nil {
		return 0 // begun after the delivery, or nobody has tickets
	}
	s := settle{want: min(*job.Nice, 19)} // Linux has no 20
	if err := asuser.Root(func() { s.all(r.job) }); err != nil {
		s.failed = err
	}
	if s.failed != nil && !r.told {
		r.told = true
		r.tell(fmt.Errorf("its run-time priority: %w", s.failed))
	}
	if s.again {
		return kernelRetry
	}
	return 0
}

// name returns the name of the attempt's lock and scratch directory.
func (a attempt) name() string { return pool.Claim{Job: a.Job, Attempt: a.Number}.LockName() }

// deliveryPath returns where this machine's deliveries are. A folder on a network may
// serve several machines.
func (r *reprioritizer) deliveryPath() string {
	return filepath.Join(r.folder, "nice."+url.PathEscape(strings.ToLower(r.machine)))
}

// runner is what the queue says of a job that runs on this machine.
type runner struct {
	name    string // of the attempt
	pid     int    // its supervisor
	tickets float64
	slots   int
}

// look returns the jobs that run on this machine, and whether one of them has tickets.
// The queue is forgotten again: a machine may have many supervisors.
func (r *reprioritizer) look() (jobs []runner, tickets bool, err error) {
	c := &classad.Context{Now: r.now()}
	err = r.spool.View(func(v *spool.View) error {
		for _, claim := range v.Claims() {
			ad, ok := v.Job(claim.Job)
			if !ok || claim.State != pool.RunningClaim || !strings.EqualFold(claim.Machine, r.machine) {
				continue
			}
			n, has := ticketsOf(c, ad)
			jobs = append(jobs, runner{claim.LockName(), claim.PID, n, slotsOf(c, ad)})
			tickets = tickets || has
		}
		return nil
	})
	r.spool.Close()
	return jobs, tickets, err
}

// ticketsOf returns the tickets of a job: those that the policy gave it, else those that
// it was given by hand. It is false where neither is a number.
func ticketsOf(c *classad.Context, ad *classad.Ad) (float64, bool) {
	for _, name := range []string{pool.AttrTickets, attrOverrideTickets} {
		if n, ok := ad.EvalNumber(c, name); ok {
			return n, true
		}
	}
	return 0, false
}

const attrOverrideTickets = "OverrideTickets"

// slotsOf returns how many processors a job asked for, 1 at least.
func slotsOf(c *classad.Context, ad *classad.Ad) int {
	const most = 1 << 20
	if n, ok := ad.EvalNumber(c, pool.AttrRequestCpus); ok && n > 1 {
		return int(min(n, most))
	}
	return 1
}

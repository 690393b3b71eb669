// Package waiting is what commands share that wait for jobs to end: looking again
// and again with a line of progress, telling of jobs that were put on hold
// meanwhile, and the exit status that stands for how the jobs ended.
//
// Log looks the jobs up in an event log; commands that look into the spool do so themselves.
package waiting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/pool"
)

// Far is how far the jobs have come when they are looked at.
type Far struct {
	Ended, All int
	Done       bool     // there is nothing more to wait for
	News       []string // lines to be told at once
}

// Pace is how to wait.
type Pace struct {
	Every   time.Duration  // from one look to the next
	Timeout *time.Duration // give up after that; nil: never
}

// What Until returns when the jobs have not ended.
var (
	ErrTimedOut    = errors.New("timed out")
	ErrInterrupted = errors.New("interrupted")
)

// Interrupted is the exit status of a command that was interrupted at waiting: that
// which shells give for SIGINT.
const Interrupted = bySignal + 2

// Until looks again and again until everything is done, which returns nil, or
// looking fails, which returns that error. When the time is up it looks once more.
// SIGINT ends the waiting, and a second one the process.
func Until(c *cmdline.Call, pace Pace, look func() (Far, error)) error {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var timeout <-chan time.Time
	if pace.Timeout != nil {
		timer := time.NewTimer(*pace.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	again := time.NewTicker(pace.Every)
	defer again.Stop()
	p := c.Progress("waiting")
	defer func() { p.End() }()
	for last := false; ; {
		far, err := look()
		if len(far.News) > 0 {
			p.End()
			for _, line := range far.News {
				c.Warn("%s", line)
			}
			p = c.Progress("waiting")
		}
		switch {
		case err != nil || far.Done:
			return err
		case last:
			return ErrTimedOut
		}
		p.Count(far.Ended, fmt.Sprintf("of %d jobs have ended", far.All))
		select {
		case <-again.C:
		case <-timeout:
			last = true
		case <-interrupted.Done():
			return ErrInterrupted
		}
	}
}

// Outcome is how a job ended.
type Outcome struct {
	Job         pool.JobID
	ReturnValue int    // of a normal end
	Signal      int    // that killed it; 0 for a normal end, below 0 for one that is not known
	Removed     bool   // from the queue, before it had ended by itself
	Lost        bool   // it is unknown how it ended
	Reason      string // of the removal; may be empty
}

// bySignal is what shells add to the number of a signal.
const bySignal = 128

// Status returns the exit status for the outcome: the job's own, 128 and the number of
// the signal that killed it, and 1 for a job that was removed or whose end is unknown.
func (o Outcome) Status() int {
	switch {
	case o.Removed || o.Lost:
		return 1
	case o.Signal < 0:
		return bySignal
	case o.Signal > 0:
		return bySignal + o.Signal%bySignal
	case o.ReturnValue != 0 && o.ReturnValue&0xff == 0:
		return 1
	}
	return o.ReturnValue & 0xff
}

// Status returns the exit status for several outcomes in the order of their jobs: the
// first that is not 0.
func Status(list []Outcome) int {
	for _, o := range list {
		if s := o.Status(); s != 0 {
			return s
		}
	}
	return 0
}

// String says how the job ended: "12.0 returned 3".
func (o Outcome) String() string {
	switch {
	case o.Removed && o.Reason != "":
		return fmt.Sprintf("%v was removed: %s", o.Job, o.Reason)
	case o.Removed:
		return fmt.Sprintf("%v was removed", o.Job)
	case o.Lost:
		return fmt.Sprintf("%v has ended, with an unknown result", o.Job)
	case o.Signal < 0:
		return fmt.Sprintf("%v was killed by a signal", o.Job)
	case o.Signal > 0:
		return fmt.Sprintf("%v was killed by signal %d", o.Job, o.Signal)
	}
	return fmt.Sprintf("%v returned %d", o.Job, o.ReturnValue)
}

// atMost bounds how many jobs are named.
const atMost = 10

// Summary is what -json prints.
type Summary struct {
	Jobs, Ended int
	TimedOut    bool `json:",omitempty"`
	ExitStatus  int
	Outcomes    []ended
}

// ended is one job of the summary.
type ended struct {
	ClusterID   int    `json:"ClusterId"`
	ProcID      int    `json:"ProcId"`
	ReturnValue *int   `json:",omitempty"`
	Signal      int    `json:",omitempty"`
	Removed     bool   `json:",omitempty"`
	Lost        bool   `json:",omitempty"`
	Reason      string `json:",omitempty"`
}

// Finish reports how all the jobs ended, in order of their ids, and returns the error
// with their exit status. Jobs that did not end well are listed on standard error; with
// -json all are in a summary on standard output.
func Finish(c *cmdline.Call, list []Outcome) error {
	status := Status(list)
	if c.Has("json") {
		if err := c.JSON(newSummary(list, len(list), status, false)); err != nil {
			return err
		}
		return cmdline.ExitStatus(status)
	}
	bad := 0
	for _, o := range list {
		if o.Status() == 0 {
			continue
		}
		if bad++; bad <= atMost {
			c.Warn("%v", o)
		}
	}
	switch {
	case bad > atMost:
		c.Warn("and %d more of %d jobs did not end well", bad-atMost, len(list))
	case bad == 0 && len(list) == 1:
		fmt.Fprintf(c.Stdout, "%v has ended and returned 0.\n", list[0].Job)
	case bad == 0:
		fmt.Fprintf(c.Stdout, "%d jobs have ended, and all returned 0.\n", len(list))
	}
	return cmdline.ExitStatus(status)
}

// TimedOut reports that of so many jobs only those of the list have ended, and returns
// the error for that. With -json the summary includes it.
func TimedOut(c *cmdline.Call, list []Outcome, all int, what string) error {
	if c.Has("json") {
		if err := c.JSON(newSummary(list, all, 1, true)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s", ErrTimedOut, what)
}

func newSummary(list []Outcome, all, status int, timedOut bool) Summary {
	s := Summary{Jobs: all, Ended: len(list), ExitStatus: status, TimedOut: timedOut, Outcomes: []ended{}}
	for _, o := range list {
		e := ended{ClusterID: o.Job.Cluster, ProcID: o.Job.Proc, Signal: o.Signal, Removed: o.Removed, Lost: o.Lost, Reason: o.Reason}
		if !o.Removed && !o.Lost && o.Signal == 0 {
			e.ReturnValue = &o.ReturnValue
		}
		s.Outcomes = append(s.Outcomes, e)
	}
	return s
}

// Holds tells once of each job that is put on hold. The zero Holds has told of
// none.
type Holds struct {
	told map[pool.JobID]bool
}

// News returns lines about the jobs that are held now, by their reason, and were not at
// the last call. Jobs with one reason share a line.
func (h *Holds) News(held map[pool.JobID]string) []string {
	of := map[string][]pool.JobID{}
	for _, id := range slices.SortedFunc(maps.Keys(held), pool.JobID.Compare) {
		if !h.told[id] {
			of[held[id]] = append(of[held[id]], id)
		}
	}
	h.told = make(map[pool.JobID]bool, len(held))
	for id := range held {
		h.told[id] = true
	}
	var lines []string
	for _, reason := range slices.SortedFunc(maps.Keys(of), func(a, b string) int { return of[a][0].Compare(of[b][0]) }) {
		lines = append(lines, sayHeld(of[reason], reason))
	}
	return lines
}

func sayHeld(ids []pool.JobID, reason string) string {
	who := fmt.Sprintf("%v is held", ids[0])
	switch n := len(ids) - 1; {
	case n == 1:
		who = fmt.Sprintf("%v and %v are held", ids[0], ids[1])
	case n > 1:
		who = fmt.Sprintf("%v and %d more are held", ids[0], n)
	}
	if reason != "" {
		who += " (" + reason + ")"
	}
	return who + "; still waiting"
}

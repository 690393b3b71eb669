package waiting

import (
	"fmt"

	"fairspool/cmd/internal/cmdline"
)

// atMost bounds how many jobs are told of by name.
const atMost = 10

// summary is what -json prints.
type summary struct {
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

// Finish tells how all the jobs ended, in order of their ids, and returns the
// error with their exit status. Those that did not end well are told of on
// standard error; with -json all are in a summary on standard output.
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

// TimedOut tells that of so many jobs only those of the list have ended, and
// returns the error for that. With -json the summary says it too.
func TimedOut(c *cmdline.Call, list []Outcome, all int, what string) error {
	if c.Has("json") {
		if err := c.JSON(newSummary(list, all, 1, true)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s", ErrTimedOut, what)
}

func newSummary(list []Outcome, all, status int, timedOut bool) summary {
	s := summary{Jobs: all, Ended: len(list), ExitStatus: status, TimedOut: timedOut, Outcomes: []ended{}}
	for _, o := range list {
		e := ended{ClusterID: o.Job.Cluster, ProcID: o.Job.Proc, Signal: o.Signal, Removed: o.Removed, Lost: o.Lost, Reason: o.Reason}
		if !o.Removed && !o.Lost && o.Signal == 0 {
			e.ReturnValue = &o.ReturnValue
		}
		s.Outcomes = append(s.Outcomes, e)
	}
	return s
}

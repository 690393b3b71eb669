// Package qshell is the command that runs a shell, or another program, beside a running job: in its working directory, with its
// environment, and as one of its processes, which end with it.
//
// The supervisor of the job starts the program (package lib/launch/local) and carries its terminal (package lib/shell).
// qshell finds in the queue where that supervisor listens. For a job on a pilot's machine it connects to the process of
// serve that has the link to the machine, which carries the bytes on.
package qshell

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/complete"
	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/door"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/shell"
	"fairspool/spool"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:        "qshell",
		Served:      true,
		Brief:       "run a shell beside a running job",
		Synopsis:    []string{"[-wait] CLUSTER | CLUSTER.PROC [-- CMD [ARG ...]]"},
		CommandLine: true,
		About: `Runs your shell, or CMD, on the machine of a job of yours, in its working directory and with its environment. What it starts belongs to the job: it counts against the job's limits, and ends with it.

A cluster with one job stands for that job.`,
		Flags: []cmdline.Flag{
			{Name: "wait", Help: "wait until the job runs"},
		},
		Examples: []cmdline.Example{
			{Does: "look around where job 12 runs", Line: "qshell 12"},
			{Does: "see the processes of job 13.3", Line: "qshell 13.3 -- top"},
		},
		Before: before,
		Takes:  []string{"JOB"}, Names: complete.Names,
		Run: run,
	}
}

// place is the address of a shell beside a job.
type place struct {
	Job     pool.JobID
	Address string       // of the socket; empty: the job does not run yet
	UID     int          // of the account that the pool belongs to
	Attempt pool.Attempt // to be told to the process that listens, if that has a link
	Link    bool         // it has
	Late    bool         // its supervisor ought to listen by now
	Waits   string       // what an idle job is; empty: it runs
}

// run finds the place, and attaches there, or has the caller's end do so.
func run(c *cmdline.Call) error {
	id, whole, err := named(c)
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	for late := 0; ; {
		p, err := find(c, s, id, whole)
		if err != nil {
			return err
		}
		if p.Address != "" {
			late++
		}
		p.Late = late >= mostTries && !c.Has("wait")
		var a answer
		if !c.ThroughDoor() {
			if a, err = attach(c, p); err != nil {
				return err
			}
		} else {
			reply, err := c.Ask(p)
			if err == nil {
				err = reply(&a)
			}
			if err != nil {
				return err
			}
		}
		if !a.Again {
			return cmdline.ExitStatus(a.Status)
		}
	}
}

// answer says how a shell has ended.
type answer struct {
	Again  bool // there was none yet: look again
	Status int
}

// before attaches with the caller's rights.
func before(c *cmdline.Call) (func() (door.Answer, error), error) {
	return func() (door.Answer, error) {
		return func(question []byte) (any, error) {
			var p place
			if err := json.Unmarshal(question, &p); err != nil {
				return nil, fmt.Errorf("what serve says of the job: %w", err)
			}
			return attach(c, p)
		}, nil
	}, nil
}

// named reads which job the command line means; whole: a cluster.
func named(c *cmdline.Call) (id pool.JobID, whole bool, err error) {
	switch {
	case len(c.Args) == 0:
		return id, false, cmdline.Usagef("which job? name a cluster, or a job like 12.0")
	case len(c.Args) > 1:
		return id, false, cmdline.Usagef("%s: one job at a time; a command stands behind --", c.Args[1])
	}
	if whole = !strings.Contains(c.Args[0], "."); whole {
		id.Cluster, err = pool.ParseCluster(c.Args[0])
	} else {
		id, err = pool.ParseJobID(c.Args[0])
	}
	if err != nil {
		err = cmdline.Usagef("%v", err)
	}
	return id, whole, err
}

// find looks up where a job runs.
func find(c *cmdline.Call, s *spool.Spool, id pool.JobID, whole bool) (p place, err error) {
	who, err := c.Caller()
	if err != nil {
		return p, err
	}
	err = s.View(func(v *spool.View) error {
		if whole {
			if id, err = only(v.Listed(), id.Cluster); err != nil {
				return err
			}
		}
		ad, ok := v.Job(id)
		if !ok {
			return fmt.Errorf("%v: no such job in the queue; qstat shows those that are", id)
		}
		if owner, _ := ad.EvalString(&classad.Context{}, pool.AttrOwner); !who.May(owner) {
			return fmt.Errorf("you are %s, and %v is a job of %s's", who.Name, id, owner)
		}
		p, err = placeOf(c, s, v, id, ad)
		return err
	})
	return p, err
}

// only returns the only job of a cluster.
func only(v *spool.View, number int) (id pool.JobID, err error) {
	cluster, ok := v.Cluster(number)
	if !ok || len(cluster.Runs) == 0 {
		return id, fmt.Errorf("%d: no such cluster in the queue; qstat shows those that are", number)
	}
	first, last := cluster.Runs[0], cluster.Runs[len(cluster.Runs)-1]
	if first.First != last.Last {
		return id, fmt.Errorf("%d: has several jobs: name one of them, %d.%d to %d.%d", number, number, first.First, number, last.Last)
	}
	return pool.JobID{Cluster: number, Proc: first.First}, nil
}

// placeOf returns the address of a shell beside a job with an ad.
func placeOf(c *cmdline.Call, s *spool.Spool, v *spool.View, id pool.JobID, ad *classad.Ad) (p place, err error) {
	p = place{Job: id, UID: os.Geteuid()}
	n, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
	claim, claimed := v.Claim(id)
	switch status := pool.Status(n); {
	case status == pool.Held:
		reason, _ := ad.EvalString(&classad.Context{}, pool.AttrHoldReason)
		return p, fmt.Errorf("%v is held: %s", id, reason)
	case !claimed && status != pool.Idle:
		return p, fmt.Errorf("%v has ended", id)
	case !claimed:
		p.Waits = "is idle; qstat -j " + id.String() + " says why"
	case claim.State == pool.Matched:
		p.Waits = "is about to start"
	case claim.State == pool.Vacating:
		p.Waits = "leaves its slot"
	}
	if p.Waits != "" {
		if !c.Has("wait") {
			return p, fmt.Errorf("%v does not run: it %s", id, p.Waits)
		}
		return p, nil
	}
	p.Attempt = pool.Attempt{Job: id, Number: claim.Attempt}
	if claim.Instance != "" {
		p.Link, p.Address = true, shell.Address(desk.Prefix(s)+strings.ToLower(claim.Machine))
		return p, nil
	}
	host, err := c.Hostname()
	if err == nil && !strings.EqualFold(host, claim.Machine) {
		err = fmt.Errorf("%v runs on %s: run qshell there", id, claim.Machine)
	}
	p.Address = shell.Address(desk.Prefix(s) + p.Attempt.String())
	return p, err
}

// screen is the standard output of a call, for a terminal's bytes, unchanged and unbuffered.
type screen struct{ *cmdline.Call }

func (s screen) Write(p []byte) (int, error) {
	n, err := cmdline.Raw(s.Stdout).Write(p)
	if err == nil {
		err = s.Flush()
	}
	return n, err
}

// every is how often it is looked whether a job runs by now.
const every = 100 * time.Millisecond

// mostTries is how often a job that runs by the queue is asked for a shell: its program may be started a moment later.
const mostTries = 50

// attach runs the shell at a place on the call's terminal.
func attach(c *cmdline.Call, p place) (a answer, err error) {
	if p.Address == "" {
		time.Sleep(every)
		return answer{Again: true}, nil
	}
	conn, err := net.Dial("unix", p.Address)
	if err != nil {
		if !p.Late {
			time.Sleep(every) // it is about to be started
			return answer{Again: true}, nil
		}
		return a, fmt.Errorf("%v takes no shells: %w; its supervisor is of an older version, or it ends at this moment", p.Job, cmdline.Cause(err))
	}
	defer conn.Close()
	// Anybody may listen on an address that is free.
	uid, err := shell.Peer(conn)
	if err == nil && !slices.Contains([]int{0, os.Getuid(), p.UID}, uid) {
		err = fmt.Errorf("user %d listens in the place of the supervisor of %v", uid, p.Job)
	}
	if err != nil {
		return a, err
	}
	if p.Link {
		if err := shell.Through(conn, p.Attempt); err != nil {
			return a, err
		}
	}
	in, isFile := c.Stdin.(*os.File)
	if !isFile {
		return a, errors.New("standard input is no file")
	}
	a.Status, err = shell.Attach(conn, in, screen{c}, shell.Request{Command: c.CommandLine, Shell: os.Getenv("SHELL")})
	if errors.Is(err, shell.ErrBroken) {
		err = fmt.Errorf("%v: %w", p.Job, err)
	}
	return a, err
}

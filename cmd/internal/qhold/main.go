// Package qhold is the command that holds jobs: they wait until they are released.
package qhold

import (
	"math"
	"slices"
	"strconv"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/complete"
	"fairspool/cmd/internal/selection"
	"fairspool/cmd/internal/steer"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:     "qhold",
		Brief:    "hold jobs",
		Synopsis: []string{selection.Synopsis, selection.SynopsisAll},
		About: `Holds jobs: they wait until qrls releases them. A matched job gives its slot back. A running job is told to end, and is held at once; its results are lost unless the job saves them itself. A cluster that is held as a whole creates no further jobs (max_materialize, max_idle) until it is released.

Name jobs by cluster (12 or 12-15), by proc (12.0, 12.0-9 or 12.0-9:2), or by user. Only the owner of a job and administrators may hold it. qhold holds what it can, reports each name for which it failed, and then exits with status 1.`,
		Flags: slices.Concat(selection.Flags("hold"), []cmdline.Flag{
			steer.Reason("keep TEXT as HoldReason of the jobs"),
			cmdline.Force,
			selection.JSON,
			{Name: "subcode", Args: []string{"N"}, Help: "keep N as HoldReasonSubCode of the jobs, for scripts (default 0)"},
		}, selection.Elsewhere),
		Served: true,
		Examples: []cmdline.Example{
			{Does: "a cluster, with the reason", Line: "qhold -reason 'waits for the new data' 12"},
			{Does: "the last of its jobs", Line: "qhold 12.90-99"},
			{Does: "all of your jobs that do not run yet", Line: "qhold -constraint 'JobStatus == 1'"},
		},
		Takes: []string{"JOB", "USER"}, Names: complete.Names,
		Outputs: func() []cmdline.Output { return []cmdline.Output{{Name: "qhold", Value: selection.Answer{}}} },
		Run:     run,
	}
}

func run(c *cmdline.Call) error {
	subcode, err := subcodeOf(c)
	if err != nil {
		return err
	}
	p := c.Config.Params
	return steer.Kind{
		Op: "hold", Done: "held",
		Do: func(tx *spool.Tx, s pool.Procs, why string) ([]lifecycle.Done, error) {
			return lifecycle.Hold(tx, s, pool.Reason{Text: why, Code: jobpolicy.ByUser, Subcode: subcode}, c.Now, p)
		},
		Says: map[lifecycle.Outcome]string{
			lifecycle.HeldNow:     "held",
			lifecycle.HeldRunning: "held",
			lifecycle.Already:     "already held",
		},
		Refused: map[lifecycle.Outcome]string{lifecycle.Over: "not held: its end is behind it, or ordered"},
		Event: func(out lifecycle.Outcome, _ pool.Status, why string) userlog.Body {
			if out == lifecycle.Already {
				return nil
			}
			return userlog.Held{Reason: why, Code: jobpolicy.ByUser, Subcode: subcode}
		},
		Late: lifecycle.HoldBack,
	}.Run(c)
}

func subcodeOf(c *cmdline.Call) (int, error) {
	if !c.Has("subcode") {
		return 0, nil
	}
	n, err := strconv.ParseInt(c.Value("subcode"), 10, 32)
	if err != nil {
		return 0, cmdline.Usagef("-subcode: %q: want a whole number from %d to %d", c.Value("subcode"), math.MinInt32, math.MaxInt32)
	}
	return int(n), nil
}

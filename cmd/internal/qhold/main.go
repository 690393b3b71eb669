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
		About: `Holds jobs: they wait until qrls releases them, and no cycle matches them. One that is matched gives its slot back. One that runs is told to end, and is held from now on; what it has computed is lost, unless it keeps that itself.

Of a cluster that keeps jobs back (max_materialize, max_idle), when it is named as a whole, the others are not made until it is released.

Jobs are named by cluster (12 or 12-15), by proc (12.0, 12.0-9 or 12.0-9:2), or by user. Only their owner and administrators may hold them. What can be held is; each name that cannot is told, and the exit status is 1.`,
		Flags: slices.Concat(selection.Flags("hold"), []cmdline.Flag{
			steer.Reason("keep TEXT with the jobs as their HoldReason"),
			cmdline.Force,
			selection.JSON,
			{Name: "subcode", Args: []string{"N"}, Help: "keep N with the jobs as their HoldReasonSubCode, for scripts; 0 without it"},
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

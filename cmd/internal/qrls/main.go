// Package qrls is the command that releases held jobs.
package qrls

import (
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/complete"
	"fairspool/cmd/internal/selection"
	"fairspool/cmd/internal/steer"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:     "qrls",
		Brief:    "release held jobs",
		Synopsis: []string{selection.Synopsis, selection.SynopsisAll},
		About: `Releases held jobs, whatever holds them: they are idle again, and the next cycle may match them. One that is still leaving its slot is idle when it has.

Of a cluster that keeps jobs back (max_materialize, max_idle) and is held as a whole, the others are made again.

Jobs are named by cluster (12 or 12-15), by proc (12.0, 12.0-9 or 12.0-9:2), or by user. Only their owner and administrators may release them. What can be released is; of several jobs with one name those that are not held are passed over. Each name of which none was released is told, and the exit status is 1.`,
		Flags: slices.Concat(selection.Flags("release"), []cmdline.Flag{
			steer.Reason("keep TEXT with the jobs as their ReleaseReason"),
			cmdline.Force,
			selection.JSON,
		}, selection.Elsewhere),
		Served: true,
		Examples: []cmdline.Example{
			{Does: "a cluster", Line: "qrls 12"},
			{Does: "one job, with the reason", Line: "qrls -reason 'the disk has room again' 12.3"},
			{Does: "all jobs that their own policy holds", Line: "qrls -constraint 'HoldReasonCode == 3'"},
		},
		Takes: []string{"JOB", "USER"}, Names: complete.Names,
		Outputs: func() []cmdline.Output { return []cmdline.Output{{Name: "qrls", Value: selection.Answer{}}} },
		Run:     run,
	}
}

func run(c *cmdline.Call) error {
	return steer.Kind{
		Op: "release", Done: "released",
		Do: func(tx *spool.Tx, s pool.Procs, why string) ([]lifecycle.Done, error) {
			return lifecycle.Release(tx, s, why, c.Now)
		},
		Says:    map[lifecycle.Outcome]string{lifecycle.ReleasedNow: "released"},
		Refused: map[lifecycle.Outcome]string{lifecycle.NotHeld: "not held to be released"},
		Event: func(_ lifecycle.Outcome, _ pool.Status, why string) userlog.Body {
			return userlog.Released{Reason: why}
		},
		Late: func(tx *spool.Tx, f spool.Factory, _ string) (string, bool) { return lifecycle.LetGo(tx, f) },
	}.Run(c)
}

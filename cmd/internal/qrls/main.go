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
		About: `Releases held jobs, whatever holds them: they are idle again, and the next cycle may match them. A job that is still leaving its slot is idle when it has left. A cluster that was held as a whole creates jobs again (max_materialize, max_idle).

Name jobs by cluster (12 or 12-15), by proc (12.0, 12.0-9 or 12.0-9:2), or by user. Only the owner of a job and administrators may release it. qrls releases what it can. If a name stands for several jobs, those that are not held are skipped. qrls reports each name for which it released no job, and then exits with status 1.`,
		Flags: slices.Concat(selection.Flags("release"), []cmdline.Flag{
			steer.Reason("keep TEXT as ReleaseReason of the jobs"),
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

// Package qdel is the command that removes jobs from the queue.
package qdel

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
		Name:     "qdel",
		Brief:    "remove jobs from the queue",
		Synopsis: []string{selection.Synopsis, selection.SynopsisAll},
		About: `Removes jobs. One that waits leaves the queue at once. One that runs is marked for removal: it is told to end, and leaves when it has.

Of a cluster that keeps jobs back (max_materialize, max_idle) the others are not made any more.

Jobs are named by cluster (12 or 12-15), by proc (12.0, 12.0-9 or 12.0-9:2), or by user. Only their owner and administrators may remove them. What can be removed is; each name that cannot is told, and the exit status is 1.`,
		Flags: slices.Concat(selection.Flags("remove"), []cmdline.Flag{
			steer.Reason("keep TEXT with the jobs as their RemoveReason"),
			cmdline.Force,
			selection.JSON,
		}, selection.Elsewhere),
		Served: true,
		Examples: []cmdline.Example{
			{Does: "one job", Line: "qdel 12.0"},
			{Does: "two clusters", Line: "qdel 12 13"},
			{Does: "all jobs of a user", Line: "qdel alice"},
			{Does: "those of two users, as Grid Engine writes it", Line: "qdel -u alice,bob"},
			{Does: "those of a user's jobs that are held", Line: "qdel -constraint 'JobStatus == 5' alice"},
		},
		Takes: []string{"JOB", "USER"}, Names: complete.Names,
		Outputs: func() []cmdline.Output { return []cmdline.Output{{Name: "qdel", Value: selection.Answer{}}} },
		Run:     run,
	}
}

func run(c *cmdline.Call) error {
	p := c.Config.Params
	return steer.Kind{
		Op: "remove", Done: "removed",
		Do: func(tx *spool.Tx, s pool.Procs, why string) ([]lifecycle.Done, error) {
			return lifecycle.RemoveAll(tx, s, why, c.Now, p)
		},
		Says: map[lifecycle.Outcome]string{
			lifecycle.RemovedNow: "removed",
			lifecycle.Marked:     "marked for removal",
			lifecycle.Already:    "marked for removal already",
		},
		Event: aborted,
		Late: func(tx *spool.Tx, f spool.Factory, why string) (string, bool) {
			lifecycle.RemoveLate(tx, f, why)
			return "will not be made", true
		},
	}.Run(c)
}

// aborted is the event of a job that has left the queue. One that only stayed on
// after its end has had its last event.
func aborted(out lifecycle.Outcome, before pool.Status, why string) userlog.Body {
	if out != lifecycle.RemovedNow || before == pool.Removed || before == pool.Completed {
		return nil
	}
	return userlog.Aborted{Reason: why}
}

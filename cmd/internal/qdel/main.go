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
		About: `Removes jobs. A waiting job leaves the queue at once. A running job is marked for removal and told to end; it leaves the queue when it has ended. A cluster that is removed creates no further jobs (max_materialize, max_idle).

Name jobs by cluster (12 or 12-15), by proc (12.0, 12.0-9 or 12.0-9:2), or by user. Only the owner of a job and administrators may remove it. qdel removes what it can, reports each name for which it failed, and then exits with status 1.`,
		Flags: slices.Concat(selection.Flags("remove"), []cmdline.Flag{
			steer.Reason("keep TEXT as RemoveReason of the jobs"),
			cmdline.Force,
			selection.JSON,
		}, selection.Elsewhere),
		Served: true,
		Examples: []cmdline.Example{
			{Does: "one job", Line: "qdel 12.0"},
			{Does: "two clusters", Line: "qdel 12 13"},
			{Does: "all jobs of a user", Line: "qdel alice"},
			{Does: "the jobs of two users, as in Grid Engine", Line: "qdel -u alice,bob"},
			{Does: "the held jobs of a user", Line: "qdel -constraint 'JobStatus == 5' alice"},
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
			return "will not be created", true
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

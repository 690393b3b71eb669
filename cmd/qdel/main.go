// Command qdel removes jobs from the queue.
package main

import (
	"fmt"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:     "qdel",
		Brief:    "remove jobs from the queue",
		Synopsis: []string{"CLUSTER | CLUSTER.PROC | USER ...", "-a"},
		About: `Removes jobs. One that waits leaves the queue at once. One that runs is marked for removal: it is told to end, and leaves when it has.

Of a cluster that keeps jobs back (max_materialize, max_idle) the others are not made any more.

Either all of the named jobs are removed or, when one of them is not in the queue, none.`,
		Flags: []cmdline.Flag{
			{Name: "a", Help: "remove all jobs of the queue"},
			{Name: "reason", Args: []string{"TEXT"}, Help: "keep TEXT with the jobs as their RemoveReason"},
		},
		Examples: []cmdline.Example{
			{Does: "one job", Line: "qdel 12.0"},
			{Does: "two clusters", Line: "qdel 12 13"},
			{Does: "all jobs of a user", Line: "qdel alice"},
		},
		Run: run,
	}
}

func run(c *cmdline.Call) error {
	names, err := selection.Of(c)
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var done []line
	var ended []string // of jobs that were still to come
	var log joblog.Events
	err = operation.Account(s, c.Reading(), c.Warn, func(tx *spool.Tx) error {
		tx.Op("remove", names.Words()...)
		spans, missing := names.In(&tx.View)
		kept, missing := names.Factories(&tx.View, s.Domain(), missing)
		if len(missing) > 0 {
			for _, m := range missing {
				c.Warn("%s: not in the queue; nothing was removed", m)
			}
			return cmdline.ErrReported
		}
		log = joblog.Events{}
		var err error
		if done, err = remove(c, tx, spans, &log); err != nil {
			return err
		}
		ended = nil
		for _, f := range kept {
			tx.DropFactory(f.Cluster)
			ended = append(ended, procs(f.Cluster, f.Next, f.Jobs-1)+" will not be made")
		}
		return nil
	})
	if err != nil {
		return err
	}
	log.Write(c)
	return tell(c, done, ended)
}

// tell says what was removed, and what will not be made.
func tell(c *cmdline.Call, done []line, ended []string) error {
	var all []string
	for _, l := range done {
		all = append(all, l.String())
	}
	if all = append(all, ended...); len(all) == 0 { // -a, and nobody has a job
		all = []string{"0 job(s) removed."}
	}
	for _, text := range all {
		if _, err := fmt.Fprintln(c.Stdout, text); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the jobs of the spans, and tells what became of them.
func remove(c *cmdline.Call, tx *spool.Tx, spans []selection.Span, log *joblog.Events) ([]line, error) {
	why := c.Value("reason")
	if why == "" {
		why = "removed by qdel"
	}
	p := operation.Params(c.Config)
	var done []line
	for _, s := range spans {
		for first := s.First; first <= s.Last; {
			last := unclaimed(tx, s.Cluster, first, s.Last)
			id := pool.JobID{Cluster: s.Cluster, Proc: first}
			ad, _ := tx.Job(id) // while it is there
			var out operation.Outcome
			var err error
			if last < first {
				last = first
				out, err = operation.Remove(tx, id, why, c.Now, p)
			} else {
				var all []operation.Done
				if all, err = operation.RemoveAll(tx, operation.Span{Cluster: s.Cluster, First: first, Last: last}, why, c.Now, p); err == nil {
					out = all[0].Outcome
				}
			}
			if err != nil {
				return nil, err
			}
			// Of a job that runs, its supervisor tells the end.
			if out == operation.RemovedNow && joblog.Path(ad) != "" {
				for ; id.Proc <= last; id.Proc++ {
					log.Add(id, ad, userlog.Aborted{Reason: why})
				}
			}
			done = extend(done, line{s.Cluster, first, last, out})
			first = last + 1
		}
	}
	return done, nil
}

// unclaimed returns the last proc before the first one with a claim.
func unclaimed(tx *spool.Tx, cluster, first, last int) int {
	for proc := first; proc <= last; proc++ {
		if _, ok := tx.Claim(pool.JobID{Cluster: cluster, Proc: proc}); ok {
			return proc - 1
		}
	}
	return last
}

// line is one line of the answer: procs in a row to which the same happened.
type line struct {
	cluster, first, last int
	out                  operation.Outcome
}

func extend(lines []line, l line) []line {
	if k := len(lines) - 1; k >= 0 && lines[k].cluster == l.cluster && lines[k].last == l.first-1 && lines[k].out == l.out {
		lines[k].last = l.last
		return lines
	}
	return append(lines, l)
}

func (l line) String() string {
	what := map[operation.Outcome]string{
		operation.RemovedNow: "removed",
		operation.Marked:     "marked for removal",
		operation.Already:    "marked for removal already",
	}[l.out]
	return procs(l.cluster, l.first, l.last) + " " + what
}

// procs names procs in a row: Job 12.4, or Jobs 12.0-3.
func procs(cluster, first, last int) string {
	if first == last {
		return fmt.Sprintf("Job %d.%d", cluster, first)
	}
	return fmt.Sprintf("Jobs %d.%d-%d", cluster, first, last)
}

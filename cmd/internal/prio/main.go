// Package prio is the command that changes the priorities of jobs, and other attributes of theirs.
package prio

import (
	"fmt"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/complete"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/lifecycle"
	"fairspool/spool"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:  "prio",
		Brief: "change the priorities of jobs",
		Synopsis: []string{
			"{+N | -N | -p N} " + selection.Synopsis,
			"[-pre1 N] [-pre2 N] [-post1 N] [-post2 N] " + selection.Synopsis,
			"-system {N | +N | -N} " + selection.Synopsis,
			"[-js N] [-ot N] [-dl TIME] [-P PROJECT] " + selection.Synopsis,
			"-set ATTR=EXPR ... " + selection.Synopsis,
			"{+N | -N | -p N | ...} " + selection.SynopsisAll,
		},
		About: `Changes the priorities of jobs. JobPrio is a 32-bit integer, 0 by default; jobs with a higher one go first. It orders only the jobs of one submitter, and never makes a running job leave. PreJobPrio1 and PreJobPrio2 count before it, PostJobPrio1 and PostJobPrio2 after it. -set changes any other attribute that may change.

Where JOB_PRIORITY_POLICY is "maui", one queue holds all jobs, by Maui's priority. JobPrio then orders only jobs of one submitter with equal priorities, and the other four do not count. Administrators put jobs ahead of all others with -system, as setspri does.

Where it is "sge", one queue holds all jobs, by Grid Engine's priority. JobPrio, -1023 to 1024, is a part of it, and moves jobs past those of other users. Owners may only lower it; administrators may also raise it. The other four do not count. -js, -ot, -dl and -P set the other parts, as qalter does.

Name jobs by cluster (12 or 12-15), by proc (12.0, 12.0-9 or 12.0-9:2), or by user. Only the owner of a job and administrators may change it. prio changes what it can, reports each name for which it failed, and then exits with status 1. On success it prints nothing, except with -json.`,
		Flags: slices.Concat([]cmdline.Flag{
			{Name: "p", Args: []string{"N"}, Help: "set the priority to N"},
			{Name: "adjust", Args: []string{"N"}, Help: "add N to the priority; also -adjust N"},
		}, levelFlags(), optionFlags(), []cmdline.Flag{
			{Name: "set", Args: []string{"ATTR=EXPR"}, Repeat: true, Help: "set another attribute to a ClassAd expression; may be given several times"},
			selection.JSON,
		}, selection.Flags("change")),
		Number: "adjust",
		Served: true,
		Examples: []cmdline.Example{
			{Does: "move a cluster ahead", Line: "prio +5 12"},
			{Does: "move one job back", Line: "prio -p -10 12.3"},
			{Does: "all jobs of a user", Line: "prio -p 0 alice"},
			{Does: "these ten before all others of their submitter", Line: "prio -pre1 1 12.0-9"},
			{Does: "before all other jobs, where JOB_PRIORITY_POLICY is maui", Line: "prio -system 1000 12.3"},
			{Does: "as if it had waited an hour longer, at Maui's default weights", Line: "prio -system +60 12"},
			{Does: "give a job a deadline, and more tickets, where JOB_PRIORITY_POLICY is sge", Line: "prio -dl '2026-11-22 15:30' -ot 100 12.3"},
			{Does: "ask for more memory", Line: "prio -set RequestMemory=4096 12"},
		},
		Takes: []string{"JOB", "USER"}, Names: complete.Names,
		Outputs: func() []cmdline.Output { return []cmdline.Output{{Name: "prio", Value: selection.Answer{}}} },
		Run:     run,
	}
}

func run(c *cmdline.Call) error {
	q, err := selection.Asked(c)
	if err != nil {
		return err
	}
	ch, err := changesOf(c, q.Caller())
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var did outcome
	allowed := newRights(c, q.Caller())
	err = q.Update(s, func(in func(*spool.Tx) (selection.Chosen, error)) error {
		return lifecycle.Update(s, func(tx *spool.Tx) error {
			tx.Op("set priority", append(ch.words(), q.Words()...)...)
			jobs, err := in(tx)
			if err != nil {
				return err
			}
			did = outcome{rights: allowed, refused: ch.refused(jobs, q.Wide())}
			for _, procs := range jobs.Procs {
				ch.apply(tx, procs, &did)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, r := range did.refused {
		c.Warn("%s%s", ch.couldNot(r.Word), r.Why)
	}
	did.log.Write(c)
	c.Changed()
	if c.Has(selection.JSON.Name) {
		if err := c.JSON(selection.AnswerOf(did.done, did.refused)); err != nil {
			return err
		}
	}
	if len(did.refused) > 0 {
		return cmdline.ErrReported
	}
	return nil
}

// refused returns which names cannot be served. wide says
// that a name may well have no jobs.
func (ch changes) refused(jobs selection.Chosen, wide bool) []selection.Refusal {
	list := slices.Clone(jobs.Refused)
	here := map[string]bool{}
	for _, s := range jobs.Procs {
		here[s.Word] = true
	}
	for _, l := range jobs.Late {
		if !here[l.Word] && !wide {
			list = append(list, selection.Refusal{Word: l.Word, Why: "still to come, with what their description says"})
			here[l.Word] = true
		}
	}
	return list
}

// outcome is what became of jobs.
type outcome struct {
	rights  *rights
	log     joblog.Events
	done    selection.Lines
	refused []selection.Refusal
}

// refuse notes why procs were left as they are.
func (o *outcome) refuse(procs selection.Procs, why string) {
	o.refused = append(o.refused, selection.Refusal{Word: procs.Procs.String(), Why: why})
}

// couldNot begins the message about a refusal as condor_prio does.
func (ch changes) couldNot(what string) string {
	if len(ch) == 1 && ch[0].priority {
		return fmt.Sprintf("couldn't set new priority for %s: ", what)
	}
	return fmt.Sprintf("couldn't change %s: ", what)
}

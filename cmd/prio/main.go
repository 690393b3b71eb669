// Command prio changes the priorities of jobs.
package main

import (
	"fmt"
	"math"
	"strconv"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:     "prio",
		Brief:    "change the priorities of jobs",
		Synopsis: []string{"{+N | -N | -p N} CLUSTER | CLUSTER.PROC | USER ...", "{+N | -N | -p N} -a"},
		About: `Sets or changes JobPrio, a 32-bit integer, 0 when a job begins; higher goes first. It decides only between jobs of one submitter, and never makes a running job leave.

Either all of the named jobs are changed or, when one of them is not in the queue or its priority would leave the range, none. On success prio prints nothing.`,
		Flags: []cmdline.Flag{
			{Name: "p", Args: []string{"N"}, Help: "set the priority to N"},
			{Name: "adjust", Args: []string{"N"}, Help: "add N to the priority; also -adjust N"},
			{Name: "a", Help: "change all jobs of the queue"},
		},
		Number: "adjust",
		Examples: []cmdline.Example{
			{Does: "move a cluster ahead", Line: "prio +5 12"},
			{Does: "put one job behind", Line: "prio -p -10 12.3"},
			{Does: "all jobs of a user", Line: "prio -p 0 alice"},
		},
		Run: run,
	}
}

func run(c *cmdline.Call) error {
	ch, err := changeOf(c)
	if err != nil {
		return err
	}
	names, err := selection.Of(c)
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var log joblog.Events
	err = s.Update(func(tx *spool.Tx) error {
		log = joblog.Events{}
		tx.Op("set priority", append([]string{ch.text}, names.Words()...)...)
		spans, missing := names.In(&tx.View)
		if len(missing) > 0 {
			for _, m := range missing {
				c.Warn("%s: not in the queue; nothing was changed", m)
			}
			return cmdline.ErrReported
		}
		for _, span := range spans {
			if err := ch.apply(tx, span, &log); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	log.Write(c)
	return nil
}

// change is what becomes of a priority.
type change struct {
	text   string // as the journal has it: "5" or "+5"
	number int64
	adjust bool
}

func changeOf(c *cmdline.Call) (change, error) {
	flag, err := c.One("p", "adjust")
	switch {
	case err != nil:
		return change{}, err
	case flag == "":
		return change{}, cmdline.Usagef("want a new priority, -p N, or an adjustment, +N or -N")
	}
	text := c.Value(flag)
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return change{}, cmdline.Usagef("%q: want a whole number from %d to %d", text, math.MinInt32, math.MaxInt32)
	}
	ch := change{text: strconv.FormatInt(n, 10), number: n, adjust: flag == "adjust"}
	if ch.adjust {
		ch.text = fmt.Sprintf("%+d", n)
	}
	return ch, nil
}

// apply changes the priority of the jobs of a span: all at once where they
// share a constant, as most do.
func (ch change) apply(tx *spool.Tx, span selection.Span, log *joblog.Events) error {
	if e, ok := span.Run.Ad.Lookup(pool.AttrJobPrio); ok {
		if _, constant := e.Constant(); !constant {
			return ch.each(tx, span, log)
		}
	}
	return ch.rows(tx, span, log)
}

func (ch change) each(tx *spool.Tx, span selection.Span, log *joblog.Events) error {
	for p := span.First; p <= span.Last; p++ {
		one := selection.Span{Cluster: span.Cluster, First: p, Last: p, Run: span.Run}
		if err := ch.rows(tx, one, log); err != nil {
			return err
		}
	}
	return nil
}

func (ch change) rows(tx *spool.Tx, span selection.Span, log *joblog.Events) error {
	first := span.Run.Proc(span.First)
	// What is not an integer counts as 0, as it does in the order of jobs.
	old, _ := first.EvalInt(&classad.Context{}, pool.AttrJobPrio)
	priority := ch.number
	if ch.adjust {
		priority += old
	}
	if priority < math.MinInt32 || priority > math.MaxInt32 {
		return fmt.Errorf("%d.%d: priority %d %s %s: outside of 32 bits; nothing was changed", span.Cluster, span.First, old, ch.text[:1], ch.text[1:])
	}
	before, there := first.Lookup(pool.AttrJobPrio)
	tx.SetRange(span.Cluster, span.First, span.Last, pool.AttrJobPrio, classad.Literal(classad.Int(priority)))
	from := ""
	if there {
		from = before.String()
	}
	if !first.Has(pool.AttrUserLog) {
		return nil
	}
	for p := span.First; p <= span.Last; p++ {
		log.Add(pool.JobID{Cluster: span.Cluster, Proc: p}, span.Run.Proc(p),
			userlog.AttributeChanged{Name: pool.AttrJobPrio, From: from, To: strconv.FormatInt(priority, 10)})
	}
	return nil
}

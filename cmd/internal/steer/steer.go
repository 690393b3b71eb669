// Package steer is the common part of qdel, qhold and qrls: they find the jobs, do one
// operation with each of them in one transaction, write the jobs' event logs once that is
// committed, and print the results, a line for procs in a row.
//
// The possible part is done. A name that could not be served is one line on standard
// error, and the exit status is then 1. Jobs that an operation does not change, as qrls
// those that are not held, are skipped if others of the same name were changed; a name
// without any changed job is reported.
//
// The commands differ in a Kind, which also handles the factories of jobs that are still
// to come.
package steer

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// Kind is what one of the commands does.
type Kind struct {
	Op   string // as the journal names it: "hold"
	Done string // the word if there was nothing to do: "held"
	// Do does it with some procs of a cluster, for the reason why.
	Do func(tx *spool.Tx, s pool.Procs, why string) ([]lifecycle.Done, error)
	// Says is the text for each outcome. A Refused one goes to standard error, if nothing
	// else came of the name.
	Says    map[lifecycle.Outcome]string
	Refused map[lifecycle.Outcome]string
	// Event returns the event for the log of a job that was in the state before, nil for
	// none. It is not called for a job that is still leaving its slot: its supervisor
	// logs the end.
	Event func(out lifecycle.Outcome, before pool.Status, why string) userlog.Body
	// Late does it with jobs that are still to come, and says what became of them;
	// false: nothing did, and text says why.
	Late func(tx *spool.Tx, f spool.Factory, why string) (text string, done bool)
}

// Reason is the option that tells why.
func Reason(help string) cmdline.Flag {
	return cmdline.Flag{Name: "reason", Args: []string{"TEXT"}, Help: help}
}

// Run carries out the command line.
func (k Kind) Run(c *cmdline.Call) error {
	q, err := selection.Asked(c)
	if err != nil {
		return err
	}
	why, err := reason(c, q.Caller())
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var a answer
	err = q.Update(s, func(in func(*spool.Tx) (selection.Chosen, error)) error {
		return lifecycle.Account(s, c.Reading(), func(tx *spool.Tx) error {
			tx.Op(k.Op, q.Words()...)
			jobs, err := in(tx)
			if err != nil {
				return err
			}
			a = answer{Kind: k, Request: q, why: why, refused: jobs.Refused, doubt: jobs.Doubt, of: map[string]*outcome{}, log: joblog.For(c)}
			for _, procs := range jobs.Procs {
				if err := a.do(tx, procs); err != nil {
					return err
				}
			}
			for _, l := range jobs.Late {
				a.late(tx, l)
			}
			if tx.Forked {
				return nil
			}
			if err := a.log.Keep(s, c.Now); err != nil {
				c.Warn("job log: %v", err)
			}
			return nil
		})
	})
	if err != nil {
		a.log.Release()
		return err
	}
	if a.doubt != "" {
		c.Warn("warning: -constraint: %s", a.doubt)
	}
	a.log.Write(c)
	c.Changed()
	return a.tell(c)
}

// reason returns the text of -reason, else the caller and the command.
func reason(c *cmdline.Call, who cmdline.Caller) (string, error) {
	text := c.Value("reason")
	switch {
	case strings.ContainsAny(text, "\n\r"):
		return "", cmdline.Usagef("-reason: want one line")
	case text == "":
		text = fmt.Sprintf("via %s (by user %s)", c.Name, who.Name)
	}
	return text, nil
}

// answer is what became of the jobs.
type answer struct {
	Kind
	selection.Request
	why     string
	lines   selection.Lines
	after   selection.Lines // of jobs that are still to come
	refused []selection.Refusal
	doubt   string // the likely mistake in the constraint
	of      map[string]*outcome
	log     joblog.Events
}

// outcome is what became of the jobs of one name.
type outcome struct {
	done  bool
	lines selection.Lines // of those that were refused
	late  selection.Lines // the same of those that are still to come
}

// refused returns the lines of those that were refused.
func (o *outcome) refused() selection.Lines { return slices.Concat(o.lines, o.late) }

func (a *answer) named(word string) *outcome {
	if a.of[word] == nil {
		a.of[word] = &outcome{}
	}
	return a.of[word]
}

// do does it with some procs of a cluster.
func (a *answer) do(tx *spool.Tx, procs selection.Procs) error {
	ad := procs.Run.Proc(procs.First)
	before, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
	all, err := a.Do(tx, procs.Procs, a.why)
	if err != nil {
		return err
	}
	var named []*outcome
	for _, word := range a.Naming(procs) {
		named = append(named, a.named(word))
	}
	for _, d := range all {
		line := selection.Line{Procs: d.Procs, What: a.Says[d.Outcome]}
		if line.What == "" {
			line.What = a.Refused[d.Outcome]
			for _, o := range named {
				o.lines.Add(line)
			}
			continue
		}
		for _, o := range named {
			o.done = true
		}
		a.lines.Add(line)
		if _, leaving := tx.Claim(d.FirstJob()); leaving || !a.log.Wants(ad) {
			continue
		}
		body := a.Event(d.Outcome, pool.Status(before), a.why)
		if body == nil {
			continue
		}
		for id := range d.Jobs() {
			a.log.Add(tx, id, procs.Run.Proc(id.Proc), body)
		}
	}
	return nil
}

// late does it with jobs that are still to come.
func (a *answer) late(tx *spool.Tx, l selection.Late) {
	o := a.named(l.Word)
	text, done := a.Late(tx, l.Factory, a.why)
	line := selection.Line{Procs: l.Coming(), What: text}
	if done {
		o.done = true
		a.after = append(a.after, line)
		return
	}
	o.late = append(o.late, line)
}

// tell prints the results and the refusals.
func (a *answer) tell(c *cmdline.Call) error {
	refused := slices.Clone(a.refused)
	for _, r := range a.refused {
		c.Warn("%s: %s", r.Word, r.Why)
	}
	said := map[string]bool{}
	for _, word := range a.Names.Words() {
		o := a.of[word]
		if o == nil || o.done || a.Wide() {
			continue
		}
		for _, line := range o.refused() {
			if text := line.String(); !said[text] {
				c.Warn("%s", text)
				refused = append(refused, selection.Refusal{Word: line.Procs.String(), Why: line.What})
				said[text] = true
			}
		}
	}
	err := a.print(c, slices.Concat(a.lines, a.after), refused)
	if err == nil && len(refused) > 0 {
		err = cmdline.ErrReported
	}
	return err
}

// print prints the results.
func (a *answer) print(c *cmdline.Call, done selection.Lines, refused []selection.Refusal) (err error) {
	switch {
	case c.Has(selection.JSON.Name):
		return c.JSON(selection.AnswerOf(done, refused))
	case len(done)+len(refused) == 0:
		_, err = fmt.Fprintln(c.Stdout, "0 jobs "+a.Done+".")
	}
	for _, line := range done {
		if err == nil {
			_, err = fmt.Fprintln(c.Stdout, line)
		}
	}
	return err
}

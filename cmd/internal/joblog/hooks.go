package joblog

import (
	"os"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/hooks"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/jobargs"
	"fairspool/lib/jobevent"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// Operator is the command that the pool's operator has run for events: EVENT_COMMAND and
// EVENT_COMMAND_EVENTS.
type Operator struct {
	Command []string // none: nothing is run
	Events  jobevent.Set
}

// OperatorOf returns the setting of a configuration; empty for nil.
func OperatorOf(c *config.Config) Operator {
	if c == nil {
		return Operator{}
	}
	return Operator{c.EventCommand, c.EventCommandEvents}
}

// hooked is the commands for events of a job.
type hooked struct {
	operator Operator
	command  []string // of the job's owner; none: nothing
	events   jobevent.Set
	ad       *classad.Ad // of the job
}

// hooksOf returns the commands for events of a job with an ad; nil for none.
func hooksOf(tx *spool.Tx, ad *classad.Ad, operator Operator) *hooked {
	h := &hooked{operator: operator, ad: ad}
	if ad.Has(pool.AttrNotifyCommand) {
		v := lifecycle.Values(tx, ad, nil, pool.AttrNotifyCommand, pool.AttrNotifyArguments, pool.AttrNotifyEvents)
		program, _ := v[0].Text()
		text, _ := v[1].Text()
		more, err := jobargs.ParseV2(text)
		events, named := v[2].Text()
		h.events = jobevent.Default
		if named {
			h.events, _ = jobevent.ParseSet(events)
		}
		if err == nil && program != "" && program[0] == '/' {
			h.command = append([]string{program}, more...)
		}
	}
	if len(h.operator.Command)+len(h.command) == 0 {
		return nil
	}
	return h
}

// kindOf returns the kind of an event, false if no command is run for it.
func kindOf(body userlog.Body) (jobevent.Kind, bool) {
	switch body.(type) {
	case userlog.Submitted:
		return jobevent.Submitted, true
	case userlog.Executing:
		return jobevent.Started, true
	case userlog.Held:
		return jobevent.Held, true
	case userlog.Released:
		return jobevent.Released, true
	case userlog.Evicted, userlog.ShadowException:
		return jobevent.Evicted, true
	case userlog.Terminated:
		return jobevent.Ended, true
	case userlog.Aborted:
		return jobevent.Removed, true
	}
	return 0, false
}

// orders returns the commands for an event of procs that are alike. A nil hooked has none.
func (h *hooked) orders(procs pool.Procs, at time.Time, body userlog.Body) (list []hooks.Order) {
	kind, is := kindOf(body)
	if h == nil || !is {
		return nil
	}
	add := func(words []string, asOwner bool) {
		o := hooks.NewOrder(words, asOwner, kind, procs, h.ad)
		o.At = at
		list = append(list, o)
	}
	if len(h.operator.Command) > 0 && h.operator.Events.Has(kind) {
		add(h.operator.Command, false)
	}
	if len(h.command) > 0 && h.events.Has(kind) {
		add(h.command, true)
	}
	return list
}

// Now returns the log of a job after a change of its ad: commands get the new one.
func (l Log) Now(ad *classad.Ad) Log {
	if l.hooks != nil && ad != nil {
		h := *l.hooks
		h.ad = ad
		l.hooks = &h
	}
	return l
}

// Orders returns the commands for events of the job.
func (l Log) Orders(events ...userlog.Event) (list []hooks.Order) {
	if l.hooks == nil {
		return nil
	}
	for _, e := range events {
		list = append(list, l.hooks.orders(pool.Only(e.Job), e.At, e.Body)...)
	}
	return list
}

// present returns the ad of a job as an event leaves it in a transaction. Of a job that has left
// the queue, before is the ad that it had.
func present(tx *spool.Tx, id pool.JobID, before *classad.Ad, body userlog.Body) *classad.Ad {
	if now, there := tx.Job(id); there {
		return now
	}
	aborted, is := body.(userlog.Aborted)
	if !is {
		return before
	}
	last := classad.New().Chain(before)
	last.Set(pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Removed))))
	last.Set(pool.AttrRemoveReason, classad.Literal(classad.String(aborted.Reason)))
	return last
}

// submittedTo adds the commands for the submission of a cluster's procs.
func (v *Events) submittedTo(cluster int, c jobad.Cluster) {
	proc := c.First
	for _, r := range c.Runs {
		procs := pool.Procs{Cluster: cluster, First: proc, Last: proc + r.Count - 1}
		proc += r.Count
		if len(v.operator.Command) == 0 && !c.Ad.Has(pool.AttrNotifyCommand) && !r.Has(pool.AttrNotifyCommand) {
			continue
		}
		ad := r.Ad().Chain(c.Ad)
		h := hooksOf(nil, ad, v.operator)
		v.orders = append(v.orders, h.orders(procs, time.Time{}, userlog.Submitted{})...)
		if held := heldBody(ad); held != nil {
			v.orders = append(v.orders, h.orders(procs, time.Time{}, held)...)
		}
	}
}

// keepOrders keeps the commands for a transaction that takes jobs out of the queue, until
// order is called.
func (v *Events) keepOrders(folder string) (err error) {
	removed := func(o hooks.Order) bool { return o.Kind == jobevent.Removed }
	i := slices.IndexFunc(v.orders, removed)
	if i < 0 {
		return nil
	}
	_, kept := hooks.Files(folder, names(folder))
	for _, k := range kept {
		if k.Number == 0 && slices.ContainsFunc(v.orders, func(o hooks.Order) bool { return removed(o) && o.Procs.FirstJob() == k.Job }) {
			os.Remove(k.Path) // of a transaction that was not committed: the job would be gone
		}
	}
	v.ordered, err = hooks.KeepRemoved(folder, v.orders[i].Procs.FirstJob(), v.orders)
	return err
}

// names returns the names of the files in a folder, sorted.
func names(folder string) (list []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// order has the commands run, by a process that this one does not wait for. If root's starter runs
// the jobs as their owners, it runs them.
func (v *Events) order(c *cmdline.Call) {
	if len(v.orders) == 0 {
		return
	}
	dir, err := c.SpoolDir()
	if err == nil && v.ordered != "" {
		hooks.Release(v.ordered)
	} else if err == nil {
		err = hooks.Put(claims(dir), v.orders)
	}
	if err == nil && !owes(dir) {
		err = runHooks(c)
	}
	if err != nil {
		c.Warn("commands for events: %v; all else is done", err)
	}
}

// runHooks starts a runner, where changes start processes at all. Otherwise the next pass of starter does.
func runHooks(c *cmdline.Call) error {
	p, on, err := c.OnChange()
	if err == nil && on {
		_, err = hooks.Start(p)
	}
	return err
}

// finishHooks has run what processes kept that were killed, if their transactions were committed.
func (f finisher) finishHooks(kept []hooks.Kept) {
	for _, k := range kept {
		over, err := f.isOver(pendingFile{pool.Claim{Job: k.Job, Attempt: k.Number}, k.Path})
		switch info, gone := os.Stat(k.Path); {
		case err != nil:
			f.warn("%s: %v", k.Path, err)
		case over:
			hooks.Release(k.Path)
		case gone == nil && k.Number == 0 && time.Since(info.ModTime()) > tryFor:
			os.Remove(k.Path) // its transaction was not committed
		}
	}
}

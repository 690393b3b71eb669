// Package drain has the changes of starter -drain in the pool, for starter and for trials.
package drain

import (
	"fmt"
	"strings"
	"unicode"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
	"fairspool/spool"
)

// Flags are the flags of starter for draining a machine.
func Flags() []cmdline.Flag {
	return []cmdline.Flag{
		{Name: "drain", Help: "stop taking jobs, and wait until the jobs of this machine have left; with -watch, do so at the end"},
		{Name: "graceful", Help: "-drain: give jobs their retirement time, and then the time to vacate"},
		{Name: "quick", Help: "-drain: give jobs only the time to vacate"},
		{Name: "fast", Help: "-drain: kill jobs at once"},
		{Name: "reason", Args: []string{"TEXT"}, Help: "-drain: the reason that slots and jobs show"},
		{Name: "cancel", Help: "-drain: take jobs again"},
		{Name: "machine", Args: []string{"HOST"}, Help: "-drain: drain HOST, where a pilot runs jobs, instead of this machine"},
	}
}

// Options are the options of the command line for that.
type Options struct {
	Drain, Cancel bool
	Haste         *lifecycle.Haste // nil: it is not said
	Reason        *string          // nil: it is not said
	Machine       string           // empty: this one
}

// Read returns the options of a call, and refuses those that have no meaning together.
func Read(c *cmdline.Call) (o Options, err error) {
	for _, pair := range [][]string{{"graceful", "quick", "fast", "cancel"}, {"reason", "cancel"}} {
		if _, err := c.One(pair...); err != nil {
			return o, err
		}
	}
	for _, f := range Flags() {
		if c.Has(f.Name) && !c.Has("drain") {
			return o, cmdline.Usagef("-%s: only with -drain", f.Name)
		}
	}
	o.Drain, o.Cancel, o.Machine = c.Has("drain"), c.Has("cancel"), c.Value("machine")
	if c.Has("machine") && o.Machine == "" {
		return o, cmdline.Usagef("-machine: want the name of a machine")
	}
	for _, haste := range []lifecycle.Haste{lifecycle.Graceful, lifecycle.Quick, lifecycle.Fast} {
		if c.Has(haste.String()) {
			o.Haste = &haste
		}
	}
	if c.Has("reason") {
		reason := c.Value("reason")
		o.Reason = &reason
		if strings.ContainsFunc(reason, unicode.IsControl) {
			return o, cmdline.Usagef("-reason: want one line, without control characters")
		}
	}
	return o, nil
}

// Of returns the name of the machine that is meant, on the machine host. The error says why another one cannot be
// drained from here.
func (o Options) Of(v *spool.View, host string) (string, error) {
	if o.Machine == "" || strings.EqualFold(o.Machine, host) {
		return host, nil
	}
	name, ok := lifecycle.PilotMachine(v, o.Machine)
	if _, drained := lifecycle.DrainOf(v, name); !ok && !drained {
		return "", fmt.Errorf("-machine %s: no pilot runs jobs there: slots list -pilots shows where; without one, run starter -drain there", o.Machine)
	}
	return name, nil
}

// Close drains a machine, in the name of by, or because a watch that was told to end has stopped. It returns the
// machine's drain, and the jobs that leave it. If a machine is drained already, settings that the options omit
// stay, and the stop of a watch does not take over another's drain.
func (o Options) Close(tx *spool.Tx, machine, by string, stopped bool, now accountant.Reading, p accountant.Params) (lifecycle.Drained, lifecycle.Leavers) {
	d := lifecycle.Drained{Machine: machine, By: by, At: now.Now, Stopped: stopped}
	if was, drained := lifecycle.DrainOf(&tx.View, machine); drained && !was.Stopped {
		d = was
	}
	if o.Haste != nil {
		d.Haste = *o.Haste
	}
	if o.Reason != nil {
		d.Reason = *o.Reason
	}
	return d, lifecycle.Drain(tx, d, now.Now, p)
}

// Command is starter where it is only tried: it drains this machine, or opens it again.
func Command() cmdline.Command {
	return cmdline.Command{Name: "starter", Brief: "drain this machine", Flags: Flags(), Run: try}
}

func try(c *cmdline.Call) error {
	o, err := Read(c)
	if err == nil && (!o.Drain || len(c.Args) > 0) {
		err = cmdline.Usagef("only starter -drain can be tried")
	}
	if err != nil {
		return err
	}
	sp, err := c.Spool()
	if err != nil {
		return err
	}
	host, err := c.Hostname()
	if err != nil {
		return err
	}
	who, err := c.Caller()
	if err != nil {
		return err
	}
	return lifecycle.Account(sp, c.Reading(), func(tx *spool.Tx) error {
		host, err := o.Of(&tx.View, host)
		if err != nil {
			return err
		}
		if o.Cancel {
			lifecycle.Reopen(tx, host)
		} else {
			o.Close(tx, host, who.Name, false, c.Reading(), c.Config.Params)
		}
		return nil
	})
}

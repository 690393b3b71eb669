// Package slots is the command that keeps the pool's slot ads: it advertises them, lists them, takes them
// back, and makes those of this machine.
package slots

import (
	"fmt"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:   "slots",
		Served: true,
		Brief:  "advertise, list and withdraw slots",
		Synopsis: []string{
			"advertise FILE...|-",
			"list [-long | -json | -af ATTR...] [NAME...]",
			"withdraw NAME...",
			"withdraw -all",
			"detect [-count N | -partitionable [-resource NAME=N]...] [-dry-run]",
		},
		About: `The pool's slots are those that were advertised and those written by hand into *.ads files in the spool's folder slots.d.

advertise reads slot ads, in long form with blank lines between them or in new form, and puts all of them into the pool or none. An ad replaces the one of the same Name; without a Name its Machine counts. LastHeardFrom is set. An ad that says what the pool has already changes nothing, unless it has a ClassAdLifetime, which then begins anew.

list shows the slots with the claims on them: of a partitionable slot what is left, and behind it a dynamic slot for each job that has a part of it. Names limit it to these slots, or to those of a machine.

withdraw takes advertised slots out of the pool, all that are named or none. A slot with a claim stays: remove its job first, or let it end.

detect advertises this machine's processors as slots, or all of it as one partitionable slot, of which each job gets as much as it asks for.`,
		Flags: append([]cmdline.Flag{
			{Name: "all", Help: "withdraw all advertised slots"},
			{Name: "count", Args: []string{"N"}, Help: "detect: make N slots instead of one for each processor"},
			{Name: "partitionable", Help: "detect: make one slot of all, for jobs to take parts of"},
			{Name: "resource", Args: []string{"NAME=N"}, Repeat: true, Help: "detect: the partitionable slot has N of NAME as well"},
			{Name: "dry-run", Help: "detect: show the ads and advertise nothing"},
		}, adprint.Flags...),
		Examples: []cmdline.Example{
			{Does: "let this machine run jobs", Line: "slots detect"},
			{Does: "let this machine run jobs of any size", Line: "slots detect -partitionable -resource GPUs=2"},
			{Does: "add the slots of a file", Line: "slots advertise pool.ads"},
			{Does: "name and memory of every slot", Line: "slots list -af Name Memory"},
			{Does: "take a machine's slots back", Line: "slots withdraw slot1@node7 slot2@node7"},
		},
		Actions: []cmdline.Action{
			{Name: "advertise", Run: byAdministrator(advertise)},
			{Name: "list", Flags: []string{"long", "json", "af"}, Run: list},
			{Name: "withdraw", Flags: []string{"all"}, Run: byAdministrator(withdraw)},
			{Name: "detect", Flags: []string{"count", "partitionable", "resource", "dry-run"}, Run: byAdministrator(detect)},
		},
	}
}

// byAdministrator refuses an action to callers who are no administrators.
func byAdministrator(act func(*cmdline.Call, []string) error) func(*cmdline.Call, []string) error {
	return func(c *cmdline.Call, args []string) error {
		who, err := c.Caller()
		if err == nil && !who.Admin {
			err = fmt.Errorf("you are %s: only administrators may change the pool's slots", who.Name)
		}
		if err != nil {
			return err
		}
		return act(c, args)
	}
}

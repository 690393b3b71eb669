// Slots keeps the pool's slot ads: it advertises them, lists them, takes them
// back, and makes those of this machine.
package main

import (
	"slices"
	"strings"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:  "slots",
		Brief: "advertise, list and withdraw slots",
		Synopsis: []string{
			"advertise FILE...|-",
			"list [-long | -json | -af ATTR...] [NAME...]",
			"withdraw NAME...",
			"withdraw -all",
			"detect [-count N] [-dry-run]",
		},
		About: `The pool's slots are those that were advertised and those written by hand into *.ads files in the spool's folder slots.d.

advertise reads slot ads, in long form with blank lines between them or in new form, and puts all of them into the pool or none. An ad replaces the one of the same Name; without a Name its Machine counts. LastHeardFrom is set. An ad that says what the pool has already changes nothing, unless it has a ClassAdLifetime, which then begins anew.

list shows the slots with the claims on them. Names limit it to these slots, or to those of a machine.

withdraw takes advertised slots out of the pool, all that are named or none. A slot with a claim stays: remove its job first, or let it end.

detect advertises this machine's processors as slots.`,
		Flags: append([]cmdline.Flag{
			{Name: "all", Help: "withdraw all advertised slots"},
			{Name: "count", Args: []string{"N"}, Help: "detect: make N slots instead of one for each processor"},
			{Name: "dry-run", Help: "detect: show the ads and advertise nothing"},
		}, adprint.Flags...),
		Examples: []cmdline.Example{
			{Does: "let this machine run jobs", Line: "slots detect"},
			{Does: "add the slots of a file", Line: "slots advertise pool.ads"},
			{Does: "name and memory of every slot", Line: "slots list -af Name Memory"},
			{Does: "take a machine's slots back", Line: "slots withdraw slot1@node7 slot2@node7"},
		},
		Run: run,
	}
}

// actions are the words that say what to do, with the flags that each knows.
var actions = []struct {
	name  string
	flags []string
	run   func(*cmdline.Call, []string) error
}{
	{"advertise", nil, advertise},
	{"list", []string{"long", "json", "af"}, list},
	{"withdraw", []string{"all"}, withdraw},
	{"detect", []string{"count", "dry-run"}, detect},
}

func run(c *cmdline.Call) error {
	if len(c.Args) == 0 {
		return cmdline.Usagef("what to do? one of %s", actionNames())
	}
	for _, a := range actions {
		if a.name != c.Args[0] {
			continue
		}
		for _, f := range command().Flags {
			if c.Has(f.Name) && !slices.Contains(a.flags, f.Name) {
				return cmdline.Usagef("-%s: has no meaning for %s", f.Name, a.name)
			}
		}
		return a.run(c, c.Args[1:])
	}
	return cmdline.Usagef("%s: unknown action: want one of %s", c.Args[0], actionNames())
}

func actionNames() string {
	var names []string
	for _, a := range actions {
		names = append(names, a.name)
	}
	return strings.Join(names, ", ")
}

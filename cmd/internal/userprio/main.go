package userprio

import (
	"slices"
	"strings"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:   "userprio",
		Served: true,
		Brief:  "show and change user priorities",
		Synopsis: []string{
			"[options] [USER...]",
			"-setprio USER RUP | -setfactor USER FACTOR | -resetusage USER | -delete USER | ...",
			"-why USER | -forecast USER [-until EUP | -below OTHER]",
			"-history | -plot FILE [-since TIME] [USER...]",
			"-log [USER...] | -undo N | -export FILE | -import FILE",
			"-windows | -decayed | -tree [NAME...]",
			"-getreslist USER",
		},
		About: `Shows the effective user priority (EUP) of each submitter: the real user priority (RUP), which follows what is in use, times the priority factor. Lower is better for all three: shares of the pool are inverse to the EUP. Without USER, those are shown who used anything in the last 24 hours, best priority first. A USER with an @ is a submitter's full name, one without is the part before the @.

Usage is in slot hours, each slot counted with its weight. A RUP is halved every PRIORITY_HALFLIFE without use and never falls below 0.5.`,
		Flags: flags(),
		Examples: []cmdline.Example{
			{Does: "everybody, every column", Line: "userprio -all -allusers"},
			{Does: "a quarter of the share of an equal user with factor 1", Line: "userprio -setfactor alice@example.org 4"},
			{Does: "names and priorities for a script", Line: "userprio -allusers -af Name EffectivePriority"},
		},
		Run: run,
	}
}

// action is what userprio does instead of showing submitters.
type action struct {
	run func(*cmdline.Call) error
	// with are the flags that say more about it; all others but the common ones
	// say nothing here, and are refused.
	with []string
	// names tells whether it takes submitters' names as arguments.
	names bool
}

// actions are by the flag that asks for them.
var actions = map[string]action{
	"getreslist": {resources, []string{"long", "json", "af", "autoformat"}, false},
	"why":        {why, []string{"json"}, false},
	"forecast":   {forecast, []string{"until", "below", "json"}, false},
	"history":    {showHistory, []string{"since", "csv", "json"}, true},
	"plot":       {plot, []string{"since"}, true},
	"log":        {showLog, []string{"json"}, true},
	"undo":       {undo, []string{"reason"}, false},
	"export":     {exportState, nil, false},
	"import":     {importState, []string{"reason"}, false},
	"windows":    {showWindows, []string{"json"}, true},
	"decayed":    {showDecayed, []string{"json"}, true},
	"tree":       {showTree, []string{"json"}, true},
}

// fits refuses flags and arguments that mean nothing with what was asked for.
func (a action) fits(c *cmdline.Call, asked string) error {
	for _, f := range flags() {
		if f.Name != asked && c.Has(f.Name) && !slices.Contains(a.with, f.Name) {
			return cmdline.Usagef("-%s and -%s: only one of them at a time", asked, f.Name)
		}
	}
	if len(c.Args) > 0 && !a.names {
		return cmdline.Usagef("-%s: one argument too many: %s", asked, c.Args[0])
	}
	return nil
}

// says tells whether a flag means something without any action.
func says(flag string) bool {
	list := slices.Concat(adprint.Flags, displayFlags, columnOptions())
	return flag == "classic" || slices.ContainsFunc(list, func(f cmdline.Flag) bool { return f.Name == flag })
}

func run(c *cmdline.Call) error {
	for _, e := range edit.Flags {
		if c.Has(e.Name) && e.Name != "duration" {
			return change(c, e.Name)
		}
	}
	for _, f := range flags() {
		if a, ok := actions[f.Name]; ok && c.Has(f.Name) {
			if err := a.fits(c, f.Name); err != nil {
				return err
			}
			return a.run(c)
		}
	}
	for _, f := range flags() {
		if c.Has(f.Name) && !says(f.Name) {
			with, _, _ := strings.Cut(f.Help, ":")
			return cmdline.Usagef("-%s: only %s", f.Name, with)
		}
	}
	return show(c)
}

package userprio

import (
	"slices"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/complete"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/history"
)

// Plot draws series under a title as -plot asks, once it knows how.
type Plot func(c *cmdline.Call, title string, series func() ([]history.Series, error)) error

// Command returns the command. Programs that never draw give no plot, and are spared what pictures take.
func Command(plot Plot) cmdline.Command {
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
			"-flocked [USER...]",
			"-getreslist USER",
		},
		About: `Shows the effective user priority (EUP) of each submitter: the real user priority (RUP), which follows current usage, times the priority factor. Lower is better for all three: shares of the pool are inverse to the EUP. Without USER it shows the submitters with usage in the last 24 hours, best priority first. A USER with an @ is the full name of a submitter; without one it is the part before the @.

Usage is in slot hours, each slot counted with its weight. Without usage the RUP is halved every PRIORITY_HALFLIFE; it never falls below 0.5.`,
		Flags: flags(),
		Examples: []cmdline.Example{
			{Does: "all submitters, all columns", Line: "userprio -all -allusers"},
			{Does: "a quarter of the share of an equal user with factor 1", Line: "userprio -setfactor alice@example.org 4"},
			{Does: "names and priorities for a script", Line: "userprio -allusers -af Name EffectivePriority"},
		},
		Takes: []string{"USER"}, Names: complete.Names,
		Outputs: outputs,
		Run:     func(c *cmdline.Call) error { return run(c, plot) },
	}
}

// action is what userprio does instead of showing submitters.
type action struct {
	run func(*cmdline.Call, options) error
	// with are the flags that say more about it; all others but the common ones
	// say nothing here, and are refused.
	with []string
	// names reports whether it takes submitters' names as arguments.
	names bool
}

// actions are by the flag that asks for them.
func actions(plot Plot) map[string]action {
	return map[string]action{
		"getreslist": {resources, []string{"long", "json", "af", "autoformat"}, false},
		"why":        {why, []string{"json"}, false},
		"forecast":   {forecast, []string{"until", "below", "json"}, false},
		"history":    {showHistory, []string{"since", "csv", "json"}, true},
		"plot":       {func(c *cmdline.Call, o options) error { return draw(c, o, plot) }, []string{"since", "json"}, true},
		"log":        {showLog, []string{"json"}, true},
		"undo":       {undo, []string{"reason", "json"}, false},
		"export":     {exportState, []string{"json"}, false},
		"import":     {importState, []string{"reason", "json"}, false},
		"windows":    {showWindows, []string{"json"}, true},
		"decayed":    {showDecayed, []string{"json"}, true},
		"tree":       {showTree, []string{"json"}, true},
		"flocked":    {showFlocked, []string{"json"}, true},
	}
}

// Changes reports whether a call asks for a change of accounts.
func Changes(c *cmdline.Call) bool {
	asked := askedOf(c)
	return asked == "undo" || asked == "import" || isEdit(asked)
}

func run(c *cmdline.Call, plot Plot) error {
	o, err := optionsOf(c)
	switch {
	case err != nil:
		return err
	case isEdit(o.asked):
		return change(c, o)
	case o.asked != "":
		return actions(plot)[o.asked].run(c, o)
	}
	return show(c, o)
}

// flags returns the flags. Those of HTCondor's tool are in the order in which it tries
// abbreviations; the first that fits wins. Ours, behind them, have to be spelled in full.
func flags() []cmdline.Flag {
	return slices.Concat(edit.Flags, adprint.Flags, displayFlags, columnOptions(), ownFlags)
}

var displayFlags = []cmdline.Flag{
	adprint.Autoformat,
	{Name: "constraint", Args: []string{"EXPR"}, Min: 1, Help: "show those for whose ads EXPR is true"},
	{Name: "legacy", Min: 3, Help: "with -long: one ad for all, with numbered attributes, where Priority is the EUP"},
	{Name: "modular", Min: 3, Help: "with -long: one ad for each submitter, the default"},
	{Name: "debug", Min: 1, Refused: true},
	{Name: "hierarchical", Aliases: []string{"heir"}, Min: 2, Help: "show users under their groups"},
	{Name: "flat", Min: 2, Help: "show groups and users in one list"},
	{Name: "grouprollup", Min: 1, Help: "show groups with the sums of their subgroups"},
	{Name: "grouporder", Min: 1, Help: "show groups first, then users"},
	{Name: "quotas", Min: 1, Help: "show the groups' quotas; with -hierarchical also their usage and demand"},
	{Name: "all", Min: 1, Help: "show every column"},
	{Name: "most", Min: 2, Help: "show the default columns"},
	{Name: "activefrom", Args: []string{"MONTH", "DAY", "YEAR"}, Min: 1, Help: "show submitters with usage since that day"},
	{Name: "allusers", Min: 1, Help: "show all submitters, also those without usage"},
	{Name: "usage", Min: 2, Help: "show current and accumulated usage, and the times of the first and the last usage"},
	{Name: "priority", Min: 4, Help: "show effective and real priority and the factor"},
	{Name: "getreslist", Args: []string{"USER"}, Min: 6, Help: "show the slots that are charged to the submitter"},
	{Name: "inputfile", Args: []string{"FILE"}, Min: 2, Help: "show the ads in FILE (- is standard input), as -long wrote them here or in HTCondor"},
	{Name: "pool", Args: []string{"HOST"}, Min: 1, Refused: true},
	{Name: "name", Args: []string{"NAME"}, Refused: true},
	{Name: "collector", Min: 3, Help: "accepted without effect: there is one source of all figures"},
	{Name: "negotiator", Min: 3, Help: "the same"},
}

var ownFlags = []cmdline.Flag{
	{Name: "classic", Help: "show the listings of HTCondor's first manuals: name and effective priority, or with -all and -usage their other columns"},
	{Name: "why", Args: []string{"USER"}, Help: "explain a submitter's priority and place"},
	{Name: "forecast", Args: []string{"USER"}, Help: "show when the EUP will reach which value, if nothing changes; see -until and -below"},
	{Name: "until", Args: []string{"EUP"}, Help: "with -forecast: show when the EUP reaches this value"},
	{Name: "below", Args: []string{"OTHER"}, Help: "with -forecast: show when the EUP is better than that of OTHER"},
	{Name: "history", Help: "show samples of priority, usage and demand over time"},
	{Name: "since", Args: []string{"TIME"}, Help: "with -history and -plot: show samples since TIME, a time as for -now or an age such as 7d"},
	{Name: "csv", Help: "with -history: comma-separated values"},
	{Name: "plot", Args: []string{"FILE"}, Help: "draw priority and usage over time into FILE.svg or FILE.png, or with - into the terminal"},
	{Name: "log", Help: "show who changed what, and why"},
	edit.Create,
	{Name: "reason", Args: []string{"TEXT"}, Help: "with an edit: the reason, for the log"},
	cmdline.Force,
	{Name: "undo", Args: []string{"N"}, Help: "undo the change that has this number in the log"},
	{Name: "export", Args: []string{"FILE"}, Help: "write the whole accounting state to FILE (- is standard output)"},
	{Name: "import", Args: []string{"FILE"}, Help: "replace the accounting state with that of FILE (- is standard input), as -export wrote it"},
	{Name: "windows", Help: "show the fair share windows of Maui's policy"},
	{Name: "decayed", Help: "show the decayed usage of Grid Engine's policy"},
	{Name: "tree", Help: "show the share tree of Grid Engine's policy: shares, usage, and the entitlement of each node"},
	{Name: "flocked", Help: "show submitters' usage of the slots of other pools, which counts in no priority here"},
}

// change makes one edit, as one transaction.
func change(c *cmdline.Call, o options) error {
	ch := o.edit
	s, err := c.Spool()
	if err != nil {
		return err
	}
	tell, err := edited(c, s, func(t *trail) error {
		changed, err := ch.Make(&t.tx.View, s.Domain(), c.Now, c.Config.Params)
		if err != nil {
			return err
		}
		for _, x := range changed {
			t.change(x.Before, x.After)
		}
		t.name(ch.Op, ch.Words(), o.reason)
		return nil
	})
	if err != nil {
		return err
	}
	return tell(ch.Done())
}

package negotiate

import (
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/onchange"
	"fairspool/lib/report/cycle"
)

// options are the options of the command line.
type options struct {
	json, quiet bool
	checkConfig bool // -check-config
	health      bool // -health
	looks       bool // nothing is changed
	driven      bool // a command that has changed the queue asks for the cycle
	job         *cycle.Asked
	changes     []change
}

// refusals are the options that do not go together, in the order in which they are
// refused.
var refusals = []cmdline.Refusal{
	{Option: "check-config", Others: []string{"dry-run", "what-if", "explain", "health"}},
	{Option: "health", Others: []string{"dry-run", "what-if", "explain", cmdline.Force.Name}},
	{Option: "json", Others: []string{"q"}},
	{Option: "what-if", Others: []string{"q"}},
	{Option: "explain", Others: []string{"q"}},
}

// optionsOf reads the command line. Errors are about its usage.
func optionsOf(c *cmdline.Call) (o options, err error) {
	o = options{
		json: c.Has("json"), quiet: c.Has("q"), checkConfig: c.Has("check-config"), health: c.Has("health"), driven: c.Has(onchange.Flag),
		looks: c.Has("dry-run") || c.Has("what-if") || c.Has("explain"),
	}
	switch {
	case len(c.Args) > 0 && (o.checkConfig || o.health):
		return o, cmdline.Usagef("%s: unexpected argument", c.Args[0])
	case len(c.Args) > 0:
		return o, cmdline.Usagef("%s: takes no argument; see negotiate -help", c.Args[0])
	}
	if err := cmdline.Refuse(c.Has, refusals...); err != nil {
		return o, err
	}
	if o.changes, err = readChanges(c); err != nil {
		return o, err
	}
	if c.Has("explain") {
		if o.job, err = cycle.ParseAsked(c.Value("explain")); err != nil {
			return o, cmdline.Usagef("-explain: %v", err)
		}
	}
	return o, nil
}

// tries reports whether a kind of changes is tried.
func (o options) tries(kind string) bool {
	return slices.ContainsFunc(o.changes, func(ch change) bool { return ch.kind == kind })
}

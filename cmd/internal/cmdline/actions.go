package cmdline

import (
	"slices"
	"strings"

	"fairspool/lib/nearest"
)

// Action is one of several things that a command does, which the first argument
// names.
type Action struct {
	Name  string
	Flags []string // full names of the command's own flags that have a meaning for it
	// Run does the work with the arguments behind the name.
	Run func(c *Call, args []string) error
}

// perform does what the command is called for.
func (c Command) perform(call *Call) error {
	if len(c.Actions) == 0 {
		return c.Run(call)
	}
	if len(call.Args) == 0 {
		return Usagef("what to do? one of %s; see %s -help", strings.Join(c.actionNames(), ", "), c.Name)
	}
	i := slices.IndexFunc(c.Actions, func(a Action) bool { return a.Name == call.Args[0] })
	if i < 0 {
		hint := nearest.Hint(call.Args[0], c.actionNames())
		if hint == "" {
			hint = "; see " + c.Name + " -help"
		}
		return Usagef("%s: unknown action: want one of %s%s", call.Args[0], strings.Join(c.actionNames(), ", "), hint)
	}
	a := c.Actions[i]
	for _, f := range c.Flags {
		if call.Has(f.Name) && !slices.Contains(a.Flags, f.Name) {
			return Usagef("-%s: has no meaning for %s", f.Name, a.Name)
		}
	}
	return a.Run(call, call.Args[1:])
}

func (c Command) actionNames() []string {
	var names []string
	for _, a := range c.Actions {
		names = append(names, a.Name)
	}
	return names
}

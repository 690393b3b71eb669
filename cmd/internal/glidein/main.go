// Package glidein is the command that keeps pilots on the machines of engines: it starts the links
// that are missing, copies starter to machines, and ends pilots.
package glidein

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairspool/cmd/internal/account"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/onchange"
	"fairspool/lib/config"
	"fairspool/lib/nearest"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:   "glidein",
		AsRoot: func(*cmdline.Call) bool { return true },
		Brief:  "keep pilots on the machines of engines",
		Synopsis: []string{
			"[-dry-run | -explain] [-json | -q]",
			"-install [-json | -q] [HOST...]",
			"-token HOST [-json]",
			"-cancel HOST|PILOT [-json]",
		},
		About: `Keeps pilots on the machines that [engine.NAME] of the configuration names. Where LINK is "attach" and a machine has no link, glidein starts serve -pilot in the background, which runs starter -pilot on the machine by ssh. Run it from cron, between negotiate and starter; a cycle after a change of the queue runs it, too.

glidein tries a machine that cannot be reached again after about 10 seconds, and then after twice as long each time, at most 10 minutes.

-install copies the program starter, which is beside glidein, to the named machines, or to all, and asks it there for its version. -token requests a pilot that calls this host, where LINK is "home", and prints the token for it; the machine's last token becomes invalid unless its pilot is here. -cancel ends the link to a machine, and leaves the machine alone for 10 minutes; jobs there go on.`,
		Flags: []cmdline.Flag{
			{Name: "install", Help: "copy the program starter to the named machines, or to all"},
			{Name: "token", Args: []string{"HOST"}, Help: "print a new token for the pilot of HOST, which calls this host"},
			{Name: "cancel", Args: []string{"HOST"}, Help: "end the link to HOST, or the pilot with this number"},
			{Name: "dry-run", Help: "show what would be done, and do nothing"},
			{Name: "explain", Help: "also show why no more pilots would be requested, and why jobs would get no slots"},
			{Name: "json", Help: "report as JSON"},
			{Name: "q", Aliases: []string{"quiet"}, Help: "print errors only"},
		},
		Examples: []cmdline.Example{
			{Does: "keep pilots on all machines, from cron", Line: "glidein -q"},
			{Does: "see what it would do", Line: "glidein -dry-run"},
			{Does: "put starter on all machines, and after an upgrade again", Line: "glidein -install"},
			{Does: "put it on one", Line: "glidein -install n3"},
			{Does: "let a machine call that this host cannot reach", Line: "glidein -token n4 | ssh -J gate n4 'umask 077; cat >.fairspool/token'"},
			{Does: "end the link to a machine", Line: "glidein -cancel n3"},
		},
		Outputs: outputs, Run: run,
	}
}

func run(c *cmdline.Call) error {
	cmdline.HandNothingOn()
	if err := cmdline.Refuse(c.Has,
		cmdline.Refusal{Option: "json", Others: []string{"q"}},
		cmdline.Refusal{Option: "install", Others: []string{"token", "cancel", "dry-run", "explain"}},
		cmdline.Refusal{Option: "token", Others: []string{"cancel", "dry-run", "explain", "q"}},
		cmdline.Refusal{Option: "cancel", Others: []string{"dry-run", "explain", "q"}},
		cmdline.Refusal{Option: "dry-run", Others: []string{"explain"}},
		cmdline.Refusal{Option: "explain", Others: []string{"q"}},
	); err != nil {
		return err
	}
	if c.Has("install") {
		return install(c)
	}
	if len(c.Args) > 0 {
		return cmdline.Usagef("%s: only -install takes machines as arguments", c.Args[0])
	}
	if err := account.Serve(c); err != nil {
		return err
	}
	switch {
	case c.Has("token"):
		return token(c, c.Value("token"))
	case c.Has("cancel"):
		return cancel(c, c.Value("cancel"))
	}
	return keep(c)
}

// machine is one of an engine's.
type machine struct {
	name   string
	engine config.Engine
}

// machines returns all of the configuration's, in the order of the engines' names.
func machines(c *cmdline.Call) (list []machine) {
	for _, e := range c.Config.Engines {
		for _, host := range e.Hosts {
			list = append(list, machine{host, e})
		}
	}
	return list
}

// errNoEngines says that there is no machine to be named.
var errNoEngines = errors.New("the configuration has no engine: see [engine.NAME] in machines(7)")

// named returns the machines that have these names, in whatever case; without names all.
func named(c *cmdline.Call, names []string) ([]machine, error) {
	all := machines(c)
	switch {
	case len(all) == 0:
		return nil, errNoEngines
	case len(names) == 0:
		return all, nil
	}
	var list []machine
	for _, name := range names {
		i := slices.IndexFunc(all, func(m machine) bool { return strings.EqualFold(m.name, name) })
		if i < 0 {
			known := make([]string, len(all))
			for j, m := range all {
				known[j] = m.name
			}
			return nil, fmt.Errorf("%s: no engine has this machine%s", name, nearest.Hint(name, known))
		}
		if !slices.ContainsFunc(list, func(m machine) bool { return m.name == all[i].name }) {
			list = append(list, all[i])
		}
	}
	return list, nil
}

// programs returns the folder of the programs of fairspool beside this one.
var programs = func(c *cmdline.Call) (onchange.Pool, error) {
	folder, prefix, ok := onchange.Siblings(c.Name)
	if !ok {
		return onchange.Pool{}, errors.New("negotiate and starter are not in the folder of this program: install all programs into one")
	}
	return onchange.Pool{Programs: folder, Prefix: prefix}, nil
}

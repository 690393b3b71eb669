// Command userprio shows and changes the submitters' priorities and usage.
package main

import (
	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:  "userprio",
		Brief: "show and change user priorities",
		Synopsis: []string{
			"[options] [USER...]",
			"-setprio USER RUP | -setfactor USER FACTOR | -resetusage USER | -delete USER",
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

// flags returns the flags in the order in which HTCondor's tool tries
// abbreviations: the first that fits wins.
func flags() []cmdline.Flag {
	later := func(min int, names ...string) (list []cmdline.Flag) {
		for _, n := range names {
			list = append(list, cmdline.Flag{Name: n, Min: min, Refused: true})
		}
		return list
	}
	var all []cmdline.Flag
	add := func(list ...cmdline.Flag) { all = append(all, list...) }
	add(
		cmdline.Flag{Name: "setprio", Args: []string{"USER", "RUP"}, Min: 1, Help: "set the real user priority, at least 0.5"},
		cmdline.Flag{Name: "setfactor", Args: []string{"USER", "FACTOR"}, Min: 1, Help: "set the priority factor, at least 1, instead of the computed one"})
	add(later(1, "setfloor", "setceiling", "duration", "cancelceilinglease", "cancelfloorlease", "cancelfactorlease", "setbegin", "setaccum", "setlast")...)
	add(
		cmdline.Flag{Name: "resetusage", Args: []string{"USER"}, Min: 1, Help: "set the accumulated usage to nothing; priority and factor stay"},
		cmdline.Flag{Name: "delete", Args: []string{"USER"}, Min: 3, Help: "forget the submitter: priority, factor and usage begin anew; what is in use stays charged"})
	add(later(1, "resetall")...)
	add(adprint.Flags...)
	add(later(1, "constraint")...)
	add(later(3, "legacy", "modular")...)
	add(later(5, "autoformat")...)
	add(later(1, "debug")...)
	add(later(2, "hierarchical")...)
	add(cmdline.Flag{Name: "flat", Min: 2, Help: "one list of all submitters, which is the default"})
	add(later(1, "grouprollup", "grouporder", "quotas", "surplus")...)
	add(later(2, "sortkey")...)
	add(
		cmdline.Flag{Name: "all", Min: 1, Help: "show every column"},
		cmdline.Flag{Name: "most", Min: 2, Help: "show the default columns"})
	add(later(1, "groupid", "order")...)
	add(
		cmdline.Flag{Name: "activefrom", Args: []string{"MONTH", "DAY", "YEAR"}, Min: 1, Help: "show who used anything since that day"},
		cmdline.Flag{Name: "allusers", Min: 1, Help: "show everybody, used or not"},
		cmdline.Flag{Name: "usage", Min: 2, Help: "show what is in use, accumulated usage and when it began and last was"},
		cmdline.Flag{Name: "priority", Min: 4, Help: "show effective and real priority and the factor"})
	add(later(6, "getreslist")...)
	add(later(2, "inputfile")...)
	add(later(1, "pool")...)
	add(later(0, "name")...)
	add(later(3, "collector", "negotiator")...)
	return all
}

func run(c *cmdline.Call) error {
	edit, err := c.One("setprio", "setfactor", "resetusage", "delete")
	if err != nil {
		return err
	}
	if edit != "" {
		return change(c, edit)
	}
	show, err := selection(c)
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var records []accountant.Record
	if err := s.View(func(v *spool.View) error { records = v.Submitters(); return nil }); err != nil {
		return err
	}
	if err := display(c, show, show.rows(c, records)); err != nil {
		return err
	}
	return show.complain(c, records)
}

// Package slots is the command that keeps the pool's slot ads: it advertises them, lists them, withdraws
// them, and makes those of this machine.
package slots

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/complete"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:   "slots",
		Served: true,
		Brief:  "advertise, list and withdraw slots",
		Synopsis: []string{
			"advertise [-json] FILE...|-",
			"list [-long | -json | -af ATTR...] [NAME...]",
			"list -pilots [-json]",
			"withdraw [-json] NAME...",
			"withdraw [-json] -all",
			"withdraw [-json] -gone HOST",
			"reserve -start TIME -end TIME [-reason TEXT] [-json] CONSTRAINT",
			"reserve [-json]",
			"reserve -cancel ID [-json]",
			"detect [-count N | -partitionable [-resource NAME=N]...] [-dry-run] [-json]",
		},
		About: `Manages the slots of the pool: those that were advertised, and those written by hand into *.ads files in the spool's folder slots.d. The first word says what to do.

advertise reads slot ads, in long form with blank lines between them or in new form, and adds all of them or none. An ad replaces the ad of the same Name, or of the same Machine if it has no Name. advertise sets LastHeardFrom. An ad that the pool has already changes nothing, unless it has a ClassAdLifetime, which then starts anew.

list shows the slots with their claims. For a partitionable slot it shows what is left, and then a dynamic slot for each job that has a part of it. NAME limits the list to a slot or to the slots of a machine.

list -pilots shows the pilots: the processes that run jobs on other machines, and those that were requested.

withdraw removes advertised slots: all that are named, or none. A slot with a claim stays: remove its job first, or let it end.

withdraw -gone HOST gives up another machine that is known to run nothing any more: its jobs run again elsewhere, its pilot is refused, and its slots are removed.

reserve announces a maintenance of the slots for which the constraint is true. Before its start they take only jobs that say how long they run at most (submit -time) and end in time; until its end they take none. Running jobs stay. Without arguments reserve lists the maintenances that are not over.

detect advertises the processors of this machine as slots, or the whole machine as one partitionable slot, from which each job takes what it requests.`,
		Flags: append([]cmdline.Flag{
			{Name: "all", Help: "withdraw all advertised slots"},
			{Name: "gone", Args: []string{"HOST"}, Help: "withdraw: give up another machine that runs nothing any more, with its jobs and slots"},
			{Name: "pilots", Help: "list: show the pilots instead of the slots"},
			{Name: "start", Args: []string{"TIME"}, Help: "reserve: the maintenance starts at TIME: \"2026-12-01 08:00\", a day, RFC 3339, Unix seconds, now, or from now on, such as +2h"},
			{Name: "end", Args: []string{"TIME"}, Help: "reserve: it ends at TIME, likewise; +4h is four hours after the start"},
			{Name: "reason", Args: []string{"TEXT"}, Help: "reserve: say why"},
			{Name: "cancel", Args: []string{"ID"}, Help: "reserve: take the maintenance with this number back"},
			{Name: "count", Args: []string{"N"}, Help: "detect: make N slots instead of one for each processor"},
			{Name: "partitionable", Help: "detect: make one partitionable slot of the whole machine"},
			{Name: "resource", Args: []string{"NAME=N"}, Repeat: true, Help: "detect: give the partitionable slot N of NAME as well"},
			{Name: "dry-run", Help: "detect: show the ads and advertise nothing"},
		}, adprint.Flags...),
		Examples: []cmdline.Example{
			{Does: "let this machine run jobs", Line: "slots detect"},
			{Does: "let this machine run jobs of any size", Line: "slots detect -partitionable -resource GPUs=2"},
			{Does: "add the slots of a file", Line: "slots advertise pool.ads"},
			{Does: "name and memory of every slot", Line: "slots list -af Name Memory"},
			{Does: "stop a machine for new disks on Tuesday", Line: `slots reserve -start "2026-12-01 08:00" -end +4h -reason "new disks" 'Machine == "node7"'`},
			{Does: "remove slots of a machine", Line: "slots withdraw slot1@node7 slot2@node7"},
			{Does: "give up a machine that is lost, and run its jobs elsewhere", Line: "slots withdraw -gone node7"},
		},
		Takes: []string{"SLOT"}, Names: complete.Names,
		Outputs: func() []cmdline.Output {
			return []cmdline.Output{
				{Name: "slots-list", Value: cmdline.Ads{}}, {Name: "slots-list-pilots", Value: cmdline.List{Member: "Pilots", Of: pilot{}}},
				{Name: "slots-reserve", Value: reservation{}}, {Name: "slots-reserve-list", Value: cmdline.List{Member: "Maintenances", Of: maintenance{}}},
				{Name: "slots-reserve-cancel", Value: cancelled{}}, {Name: "slots-advertise", Value: advertisement{}}, {Name: "slots-withdraw", Value: withdrawal{}},
			}
		},
		Actions: []cmdline.Action{
			{Name: "advertise", Flags: []string{"json"}, Run: byAdministrator(advertise)},
			{Name: "list", Flags: []string{"long", "json", "af", "pilots"}, Run: list},
			{Name: "withdraw", Flags: []string{"all", "gone", "json"}, Run: byAdministrator(withdraw)},
			{Name: "reserve", Flags: []string{"start", "end", "reason", "cancel", "json"}, Run: reserveBy},
			{Name: "detect", Flags: []string{"count", "partitionable", "resource", "dry-run", "json"}, Run: byAdministrator(detect)},
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

// reserveBy lets everybody list maintenances, and administrators alone change them.
func reserveBy(c *cmdline.Call, args []string) error {
	if len(args) == 0 && !c.Has("start") && !c.Has("end") && !c.Has("cancel") {
		return reserve(c, args)
	}
	return byAdministrator(reserve)(c, args)
}

// list shows the slots with the claims on them, a dynamic slot for each claimed
// piece of a partitionable one.
func list(c *cmdline.Call, names []string) error {
	if _, err := c.One("long", "json", "af"); err != nil {
		return err
	}
	if _, err := c.One("pilots", "long", "af"); err != nil {
		return err
	}
	if c.Has("pilots") {
		return listPilots(c, names)
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var ads []*classad.Ad
	var slots []pool.Slot
	var maintenances []pool.Maintenance
	err = s.View(func(v *spool.View) error {
		all, bad := lifecycle.Slots(v)
		for _, err := range bad {
			c.Warn("%v", err)
		}
		slots, err = choose(overlaid(&classad.Context{Now: c.Now}, all, v.Claims()), names)
		maintenances = coming(c, v)
		ads = make([]*classad.Ad, len(slots)) // never nil: without slots, JSON has an empty list
		for i, s := range slots {
			ads[i] = s.Ad
		}
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case c.Has("json"):
		return adprint.Print(c, "json", slices.Values(ads))
	case c.Has("long"):
		return adprint.Long(c.Data(), ads)
	case c.Has("af"):
		return adprint.Auto(c.Data(), &classad.Context{Now: c.Now}, c.Letters("af"), c.Values("af"), ads)
	}
	if err := c.Table(columns, rows(ads)); err != nil {
		return err
	}
	return tellMaintenances(c, maintenances, slots)
}

// choose returns the slots with these names or of these machines; all of
// them without names.
func choose(slots []pool.Slot, names []string) ([]pool.Slot, error) {
	if len(names) == 0 {
		return slots, nil
	}
	found := map[string]bool{}
	var out []pool.Slot
	for _, s := range slots {
		machine, _ := textOf(s.Ad, pool.AttrMachine)
		for _, n := range names {
			if n == s.Name || strings.EqualFold(n, machine) {
				found[n] = true
				if len(out) == 0 || out[len(out)-1].Name != s.Name {
					out = append(out, s)
				}
			}
		}
	}
	for _, n := range names {
		if !found[n] {
			return nil, fmt.Errorf("%s: no such slot or machine", n)
		}
	}
	return out, nil
}

// overlaid returns the slots with the attributes of their claims, and behind each
// partitionable slot, which shows its free rest, its dynamic slots.
func overlaid(eval *classad.Context, slots []pool.Slot, claims []pool.Claim) []pool.Slot {
	held := map[string][]pool.Claim{} // by the slot ad that they take from
	promised := map[string]pool.Claim{}
	for _, k := range claims {
		if k.State == pool.Promised { // a job that is promised a slot does not have it yet
			promised[k.Slot] = k
		} else {
			held[k.SlotAd()] = append(held[k.SlotAd()], k)
		}
	}
	overlay := func(ad *classad.Ad, k pool.Claim) *classad.Ad {
		ad = pool.Overlay(ad, k, eval.Now)
		if next, ok := promised[k.Slot]; ok {
			ad = pool.OverlayPromise(ad, next)
		}
		return ad
	}
	var out []pool.Slot
	for _, s := range slots {
		out = append(out, s)
		whole := &out[len(out)-1]
		if next, ok := promised[s.Name]; ok { // held outside
			whole.Ad = pool.OverlayPromise(s.Ad, next)
		}
		var pieces []pool.Resources
		var dynamic []pool.Slot
		for _, k := range held[s.Name] {
			if k.Piece.Of == "" {
				whole.Ad = overlay(s.Ad, k)
				continue
			}
			pieces = append(pieces, k.Piece.Takes)
			dynamic = append(dynamic, pool.Slot{Name: k.Slot, Ad: overlay(pool.DynamicAd(s.Ad, k.Slot, k.Piece.Takes), k)})
		}
		whole.Ad = pool.Left(eval, whole.Ad, pieces)
		slices.SortFunc(dynamic, func(a, b pool.Slot) int { return pool.CompareNames(a.Name, b.Name) })
		out = append(out, dynamic...)
	}
	return out
}

var columns = []cmdline.Column{
	{Head: "Name"}, {Head: "OpSys"}, {Head: "Arch"}, {Head: "State"}, {Head: "Activity"},
	{Head: "Cpus", Right: true}, {Head: "Memory", Right: true}, {Head: "User"}, {Head: "Job"},
}

func rows(ads []*classad.Ad) [][]string {
	rows := make([][]string, len(ads))
	for i, ad := range ads {
		rows[i] = []string{
			text(ad, pool.AttrName), text(ad, "OpSys"), text(ad, "Arch"),
			text(ad, pool.AttrState), text(ad, pool.AttrActivity),
			number(ad, pool.AttrCpus), number(ad, pool.AttrMemory),
			text(ad, pool.AttrRemoteUser), text(ad, pool.AttrJobID),
		}
	}
	return rows
}

func text(ad *classad.Ad, name string) string {
	s, _ := textOf(ad, name)
	return s
}

func number(ad *classad.Ad, name string) string {
	n, ok := ad.EvalNumber(&classad.Context{}, name)
	if !ok {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// withdraw takes the named slots, or all advertised ones, out of the pool:
// all of them or none.
func withdraw(c *cmdline.Call, names []string) error {
	all, gone := c.Has("all"), c.Has("gone")
	if _, err := c.One("all", "gone"); err != nil {
		return err
	}
	if (all || gone) == (len(names) > 0) {
		return cmdline.Usagef("withdraw: want names of slots, -all, or -gone HOST")
	}
	if gone {
		return withdrawGone(c, c.Value("gone"))
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	err = s.Update(func(tx *spool.Tx) error {
		op := names
		if all {
			op = []string{"-all"}
			names = advertised(tx)
		}
		tx.Op("withdraw", op...)
		names = slices.Compact(slices.Sorted(slices.Values(names)))
		byHand := handWritten(tx)
		if c.Trial != nil {
			byHand = nil // a fork's can go, as if they were taken out of their files
		}
		if err := mayGo(tx, names, byHand); err != nil {
			return err
		}
		lifecycle.Withdraw(tx, names)
		return nil
	})
	if err != nil {
		return err
	}
	c.Changed()
	if c.Has("json") {
		return c.JSON(withdrawal{Withdrawn: append([]string{}, names...)})
	}
	_, err = fmt.Fprintf(c.Stdout, "%s withdrawn.\n", plural.Count(len(names), "slot"))
	return err
}

// withdrawal is what withdraw prints with -json.
type withdrawal struct {
	Withdrawn []string
	Machine   string   `json:",omitempty"` // that is given up
	Ended     []string `json:",omitempty"` // its jobs, which have lost their slots
}

func advertised(tx *spool.Tx) []string {
	var names []string
	slots, _ := tx.Slots()
	for _, s := range slots {
		if s.Source == "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// mayGo returns why one of the slots has to stay; byHand are the slots written by hand.
func mayGo(tx *spool.Tx, names []string, byHand map[string]string) error {
	claimed := map[string][]pool.JobID{}
	for _, k := range tx.Claims() {
		claimed[k.SlotAd()] = append(claimed[k.SlotAd()], k.Job)
	}
	parts := dynamicSlots(tx)
	for _, name := range names {
		if where, ok := byHand[name]; ok {
			return fmt.Errorf("%s: is written by hand in %s: take it out there", name, where)
		}
		if _, ok := tx.Advertised(name); !ok {
			if of := parts[name]; of != "" {
				return fmt.Errorf("%s: is a part of %s, and ends with its job", name, of)
			}
			return fmt.Errorf("%s: no such slot; slots list shows them", name)
		}
		switch jobs := claimed[name]; {
		case len(jobs) == 1:
			return fmt.Errorf("%s: claimed for job %v: remove the job or let it end first", name, jobs[0])
		case len(jobs) > 1:
			first := slices.MinFunc(jobs, pool.JobID.Compare)
			return fmt.Errorf("%s: claimed for job %v and %d more: remove the jobs or let them end first", name, first, len(jobs)-1)
		}
	}
	return nil
}

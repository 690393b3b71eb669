package slots

import (
	"fmt"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// withdraw takes the named slots, or all advertised ones, out of the pool:
// all of them or none.
func withdraw(c *cmdline.Call, names []string) error {
	all := c.Has("all")
	if all == (len(names) > 0) {
		return cmdline.Usagef("withdraw: want names of slots, or -all")
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	count := 0
	err = s.Update(func(tx *spool.Tx) error {
		op := names
		if all {
			op = []string{"-all"}
			names = advertised(tx)
		}
		tx.Op("withdraw", op...)
		names = slices.Compact(slices.Sorted(slices.Values(names)))
		if err := mayGo(tx, names); err != nil {
			return err
		}
		for _, name := range names {
			tx.DropSlot(name)
			tx.DropBackoff(name)
		}
		if len(names) > 0 {
			operation.NoteGiven(tx)
		}
		count = len(names)
		return nil
	})
	if err != nil {
		return err
	}
	c.Changed()
	_, err = fmt.Fprintf(c.Stdout, "%s withdrawn.\n", plural.Count(count, "slot"))
	return err
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

// mayGo returns why one of the slots has to stay.
func mayGo(tx *spool.Tx, names []string) error {
	claimed := map[string][]pool.JobID{}
	for _, k := range tx.Claims() {
		claimed[k.SlotAd()] = append(claimed[k.SlotAd()], k.Job)
	}
	byHand, parts := handWritten(tx), dynamicSlots(tx)
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

package userprio

import (
	"fmt"
	"maps"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/cmd/internal/operation"
)

// change makes one edit, as one transaction.
func change(c *cmdline.Call, flag string) error {
	ch, err := readEdit(c, flag)
	if err != nil {
		return err
	}
	why, err := reason(c)
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	err = edited(c, s, func(t *trail) error {
		of := edit.Pool{Domain: s.Domain(), Queued: func() []string {
			return slices.Sorted(maps.Keys(operation.IdleJobs(&t.tx.View, s.Domain(), c.Config.Groups)))
		}}
		changed, err := ch.Make(&t.tx.View, of, c.Now, c.Config.Params)
		if err != nil {
			return err
		}
		for _, x := range changed {
			t.change(x.Before, x.After)
		}
		t.name(ch.Op, ch.Words(), why)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, ch.Done())
	return err
}

// readEdit reads what the edit was given.
func readEdit(c *cmdline.Call, flag string) (edit.Change, error) {
	also := []string{"reason"}
	if edit.Leasable(flag) {
		also = append(also, "duration")
	}
	if edit.Creates(flag) {
		also = append(also, edit.Create.Name)
	}
	if err := alone(c, flag, also...); err != nil {
		return edit.Change{}, err
	}
	return edit.Read(flag, c.Values(flag), c.Values("duration"), c.Has(edit.Create.Name), c.Config.Groups)
}

package userprio

import (
	"cmp"
	"fmt"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/report/accounts"
	"fairspool/spool"
)

// flockedRow is a submitter's use of the slots of other pools, as JSON.
type flockedRow struct {
	Name                                       string
	ResourcesUsed                              int     // slots in use
	WeightedResourcesUsed                      float64 // their weight
	AccumulatedUsage, WeightedAccumulatedUsage float64 // s
	BeginUsageTime, LastUsageTime              int64
}

// showFlocked shows what submitters had of the slots of other pools, with the columns of -usage.
func showFlocked(c *cmdline.Call, o options) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var all []accountant.Record
	if err := s.View(func(v *spool.View) error { all = spool.Flocked.All(v); return nil }); err != nil {
		return err
	}
	list, failed := onlyNamed(c, all, "has had no slots of other pools", func(r accountant.Record) []string {
		user, _ := accountant.Apart(r.Name)
		return []string{r.Name, user}
	})
	p := c.Config.Params
	p.Groups = nil
	switch {
	case o.form == "json":
		rows := []flockedRow{}
		for _, r := range list {
			r = r.AsOf(c.Now, p)
			rows = append(rows, flockedRow{r.Name, r.ResourcesUsed, r.InUse.Float(), r.Slots.Seconds(), r.Weighted.Seconds(), r.Begin.Unix(), r.Last.Unix()})
		}
		err = c.JSON(struct{ Flocked []flockedRow }{rows})
	case len(list) > 0:
		usage := accounts.ColumnsWith(func(option string) bool { return option == "usage" })
		err = accounts.NewTable(accounts.Listing{Columns: usage, Flat: true}, accounts.ViewOf(list, c.Now, p, nil)).Print(c.Stdout)
	case failed == nil:
		_, err = fmt.Fprintln(c.Stdout, "Nobody has had slots of other pools.")
	}
	return cmp.Or(err, failed)
}

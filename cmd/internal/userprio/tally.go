package userprio

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
	"fairspool/lib/policy/maui"
	gridengine "fairspool/lib/policy/sge"
	"fairspool/lib/report/accounts"
	"fairspool/lib/sge"
	"fairspool/spool"
)

// untallied is the message for names with an empty account.
const untallied = "nothing is tallied under this name"

// tallies returns the tallies for one of the other policies, Maui's windowed or Grid
// Engine's, as of now.
func tallies(c *cmdline.Call, windowed bool) ([]accountant.Tally, accountant.Params, error) {
	p := c.Config.Params
	s, err := c.Spool()
	if err != nil {
		return nil, p, err
	}
	var all []accountant.Tally
	if err := s.View(func(v *spool.View) error { all = v.Tallies(); return nil }); err != nil {
		return nil, p, err
	}
	var list []accountant.Tally
	for _, y := range all {
		if y.Windowed() == windowed {
			list = append(list, y.AsOf(c.Now, p))
		}
	}
	return list, p, nil
}

// onlyNamed returns the rows that the command's arguments name; without any, all. It
// reports arguments that name none, for which the command fails in the end, in the words
// of missing.
func onlyNamed[R any](c *cmdline.Call, rows []R, missing string, names func(R) []string) ([]R, error) {
	if len(c.Args) == 0 {
		return rows, nil
	}
	var out []R
	met := map[string]bool{}
	for _, r := range rows {
		all := names(r)
		if slices.ContainsFunc(all, func(n string) bool { return n != "" && slices.Contains(c.Args, n) }) {
			out = append(out, r)
		}
		for _, n := range all {
			met[n] = true
		}
	}
	var failed error
	for _, a := range c.Args {
		if a == "" || !met[a] {
			c.Warn("%s: %s", a, missing)
			failed = cmdline.ErrReported
		}
	}
	return out, failed
}

// decayed is what -decayed prints with -json.
type decayed struct {
	HalfTime float64 `json:"halftime"` // hours
	Usage    []accounts.DecayedRow
}

// showDecayed shows Grid Engine's decayed usage.
func showDecayed(c *cmdline.Call, o options) error {
	list, p, err := tallies(c, false)
	if err != nil {
		return err
	}
	rows, failed := onlyNamed(c, accounts.Decayed(list, p.Decay), untallied, func(r accounts.DecayedRow) []string { return []string{r.User, r.Project} })
	if o.form == "json" {
		err = c.JSON(decayed{p.Decay.HalfTime.Hours(), append([]accounts.DecayedRow{}, rows...)})
	} else {
		err = accounts.WriteDecayed(c.Stdout, rows)
	}
	return cmp.Or(err, failed)
}

// showWindows shows Maui's fair share windows.
func showWindows(c *cmdline.Call, o options) error {
	list, p, err := tallies(c, true)
	if err != nil {
		return err
	}
	v := accounts.WindowsOf(list, c.Now, p.Windows, maui.Counted(c.Config))
	all := v.Total()
	rows, failed := onlyNamed(c, v.Windows, untallied, func(r accounts.WindowRow) []string { return []string{r.Name} })
	v.Windows = rows
	if o.form == "json" {
		err = c.JSON(v)
	} else {
		err = v.Write(c.Stdout, all, c.Now.Location())
	}
	return cmp.Or(err, failed)
}

// showTree shows Grid Engine's share tree with the usage and the jobs of now, whichever policy
// is in force.
func showTree(c *cmdline.Call, o options) error {
	if gridengine.Settings(c.Config).Tree == nil {
		return errors.New(`-tree: there is no share tree; set its nodes in [sge.share_tree] as "/PATH" = SHARES, or qconf_sstree in [sge]`)
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	barring, err := lifecycle.BarringOf(c.Config)
	if err != nil {
		return err
	}
	var nodes []sge.TreeNode
	if err := s.View(func(v *spool.View) error {
		nodes = accounts.TreeNodes(c.Config, c.Now, v, s.Domain(), barring)
		return nil
	}); err != nil {
		return err
	}
	nodes, failed := onlyNamed(c, nodes, "no node of the share tree has this name", accounts.NamesOn)
	view := accounts.TreeOf(c.Config, c.Now, nodes)
	if o.form == "json" {
		err = c.JSON(view)
	} else {
		err = view.Write(c.Stdout)
	}
	return cmp.Or(err, failed)
}

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

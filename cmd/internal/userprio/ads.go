package userprio

import (
	"errors"
	"fmt"
	"slices"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/report/accounts"
)

func outputs() []cmdline.Output {
	return []cmdline.Output{
		{Name: "userprio", Value: struct{ Submitters, Groups []*classad.Ad }{}}, {Name: "userprio-getreslist", Value: cmdline.Ads{}},
		{Name: "userprio-why", Value: accounts.Standing{}}, {Name: "userprio-forecast", Value: accounts.Forecast{}},
		{Name: "userprio-forecast-until", Value: accounts.Until{}}, {Name: "userprio-forecast-below", Value: accounts.Below{}},
		{Name: "userprio-history", Value: cmdline.List{Member: "Submitters", Of: accounts.Course{}}},
		{Name: "userprio-log", Value: cmdline.List{Member: "Edits", Of: accounts.LogObject{}}},
		{Name: "userprio-windows", Value: accounts.Windows{}}, {Name: "userprio-decayed", Value: decayed{}}, {Name: "userprio-tree", Value: accounts.Tree{}},
		{Name: "userprio-export", Value: cmdline.Wrote{}}, {Name: "userprio-plot", Value: cmdline.Wrote{}},
		{Name: "userprio-flocked", Value: cmdline.List{Member: "Flocked", Of: flockedRow{}}},
	}
}

// display writes the rows in the form that was asked for.
func display(c *cmdline.Call, o options, s accounts.Listing, v accounts.View) error {
	if s.Rollup {
		v.RollUp()
	}
	form, t := o.form, accounts.NewTable(s, v)
	switch {
	case form == "long" && o.legacy:
		return adprint.Print(c, form, slices.Values([]*classad.Ad{t.Numbered()}))
	case form == "json":
		t.ByPriority()
		return adprint.Object(c.Data(), []adprint.Member{
			{Name: "Submitters", Ads: t.Ads(func(r *accounts.Row) bool { return !r.Group })},
			{Name: "Groups", Ads: t.Ads(func(r *accounts.Row) bool { return r.Group })},
		})
	case form != "" && form != "classic":
		t.ByPriority()
		return adprint.Print(c, form, t.Ads(func(*accounts.Row) bool { return true }))
	case len(t.Picked) == 0 && len(s.Users) > 0:
		return nil // an empty table would say nothing; complain does
	case form == "classic":
		return t.PrintClassic(c.Stdout)
	}
	return t.Print(c.Stdout)
}

// fileView reads the ads of -inputfile.
func fileView(c *cmdline.Call, name string) (accounts.View, error) {
	in, err := c.Open(name)
	if err != nil {
		return accounts.View{}, fmt.Errorf("-inputfile: %s: %w", name, cmdline.Cause(err))
	}
	defer in.Close()
	ads := classad.NewReader(in, name)
	v, err := accounts.ReadView(ads, c.Now)
	if errors.Is(err, accounts.ErrNameless) {
		err = fmt.Errorf("%s:%d: %w", name, ads.Line(), err)
	}
	if err != nil {
		return accounts.View{}, fmt.Errorf("-inputfile: %w", err)
	}
	return v, nil
}

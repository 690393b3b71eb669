package userprio

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/report"
	"fairspool/lib/report/accounts"
	"fairspool/spool"
)

// spoolView returns the view of the spool as of now.
func spoolView(c *cmdline.Call, o options) (accounts.View, error) {
	s, err := c.Spool()
	if err != nil {
		return accounts.View{}, err
	}
	var records []accountant.Record
	if err := s.View(func(v *spool.View) error { records = v.Submitters(); return nil }); err != nil {
		return accounts.View{}, err
	}
	p := c.Config.Params
	var last *accounts.LastCycle
	if !p.Groups.None() || o.showsAds() {
		last = readCycle(c, s)
	}
	v := accounts.ViewOf(records, c.Now, p, last)
	if accounts.NeedLastDay(o.listing.Columns) {
		return v, loadLastDay(c, s, &v)
	}
	return v, nil
}

// showsAds reports whether a display needs what only ads have.
func (o options) showsAds() bool {
	return o.form != "" && o.form != "classic" || o.listing.Constraint != nil
}

// readCycle returns the results of the last cycle, nil without one. If the report does
// not parse, priorities are still shown, without its results.
func readCycle(c *cmdline.Call, s *spool.Spool) *accounts.LastCycle {
	last := new(accounts.LastCycle)
	found, err := report.Read(s.Report, last)
	if err != nil {
		c.Warn("%v: shares, limits and quotas are not known until the next cycle", err)
	}
	if err != nil || !found {
		return nil
	}
	return last
}

// activeFor is how long ago anything must have been in use for a submitter
// to be shown without being asked for.
const activeFor = 24 * time.Hour

// noFactor refuses arguments that look like a factor of a submitter's.
func noFactor(args []string) error {
	if len(args) == 2 {
		if _, err := strconv.ParseFloat(args[1], 64); err == nil {
			return cmdline.Usagef("%s is no submitter: -setfactor %s %s sets a factor, -setprio a priority", args[1], args[0], args[1])
		}
	}
	return nil
}

// date reads month, day and year. A year below 50 is one of 20YY, below 100
// one of 19YY.
func date(mdy []string, zone *time.Location) (time.Time, error) {
	var n [3]int
	for i, text := range mdy {
		x, err := strconv.ParseUint(text, 10, 14)
		if err != nil {
			return time.Time{}, cmdline.Usagef("-activefrom: %q: not a number of a month, day or year", text)
		}
		n[i] = int(x)
	}
	switch {
	case n[2] < 50:
		n[2] += 2000
	case n[2] < 100:
		n[2] += 1900
	}
	t := time.Date(n[2], time.Month(n[0]), n[1], 0, 0, 0, 0, zone)
	if y, m, d := t.Date(); y != n[2] || int(m) != n[0] || d != n[1] {
		return t, cmdline.Usagef("-activefrom: %s: no such day", strings.Join(mdy, " "))
	}
	return t, nil
}

// show is the display: of the spool, or of a file of ads.
func show(c *cmdline.Call, o options) error {
	if o.file == nil {
		if _, err := c.Spool(); err != nil { // from now on it is the pool's time
			return err
		}
	}
	s, err := o.listed(c.Now)
	if err != nil {
		return err
	}
	var v accounts.View
	if o.file != nil {
		v, err = fileView(c, *o.file)
	} else {
		v, err = spoolView(c, o)
	}
	if err != nil {
		return err
	}
	if err := display(c, o, s, v); err != nil {
		return err
	}
	if len(s.Users) == 0 {
		return nil
	}
	return complain(c, s.Users, v.Records())
}

// complain fails if a named user is unknown.
func complain(c *cmdline.Call, users []string, records []accountant.Record) error {
	var failed error
	for _, u := range users {
		if !slices.ContainsFunc(records, func(r accountant.Record) bool { return accountant.Named(r.Name, u) }) {
			c.Warn("%v", accounts.Unknown(u, records))
			failed = cmdline.ErrReported
		}
	}
	return failed
}

// columnOptions returns the options of single columns.
func columnOptions() (list []cmdline.Flag) {
	for _, o := range accounts.Options() {
		list = append(list, cmdline.Flag{Name: o.Name, Min: o.Min, Help: o.Help})
	}
	return list
}

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

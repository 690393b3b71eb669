package userprio

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/history"
	"fairspool/lib/plural"
	"fairspool/lib/report/accounts"
	"fairspool/spool"
)

// How many points of each series are enough: to read, and to draw.
const (
	rowsShown   = 48
	pointsDrawn = 1000
)

// How far back -history and -plot go by default.
const (
	dayBack  = 24 * time.Hour
	weekBack = 7 * dayBack
)

// showHistory is -history.
func showHistory(c *cmdline.Call, o options) error {
	list, err := series(c, o)
	if err != nil {
		return err
	}
	switch o.form {
	case "csv":
		err = accounts.HistoryCSV(c.Data(), list)
	case "json":
		all := cmdline.NewStream(c.Data(), "Submitters") // one at a time: the text of all may be much larger than they are
		for _, s := range list {
			if err := all.Add(accounts.CourseOf(s)); err != nil {
				return err
			}
		}
		err = all.End()
	default:
		err = accounts.WriteHistory(c.Stdout, c.Now.Location(), list)
	}
	if err == nil {
		_, err = strangers(c, c.Args, list)
	}
	return err
}

// draw is -plot.
func draw(c *cmdline.Call, o options, plot Plot) error {
	title := "priority and usage"
	if c.Config.UIDDomain != "" {
		title += ", " + c.Config.UIDDomain
	}
	return plot(c, title, func() ([]history.Series, error) {
		list, err := series(c, o)
		if err != nil {
			return nil, err
		}
		former, err := strangers(c, c.Args, list)
		if err == nil && former > 0 && len(list) == 0 {
			err = cmdline.ErrReported
		}
		return list, err
	})
}

// series returns the history of the given users, by name, each ascending in time and
// ending with the present. Without users it returns that of all who used or asked for
// slots since -since, for -plot also of those whose EUP changed. It warns of damage, and
// of an empty history; then it returns no series. For -plot, which has nothing to draw
// then, that is the error.
func series(c *cmdline.Call, o options) ([]history.Series, error) {
	users, plots := c.Args, o.asked == "plot"
	if _, err := c.Spool(); err != nil { // from now on it is the pool's time
		return nil, err
	}
	want := spool.Samples{Until: c.Now}
	if len(users) > 0 {
		want.Wanted = func(name string) bool {
			return slices.ContainsFunc(users, func(u string) bool { return accountant.Named(name, u) })
		}
	}
	back := dayBack
	switch {
	case plots:
		want.Points, back = pointsDrawn, weekBack
	case o.form == "":
		want.Points = rowsShown
	}
	want.Since = c.Now.Add(-back)
	if o.since != nil {
		var err error
		if want.Since, err = since(*o.since, c.Now); err != nil {
			return nil, cmdline.Usagef("-since: %v", err)
		}
	}
	list, err := read(c, want, plots)
	if err != nil {
		return nil, err
	}
	if len(users) == 0 {
		list = slices.DeleteFunc(list, func(s history.Series) bool { return accounts.Idle(s) && !(plots && accounts.Moved(s)) })
	}
	return list, nil
}

// read reads the samples, and lets the present follow.
func read(c *cmdline.Call, want spool.Samples, plots bool) ([]history.Series, error) {
	s, err := c.Spool()
	if err != nil {
		return nil, err
	}
	list, damage, err := accounts.Series(s, want, c.Config.Params)
	if err != nil {
		return nil, err
	}
	for _, d := range damage {
		c.Warn("%v", d)
	}
	if list == nil {
		err := fmt.Errorf("there are no samples up to %s: each cycle of negotiate takes one, once a minute at most", c.Now.Format(time.RFC3339))
		if plots {
			return nil, err
		}
		c.Warn("%v", err)
	}
	return list, nil
}

// loadLastDay fills in each submitter's share of all usage in the last 24 hours.
func loadLastDay(c *cmdline.Call, s *spool.Spool, v *accounts.View) error {
	missing, damage, err := v.ReadLastDay(s)
	if err != nil {
		return err
	}
	for _, d := range damage {
		c.Warn("%v", d)
	}
	if missing > 0 {
		c.Warn("warning: the usage of %s in the last 24 hours is not known, and left out: there is no sample from before", plural.Count(missing, "submitter"))
	}
	return nil
}

// strangers fails if a named user is unknown. It warns of users that were sampled only
// before -since, and returns their number.
func strangers(c *cmdline.Call, users []string, list []history.Series) (former int, err error) {
	known := make([]accountant.Record, len(list))
	for i, s := range list {
		known[i].Name = s.Name
	}
	s, err := c.Spool()
	if err != nil {
		return 0, err
	}
	if err := s.View(func(v *spool.View) error { known = append(known, v.Submitters()...); return nil }); err != nil {
		return 0, err
	}
	missing := slices.DeleteFunc(slices.Clone(users), func(u string) bool {
		return slices.ContainsFunc(known, func(r accountant.Record) bool { return accountant.Named(r.Name, u) })
	})
	if len(missing) == 0 {
		return 0, nil
	}
	ever, err := everSampled(s, c.Now)
	if err != nil {
		return 0, err
	}
	var never []string
	for _, u := range missing {
		i := slices.IndexFunc(ever, func(r accountant.Record) bool { return accountant.Named(r.Name, u) })
		if i < 0 {
			never = append(never, u)
			continue
		}
		former++
		c.Warn("%s: nothing in that time; -since TIME goes further back", ever[i].Name)
	}
	return former, complain(c, never, append(known, ever...))
}

// everSampled returns all names with samples up to now, as records without other fields.
// Damage has been reported before.
func everSampled(s *spool.Spool, now time.Time) (names []accountant.Record, err error) {
	_, _, err = s.ReadSamples(spool.Samples{Until: now, Wanted: func(name string) bool {
		names = append(names, accountant.Record{Name: name})
		return false
	}})
	return names, err
}

// ago is a duration with a unit of its own, as people give one.
var ago = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,9})([mhdwy])$`) })

var units = map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": dayBack, "w": weekBack, "y": 365 * dayBack}

// since reads a time, or how long before now it was.
func since(text string, now time.Time) (time.Time, error) {
	if m := ago().FindStringSubmatch(text); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		unit := int64(units[m[2]] / time.Second)
		return time.Unix(max(now.Unix()-n*unit, 0), int64(now.Nanosecond())), nil
	}
	t, err := cmdline.ParseTime(text)
	if err != nil {
		return t, fmt.Errorf("%q: want a time, as Unix seconds or like 2026-11-21T08:00:00Z, or a duration like 90m, 36h, 7d, 4w or 5y", text)
	}
	if t.After(now) {
		return t, fmt.Errorf("%s is not over yet", text)
	}
	return t, nil
}

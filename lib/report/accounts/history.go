package accounts

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/history"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

var historyColumns = []table.Column{
	{Head: "Name"}, {Head: "Time"}, {Head: "EUP (lower is better)", Right: true}, {Head: "RUP", Right: true},
	{Head: "In Use", Right: true}, {Head: "Usage (hours)", Right: true}, {Head: "Demand", Right: true},
}

// WriteHistory writes the points of series as a table, with times in a zone.
func WriteHistory(w io.Writer, zone *time.Location, list []history.Series) error {
	var rows [][]string
	for _, s := range list {
		for _, p := range s.Points {
			rows = append(rows, []string{
				s.Name, p.Time.In(zone).Format("2006-01-02 15:04"), fixed(p.Effective), fixed(p.Priority),
				fixed(p.InUse), fixed(p.Usage / 3600), fixed(p.Demand),
			})
		}
	}
	return table.Write(w, historyColumns, rows)
}

func fixed(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// instant is a point as programs read it: the names are those of userprio -long.
type instant struct {
	Time                                            time.Time
	EffectivePriority, RealPriority                 float64
	WeightedResourcesUsed, WeightedAccumulatedUsage float64
	Demand                                          float64
}

// Course is one series as programs read it.
type Course struct {
	Name   string
	Points []instant
}

// CourseOf returns a series for JSON.
func CourseOf(s history.Series) Course {
	one := Course{s.Name, make([]instant, len(s.Points))}
	for i, p := range s.Points {
		one.Points[i] = instant{p.Time.UTC(), p.Effective, p.Priority, p.InUse, p.Usage, p.Demand}
	}
	return one
}

// HistoryCSV writes them as comma-separated values.
func HistoryCSV(to io.Writer, list []history.Series) error {
	w := csv.NewWriter(to)
	w.Write([]string{"Name", "Time", "EffectivePriority", "RealPriority", "WeightedResourcesUsed", "WeightedAccumulatedUsage", "Demand"})
	for _, s := range list {
		for _, p := range s.Points {
			line := []string{s.Name, p.Time.UTC().Format(rfc3339Millis)}
			for _, x := range []float64{p.Effective, p.Priority, p.InUse, p.Usage, p.Demand} {
				line = append(line, strconv.FormatFloat(x, 'g', -1, 64))
			}
			w.Write(line)
		}
	}
	w.Flush()
	return w.Error()
}

// rfc3339Millis is RFC 3339 with three decimals, so that times sort as texts.
const rfc3339Millis = "2006-01-02T15:04:05.000Z07:00"

// Series returns the wanted samples of a spool, by name. Each series is ascending in time and ends with the
// state at want.Until. Without any sample it returns nil. Damage names file and line; the rest counts.
func Series(s *spool.Spool, want spool.Samples, p accountant.Params) (list []history.Series, damage []error, err error) {
	r, damage, err := s.ReadSamples(want)
	if err != nil || r.Empty() {
		return nil, damage, err
	}
	var records []accountant.Record
	if err := s.View(func(v *spool.View) error { records = v.Submitters(); return nil }); err != nil {
		return nil, damage, err
	}
	r.Present(history.Moment{Now: want.Until, Records: records, Params: p})
	list = r.Series()
	if list == nil {
		list = []history.Series{}
	}
	return list, damage, nil
}

// Idle reports whether a series shows neither use nor demand.
func Idle(s history.Series) bool {
	return !slices.ContainsFunc(s.Points, func(p history.Point) bool { return p.InUse > 0 || p.Demand > 0 })
}

// Moved reports whether an EUP changed so that it is seen: by a hundredth.
func Moved(s history.Series) bool {
	if len(s.Points) == 0 {
		return false
	}
	least, most := s.Points[0].Effective, s.Points[0].Effective
	for _, p := range s.Points {
		least, most = min(least, p.Effective), max(most, p.Effective)
	}
	return most > least*1.01
}

// lastDayPoints is how many points of a day suffice to know the usage by its end.
const lastDayPoints = 48

// ReadLastDay fills in each submitter's share of all usage in the 24 hours before the view's time, from the samples of
// the spool. It returns the number of submitters with unknown usage: they had used slots, and no sample is old enough.
func (v *View) ReadLastDay(s *spool.Spool) (missing int, damage []error, err error) {
	const day = 24 * time.Hour
	then := v.At.Add(-day)
	samples, damage, err := s.ReadSamples(spool.Samples{Since: then.Add(-day), Until: then, Points: lastDayPoints})
	if err != nil {
		return 0, damage, err
	}
	used := map[string]float64{}
	for name, last := range samples.Last() {
		used[name] = last.Usage.Seconds()
	}
	return v.LastDay(used, then), damage, nil
}

// Past is what the accounts were at a time.
type Past struct {
	Records []accountant.Record // by name; nothing is in use
	Edits   []accountant.Edit   // that were made from then on, the oldest first
}

// Then returns what the accounts of a pool were at a time, as the samples say, and the log of edits. An account without a sample from
// before had used nothing. Damage of samples names file and line; the rest counts.
func (in Pool) Then(at time.Time, p accountant.Params) (past Past, damage []error, err error) {
	edits, err := in.Edits(nil)
	if err != nil {
		return past, nil, err
	}
	records := map[string]accountant.Record{}
	for _, l := range edits {
		list, err := l.Records()
		if err != nil {
			return past, nil, err
		}
		for _, e := range list {
			name := e.Before.Name
			switch _, known := records[name]; {
			case e.At.Before(at):
				records[name] = e.After.Settings()
				continue
			case !known:
				records[name] = e.Before.Settings()
			}
			past.Edits = append(past.Edits, e)
		}
	}
	if err := in.Spool.View(func(v *spool.View) error {
		for _, r := range v.Submitters() {
			if _, edited := records[r.Name]; !edited {
				records[r.Name] = r.Settings()
			}
		}
		return nil
	}); err != nil {
		return past, nil, err
	}
	const day = 24 * time.Hour
	samples, damage, err := in.Spool.ReadSamples(spool.Samples{Since: at.Add(-day), Until: at})
	if err != nil {
		return past, damage, err
	}
	for name, last := range samples.Last() {
		r := records[name]
		if r.Name, r.Priority = name, last.Priority; !r.IsGroup() { // a group's sample has the usage of the groups below, too
			r.Weighted = last.Usage
		}
		records[name] = r
	}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		past.Records = append(past.Records, records[name].AsOf(at, p))
	}
	return past, damage, nil
}

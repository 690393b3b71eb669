package accounts

import (
	"slices"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/history"
	"fairspool/spool"
)

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
	return v.LastDay(samples.Usage(), then), damage, nil
}

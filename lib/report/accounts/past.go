package accounts

import (
	"maps"
	"slices"
	"time"

	"fairspool/lib/accountant"
	"fairspool/spool"
)

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

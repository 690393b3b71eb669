package main

import (
	"strconv"

	"fairspool/lib/classad"
)

// numbered returns all rows that were picked as one ad, the form that HTCondor
// had first: each attribute's name ends with the row's number, from 1, and
// Priority is the EUP.
func (t *table) numbered() *classad.Ad {
	t.columns |= colPriority
	t.shown = t.picked
	t.groupsBefore()
	all := classad.New()
	all.SetInt("LastUpdate", seconds(t.at))
	all.SetInt("NumSubmittors", int64(len(t.shown)))
	for i, r := range t.shown {
		number := strconv.Itoa(i + 1)
		ad := adOf(r, t.at)
		ad.SetReal("Priority", r.effective)
		for _, name := range ad.OwnNames() {
			if name == "EffectivePriority" || name == "LastUpdate" {
				continue
			}
			e, _ := ad.Lookup(name)
			all.Set(name+number, e)
		}
	}
	return all
}

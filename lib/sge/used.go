package sge

import (
	"time"

	"fairspool/lib/accountant"
)

// UsedOf returns the usage that the share tree compares, from the tallies of Grid Engine's
// kinds, decayed as of now and as one number by the weights of d.
func UsedOf(tallies []accountant.Tally, d accountant.DecayParams, now time.Time) Used {
	u := Used{Own: map[string]float64{}, Project: map[string]float64{}, Within: map[[2]string]float64{}}
	p := accountant.Params{Decay: d}
	for _, y := range tallies {
		if y.Windowed() {
			continue
		}
		used := y.AsOf(now, p).Decayed.Combined(d)
		switch user, project := y.UserProject(); y.Kind {
		case accountant.KindOwn:
			u.Own[user] = used
		case accountant.KindProject:
			u.Project[project] = used
		case accountant.KindWithin:
			u.Within[[2]string{user, project}] = used
		}
	}
	return u
}

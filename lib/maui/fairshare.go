package maui

import (
	"time"

	"fairspool/lib/accountant"
)

// FairShareTarget returns the FSTARGET of a credential in percent, and its modifier: its
// own, or else the DEFAULT's of its kind; without that way out for QOS and classes
// (observed). 0: there is none.
func (c *Config) FairShareTarget(k Kind, name string) (float64, FSMode) {
	entries := c.Credentials[k]
	if !(entries[name].FSTarget > 0) && k != QOS && k != Class {
		name = DefaultName
	}
	if target := entries[name].FSTarget; target > 0 {
		return target, entries[name].FSMode
	}
	return 0, FSTarget
}

// fairShare returns the fair share factor of a credential: target less usage in percent
// points, or with FSPOLICY % what is missing as a part of the target. It is 0 without a
// credential, a target or any usage, and for targets that are quotas. (Maui's manual, 6.3.)
func (r *Reckoner) fairShare(k Kind, name string) float64 {
	c, total := r.config, r.world.Used.Total
	if c.FSPolicy == NoFairShare || !(total > 0) || name == "" {
		return 0
	}
	target, mode := c.FairShareTarget(k, name)
	if target == 0 {
		return 0
	}
	used := accountant.Percent(r.world.Used.Of[k][name], total)
	delta := target - used
	if c.FSRatio {
		delta = 1 - used/target
	}
	switch mode {
	case FSTarget:
		return bounded(delta)
	case FSFloor:
		return max(bounded(delta), 0)
	case FSCeiling:
		return min(bounded(delta), 0)
	}
	return 0
}

// UsedOf returns what fair share compares by FSPOLICY, from the tallies that have windows,
// as of now; nothing with FSPOLICY NONE.
func UsedOf(tallies []accountant.Tally, c *Config, now time.Time) (u Used) {
	of := c.FSPolicy.usage()
	if of == nil {
		return u
	}
	for _, y := range tallies {
		if !y.Windowed() {
			continue
		}
		used := y.AsOf(now, accountant.Params{Windows: c.Windows}).FairShare(of, c.Windows)
		if y.Kind == accountant.KindTotal {
			u.Total += used
			continue
		}
		k := tallied[y.Kind]
		if u.Of[k] == nil {
			u.Of[k] = map[string]float64{}
		}
		u.Of[k][y.Name] += used
	}
	return u
}

// tallied are the kinds of credentials in the accountant's words.
var tallied = map[string]Kind{
	accountant.KindUser: User, accountant.KindGroup: Group, accountant.KindAccount: Account,
	accountant.KindQOS: QOS, accountant.KindClass: Class,
}

// usage returns what a policy counts of a window; nil for nothing.
func (p FSPolicy) usage() func(accountant.Window) accountant.Usage {
	switch p {
	case DedicatedPS:
		return accountant.DedicatedPS
	case DedicatedPES:
		return accountant.DedicatedPES
	case UtilizedPS:
		return accountant.UtilizedPS
	}
	return nil
}

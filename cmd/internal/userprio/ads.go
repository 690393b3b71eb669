package userprio

import (
	"iter"
	"slices"
	"strconv"
	"time"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

// display writes the rows in the form that was asked for.
func display(c *cmdline.Call, s chosen, v view) error {
	form, err := c.One("long", "json", "af", "autoformat", "classic")
	if err != nil {
		return err
	}
	if both, err := c.One("legacy", "modular"); err != nil {
		return err
	} else if both != "" && form != "long" {
		return cmdline.Usagef("-%s: only with -long", both)
	}
	if s.rollup {
		v.rollUp()
	}
	t := newTable(s, v)
	switch {
	case form == "long" && c.Has("legacy"):
		return adprint.Print(c, form, slices.Values([]*classad.Ad{t.numbered()}))
	case form == "json":
		t.byPriority()
		return adprint.Object(c.Data(), []adprint.Member{
			{Name: "Submitters", Ads: t.ads(func(r *row) bool { return !r.group })},
			{Name: "Groups", Ads: t.ads(func(r *row) bool { return r.group })},
		})
	case form != "" && form != "classic":
		t.byPriority()
		return adprint.Print(c, form, t.ads(func(*row) bool { return true }))
	case len(t.picked) == 0 && len(s.users) > 0:
		return nil // a table of nobody tells nothing; complain does
	case form == "classic":
		return classicOf(s.columns).print(c.Stdout, t)
	}
	return t.print(c.Stdout)
}

// byPriority brings the rows that were picked into the order of ads: groups as
// they came, then users, the best EUP first.
func (t *table) byPriority() {
	t.columns |= colPriority
	t.shown = t.picked
	t.groupsBefore()
}

// ads returns the ads of those rows that are wanted. That of a user is the same
// one again with other values.
func (t *table) ads(wanted func(*row) bool) iter.Seq[*classad.Ad] {
	return func(yield func(*classad.Ad) bool) {
		user := classad.New()
		for _, r := range t.shown {
			ad := user
			if r.group {
				ad = classad.New()
			}
			if wanted(r) && !yield(setRow(ad, r, t.at)) {
				return
			}
		}
	}
}

// numbered returns all rows that were picked as one ad, the form that HTCondor
// had first: each attribute's name ends with the row's number, from 1, and
// Priority is the EUP.
func (t *table) numbered() *classad.Ad {
	t.byPriority()
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

// adOf returns a row as an ad. Times are Unix seconds, 0 for never; usage is
// in seconds. Priority is the RUP, unlike in HTCondor's ads.
func adOf(r *row, at time.Time) *classad.Ad { return setRow(classad.New(), r, at) }

func setRow(ad *classad.Ad, r *row, at time.Time) *classad.Ad {
	ad.SetString("AccountingGroup", r.in)
	ad.SetReal("AccumulatedUsage", r.accumulated)
	ad.SetInt("BeginUsageTime", seconds(r.begin))
	ad.SetInt("Ceiling", r.ceiling)
	ad.SetReal("EffectivePriority", r.effective)
	ad.SetInt("Floor", r.floor)
	ad.SetBool("IsAccountingGroup", r.group)
	ad.SetInt("LastUpdate", seconds(at))
	ad.SetInt("LastUsageTime", seconds(r.last))
	ad.SetString("Name", r.name)
	ad.SetReal("Priority", r.priority)
	ad.SetReal("PriorityFactor", r.factor)
	ad.SetInt("ResourcesUsed", r.slots)
	limit, share := classad.Undefined(), classad.Undefined()
	if r.dealt || r.group { // groups themselves get none
		limit, share = classad.Real(r.limit), classad.Real(r.share)
	}
	ad.Set("SubmitterLimit", classad.Literal(limit))
	ad.Set("SubmitterShare", classad.Literal(share))
	ad.SetReal("WeightedAccumulatedUsage", r.usage)
	ad.SetReal("WeightedResourcesUsed", r.inUse)
	if !r.group {
		return ad
	}
	ad.SetReal("HierWeightedResourcesUsed", r.within)
	if r.part.configured {
		ad.SetReal("ConfigQuota", r.part.config)
	}
	if r.part.negotiated {
		ad.SetReal("EffectiveQuota", r.part.effective)
		ad.SetReal("GroupSortKey", r.part.sortKey)
		ad.SetReal("Requested", r.part.requested)
		ad.SetReal("SubtreeQuota", r.part.subtree)
		ad.SetString("SurplusPolicy", r.part.surplus)
	}
	if r.part.divided {
		ad.SetReal("Demand", r.part.demand)
		ad.SetReal("SurplusUsed", r.part.taken)
	}
	return ad
}

// seconds returns a time in Unix seconds, 0 for never.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

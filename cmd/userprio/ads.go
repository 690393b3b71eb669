package main

import (
	"slices"
	"time"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

// display writes the rows in the form that was asked for.
func display(c *cmdline.Call, show chosen, rows []row) error {
	form, err := c.One("long", "json", "af")
	if err != nil {
		return err
	}
	switch form {
	case "long", "af":
		return adprint.Print(c, form, slices.Values(ads(rows)))
	case "json":
		// Groups is there already, and empty, so that programs need not tell
		// versions apart.
		return c.JSON(struct{ Submitters, Groups []*classad.Ad }{ads(rows), []*classad.Ad{}})
	}
	if len(rows) == 0 && len(show.users) > 0 {
		return nil // a table of nobody tells nothing; complain does
	}
	return show.print(c.Stdout, rows)
}

// ads returns the rows as ads. Times are Unix seconds, 0 for never; usage is
// in seconds. Priority is the RUP, unlike in HTCondor's ads.
func ads(rows []row) []*classad.Ad {
	list := make([]*classad.Ad, len(rows))
	for i, r := range rows {
		ad := classad.New()
		ad.SetString("Name", r.Name)
		ad.SetReal("Priority", r.Priority)
		ad.SetReal("EffectivePriority", r.Effective)
		ad.SetReal("PriorityFactor", r.Factor)
		ad.SetInt("ResourcesUsed", int64(r.ResourcesUsed))
		ad.SetReal("WeightedResourcesUsed", r.InUse.Float())
		ad.SetReal("AccumulatedUsage", r.Slots.Seconds())
		ad.SetReal("WeightedAccumulatedUsage", r.Weighted.Seconds())
		ad.SetInt("BeginUsageTime", seconds(r.Begin))
		ad.SetInt("LastUsageTime", seconds(r.Last))
		list[i] = ad
	}
	return list
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

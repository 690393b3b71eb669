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
		return t.printClassic(c.Stdout)
	}
	return t.print(c.Stdout)
}

// byPriority brings the rows that were picked into the order of ads: groups as
// they came, then users, the best EUP first.
func (t *table) byPriority() {
	t.orderBy = columnOf(attrEUP)
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
	for i := range every {
		every[i].set(ad, r)
	}
	ad.SetInt("LastUpdate", seconds(at))
	return ad
}

// seconds returns a time in Unix seconds, 0 for never.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

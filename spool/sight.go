package spool

import (
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Sight is what a reader of the spool may see of a job.
type Sight int

const (
	// Whole is all of it.
	Whole Sight = iota
	// Outline is all but pool.Details.
	Outline
	// Unlisted is the outline, for what jobs together come to; lists leave the job out (View.Listed).
	Unlisted
)

// details are pool.Details, and reasons the attributes that may quote file names.
var (
	details = classad.NewMask(pool.Details)
	reasons = namesOf(pool.AttrHoldReason, pool.AttrLastHoldReason, pool.AttrRemoveReason, pool.AttrReleaseReason, pool.AttrVacateReason)
	owner   = classad.NewName(pool.AttrOwner)
)

func namesOf(list ...string) (names []*classad.Name) {
	for _, n := range list {
		names = append(names, classad.NewName(n))
	}
	return names
}

// Listed returns the view without jobs that its reader may not have listed.
func (v *View) Listed() *View {
	w := *v
	w.listed = true
	return &w
}

// Everyone returns the view with all jobs, for what they come to together; see Listed.
func (v *View) Everyone() *View {
	w := *v
	w.listed = false
	return &w
}

// sight returns what the reader may see of the job of an ad. An Owner that is no constant is another's.
func (v *View) sight(ad *classad.Ad) Sight {
	value, _, _ := ad.Get(owner)
	name, _ := value.Text()
	return v.sees(name)
}

// sees returns what the reader may see of jobs of an owner.
func (v *View) sees(owner string) Sight {
	if v.writes || v.spool == nil || v.spool.options.Sight == nil {
		return Whole
	}
	return v.spool.options.Sight(owner)
}

// hides reports whether there are jobs that the reader may not see wholly.
func (v *View) hides() bool { return !v.writes && v.spool != nil && v.spool.options.Sight != nil }

// shown returns a cluster as the reader may see it, nil if that is not at all.
func (v *View) shown(c *Cluster) *Cluster {
	if c == nil || !v.hides() {
		return c
	}
	shared := v.sight(c.Ad)
	seen := make([]Sight, len(c.Runs))
	whole := shared == Whole
	for i, r := range c.Runs {
		seen[i] = shared
		if r.Ad != c.Ad {
			seen[i] = v.sight(r.Ad)
		}
		whole = whole && seen[i] == Whole
	}
	if whole {
		return c
	}
	masked := *c
	masked.Runs = make([]Run, 0, len(c.Runs))
	if shared != Whole {
		masked.Ad = outline(c.Ad, c.Ad.Parent())
	}
	for i, r := range c.Runs {
		switch {
		case v.listed && seen[i] == Unlisted:
			masked.procs -= r.Count()
			continue
		case seen[i] == Whole:
		case r.Ad == c.Ad:
			r.Ad = outline(c.Ad, c.Ad.Parent())
		default:
			r.Ad = outline(r.Ad, masked.Ad)
		}
		r.own = false
		masked.Runs = append(masked.Runs, r)
	}
	if len(masked.Runs) == 0 {
		return nil
	}
	return &masked
}

// shownOf does as shown for each cluster.
func (v *View) shownOf(list []*Cluster) []*Cluster {
	if !v.hides() {
		return list
	}
	shown := make([]*Cluster, 0, len(list))
	for _, c := range list {
		if c = v.shown(c); c != nil {
			shown = append(shown, c)
		}
	}
	return shown
}

// outline returns an ad without details, chained to parent.
func outline(ad, parent *classad.Ad) *classad.Ad {
	masked := details.Of(ad, parent)
	for _, name := range reasons {
		value, e, ok := masked.Get(name)
		if text, _ := value.Text(); !ok || e == nil && !strings.Contains(text, "/") {
			continue
		}
		if masked == ad {
			masked = ad.Clone()
		}
		masked.SetString(name.String(), hiddenReason)
	}
	return masked
}

// hiddenReason stands for a reason that names files of another user.
const hiddenReason = "not shown"

// shownPast returns the ad of a job that has left the queue as the reader may see it, nil if that is not
// at all.
func (v *View) shownPast(ad *classad.Ad) *classad.Ad {
	if !v.hides() {
		return ad
	}
	switch v.sight(ad) {
	case Whole:
		return ad
	case Unlisted:
		return nil
	}
	return outline(ad, ad.Parent()).Clone()
}

// unlisted leaves out of factories those that the reader may not have listed.
func (v *View) unlisted(list []Factory) []Factory {
	if !v.listed || !v.hides() {
		return list
	}
	return slices.DeleteFunc(list, func(f Factory) bool { return v.sees(f.Owner) == Unlisted })
}

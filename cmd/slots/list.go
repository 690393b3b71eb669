package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// list shows the slots with the claims on them.
func list(c *cmdline.Call, names []string) error {
	if _, err := c.One("long", "json", "af"); err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var ads []*classad.Ad
	err = s.View(func(v *spool.View) error {
		slots, bad := v.Slots()
		for _, err := range bad {
			c.Warn("%v", err)
		}
		if slots, err = choose(slots, names); err != nil {
			return err
		}
		ads = overlaid(slots, v.Claims())
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case c.Has("json"):
		return adprint.Print(c, "json", slices.Values(ads))
	case c.Has("long"):
		return adprint.Long(c.Stdout, ads)
	case c.Has("af"):
		return adprint.Auto(c.Stdout, &classad.Context{Now: c.Now}, c.Letters("af"), c.Values("af"), ads)
	}
	return c.Table(columns, rows(ads))
}

// choose returns the slots with these names or of these machines; all of
// them without names.
func choose(slots []pool.Slot, names []string) ([]pool.Slot, error) {
	if len(names) == 0 {
		return slots, nil
	}
	found := map[string]bool{}
	var out []pool.Slot
	for _, s := range slots {
		machine, _ := textOf(s.Ad, pool.AttrMachine)
		for _, n := range names {
			if n == s.Name || strings.EqualFold(n, machine) {
				found[n] = true
				if len(out) == 0 || out[len(out)-1].Name != s.Name {
					out = append(out, s)
				}
			}
		}
	}
	for _, n := range names {
		if !found[n] {
			return nil, fmt.Errorf("%s: no such slot or machine", n)
		}
	}
	return out, nil
}

// overlaid returns the slots' ads with what their claims say laid over.
func overlaid(slots []pool.Slot, claims []pool.Claim) []*classad.Ad {
	held := map[string]pool.Claim{}
	for _, k := range claims {
		if k.State != pool.Promised { // who is promised a slot does not have it yet
			held[k.Slot] = k
		}
	}
	ads := make([]*classad.Ad, len(slots)) // never nil: without slots, JSON has an empty list
	for i, s := range slots {
		ads[i] = s.Ad
		if k, ok := held[s.Name]; ok {
			ads[i] = overlay(s.Ad, k)
		}
	}
	return ads
}

func overlay(ad *classad.Ad, k pool.Claim) *classad.Ad {
	ad = ad.Clone()
	state, activity, since := "Claimed", "Busy", k.StartedAt
	switch k.State {
	case pool.Matched:
		state, activity, since = "Matched", "Idle", k.MatchedAt
	case pool.Vacating:
		state, activity, since = "Preempting", "Vacating", k.VacateSince
	}
	ad.SetString(pool.AttrState, state)
	ad.SetString(pool.AttrActivity, activity)
	ad.SetInt("EnteredCurrentState", since.Unix())
	ad.SetString(pool.AttrRemoteUser, k.Submitter)
	ad.SetString(pool.AttrRemoteOwner, k.Submitter)
	ad.SetString("JobId", k.Job.String())
	return ad
}

var columns = []cmdline.Column{
	{Head: "Name"}, {Head: "OpSys"}, {Head: "Arch"}, {Head: "State"}, {Head: "Activity"},
	{Head: "Cpus", Right: true}, {Head: "Memory", Right: true}, {Head: "User"}, {Head: "Job"},
}

func rows(ads []*classad.Ad) [][]string {
	rows := make([][]string, len(ads))
	for i, ad := range ads {
		rows[i] = []string{
			text(ad, pool.AttrName), text(ad, "OpSys"), text(ad, "Arch"),
			text(ad, pool.AttrState), text(ad, pool.AttrActivity),
			number(ad, pool.AttrCpus), number(ad, pool.AttrMemory),
			text(ad, pool.AttrRemoteUser), text(ad, "JobId"),
		}
	}
	return rows
}

func text(ad *classad.Ad, name string) string {
	s, _ := textOf(ad, name)
	return s
}

func number(ad *classad.Ad, name string) string {
	n, ok := ad.EvalNumber(&classad.Context{}, name)
	if !ok {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

package slots

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// list shows the slots with the claims on them, a dynamic slot for each claimed
// piece of a partitionable one.
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
		slots, bad := operation.Slots(v)
		for _, err := range bad {
			c.Warn("%v", err)
		}
		slots, err = choose(overlaid(&classad.Context{Now: c.Now}, slots, v.Claims()), names)
		ads = make([]*classad.Ad, len(slots)) // never nil: without slots, JSON has an empty list
		for i, s := range slots {
			ads[i] = s.Ad
		}
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case c.Has("json"):
		return adprint.Print(c, "json", slices.Values(ads))
	case c.Has("long"):
		return adprint.Long(c.Data(), ads)
	case c.Has("af"):
		return adprint.Auto(c.Data(), &classad.Context{Now: c.Now}, c.Letters("af"), c.Values("af"), ads)
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

// overlaid returns the slots as their claims make them: with what the claims say
// laid over, and behind each partitionable slot, of which what is left is shown,
// its dynamic slots.
func overlaid(eval *classad.Context, slots []pool.Slot, claims []pool.Claim) []pool.Slot {
	held := map[string][]pool.Claim{} // by the slot ad that they take from
	promised := map[string]pool.Claim{}
	for _, k := range claims {
		if k.State == pool.Promised { // who is promised a slot does not have it yet
			promised[k.Slot] = k
		} else {
			held[k.SlotAd()] = append(held[k.SlotAd()], k)
		}
	}
	overlay := func(ad *classad.Ad, k pool.Claim) *classad.Ad {
		ad = pool.Overlay(ad, k, eval.Now)
		if next, ok := promised[k.Slot]; ok {
			ad = pool.OverlayPromise(ad, next)
		}
		return ad
	}
	var out []pool.Slot
	for _, s := range slots {
		out = append(out, s)
		whole := &out[len(out)-1]
		if next, ok := promised[s.Name]; ok { // held outside
			whole.Ad = pool.OverlayPromise(s.Ad, next)
		}
		var pieces []pool.Resources
		var dynamic []pool.Slot
		for _, k := range held[s.Name] {
			if k.Piece.Of == "" {
				whole.Ad = overlay(s.Ad, k)
				continue
			}
			pieces = append(pieces, k.Piece.Takes)
			dynamic = append(dynamic, pool.Slot{Name: k.Slot, Ad: overlay(pool.DynamicAd(s.Ad, k.Slot, k.Piece.Takes), k)})
		}
		whole.Ad = pool.Left(eval, whole.Ad, pieces)
		slices.SortFunc(dynamic, func(a, b pool.Slot) int { return pool.CompareNames(a.Name, b.Name) })
		out = append(out, dynamic...)
	}
	return out
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
			text(ad, pool.AttrRemoteUser), text(ad, pool.AttrJobID),
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

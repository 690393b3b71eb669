package slots

import (
	"fmt"
	"strconv"
	"strings"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/machine"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// detect advertises this machine's processors as slots, which share its
// memory and disk equally, or all of it as one partitionable slot.
func detect(c *cmdline.Call, args []string) error {
	if len(args) > 0 {
		return cmdline.Usagef("detect: %s: takes no names; -count N makes N slots", args[0])
	}
	m, err := machine.This(c)
	if err != nil {
		return err
	}
	count := m.Cpus
	if c.Has("count") {
		if count, err = strconv.Atoi(c.Value("count")); err != nil || count < 1 || count > maxCount {
			return cmdline.Usagef("-count %s: want a whole number from 1 to %d", c.Value("count"), maxCount)
		}
	}
	resources, err := resourcesGiven(c)
	if err != nil {
		return err
	}
	if c.Has("partitionable") {
		count = 1
	}
	offers := make([]offer, count)
	for i := range offers {
		ad := m.Slot(i+1, count)
		if c.Has("partitionable") {
			if err := m.Divide(ad, resources); err != nil {
				return err
			}
		}
		name, _ := textOf(ad, pool.AttrName)
		offers[i] = offer{name, ad, "detect"}
	}
	if c.Has("dry-run") {
		ads := make([]*classad.Ad, count)
		for i, o := range offers {
			ads[i] = o.ad
			stamp(o.ad, c.Now)
		}
		return adprint.Long(c.Data(), ads)
	}
	if err := put(c, offers, []string{"detect"}); err != nil {
		return err
	}
	return warnOfSurplus(c, m.Name, count)
}

const maxCount = 10000

// warnOfSurplus tells of slots that an earlier detect with a higher count has
// left in the pool, on one line.
func warnOfSurplus(c *cmdline.Call, host string, count int) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	return s.View(func(v *spool.View) error {
		var left []int
		for n := count + 1; n <= maxCount; n++ {
			if _, ok := v.Advertised(machine.SlotName(n, host)); ok {
				left = append(left, n)
			}
		}
		if len(left) > 0 {
			c.Warn("%s", surplus(left, host))
		}
		return nil
	})
}

// surplus words what is to be done with the slots of these numbers, ascending.
func surplus(left []int, host string) string {
	first := machine.SlotName(left[0], host)
	if len(left) == 1 {
		return fmt.Sprintf("slot %d of this machine stays advertised: withdraw it with slots withdraw %s", left[0], first)
	}
	last := machine.SlotName(left[len(left)-1], host)
	between := " "
	if len(left) > 2 {
		between = " ... "
	}
	return fmt.Sprintf("slots %s of this machine stay advertised: withdraw them with slots withdraw %s%s%s", ranges(left), first, between, last)
}

// ranges writes ascending numbers as 2 to 4, 7, 9 to 12.
func ranges(numbers []int) string {
	var b strings.Builder
	for i, n := range numbers {
		begins := i == 0 || numbers[i-1] != n-1
		ends := i == len(numbers)-1 || numbers[i+1] != n+1
		switch {
		case begins && i > 0:
			fmt.Fprintf(&b, ", %d", n)
		case begins:
			fmt.Fprint(&b, n)
		case ends:
			fmt.Fprintf(&b, " to %d", n)
		}
	}
	return b.String()
}

package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// resourcesGiven returns the amounts of -resource, and refuses flags of detect that
// exclude each other.
func resourcesGiven(c *cmdline.Call) ([]pool.Amount, error) {
	given := c.Repeated("resource")
	switch {
	case c.Has("partitionable") && c.Has("count"):
		return nil, cmdline.Usagef("-partitionable makes one slot: leave -count out")
	case len(given) > 0 && !c.Has("partitionable"):
		return nil, cmdline.Usagef("-resource: only a slot with -partitionable is divided by it")
	}
	var amounts []pool.Amount
	for _, args := range given {
		a, err := amountOf(args[0])
		if err != nil {
			return nil, err
		}
		same := func(b pool.Amount) bool { return strings.EqualFold(a.Name, b.Name) }
		if slices.ContainsFunc(amounts, same) {
			return nil, cmdline.Usagef("-resource %s: %s is given twice", args[0], a.Name)
		}
		amounts = append(amounts, a)
	}
	return amounts, nil
}

// amountOf reads NAME=NUMBER.
func amountOf(text string) (pool.Amount, error) {
	name, number, _ := strings.Cut(text, "=")
	x, err := strconv.ParseFloat(number, 64)
	if !pool.ResourceName(name) || err != nil || !(x > 0) || x > math.MaxInt32 {
		return pool.Amount{}, cmdline.Usagef("-resource %s: want NAME=NUMBER with a number above 0, like GPUs=2", text)
	}
	return pool.Amount{Name: name, Of: x}, nil
}

// divide turns the ad of a slot that has all of the machine into that of a
// partitionable slot, with the resources that were given.
func (m machine) divide(ad *classad.Ad, resources []pool.Amount) error {
	for _, r := range resources {
		if ad.Has(r.Name) {
			return cmdline.Usagef("-resource %s: is no resource of its own, slot ads have it already", r.Name)
		}
	}
	ad.SetBool(pool.AttrPartitionable, true)
	ad.SetString(pool.AttrSlotType, "Partitionable")
	ad.SetInt(pool.AttrCpus, int64(m.cpus))
	names := []string{pool.AttrCpus, pool.AttrMemory, pool.AttrDisk}
	for _, r := range resources {
		if r.Of == math.Trunc(r.Of) {
			ad.SetInt(r.Name, int64(r.Of))
		} else {
			ad.SetReal(r.Name, r.Of)
		}
		names = append(names, r.Name)
	}
	for _, name := range names {
		amount, _ := ad.Lookup(name)
		ad.Set(pool.TotalPrefix+name, amount)
	}
	ad.SetString(pool.AttrMachineResources, strings.Join(names, " "))
	ad.Set(pool.AttrRequirements, within(names))
	return nil
}

// within is the Requirements of a partitionable slot: what the machine's owner
// says, and that what is left is enough. A job that does not say how many cores it
// wants gets one; of anything else, nothing.
func within(names []string) *classad.Expr {
	var b strings.Builder
	b.WriteString("START")
	for _, name := range names {
		unsaid := "0"
		if name == pool.AttrCpus {
			unsaid = "1"
		}
		b.WriteString(" && (TARGET.Request" + name + " ?: " + unsaid + ") <= MY." + name)
	}
	return expression(b.String())
}

package slots

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
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

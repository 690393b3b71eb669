package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/sge"
)

// usageNames are the kinds of usage that are measured.
var usageNames = []string{"cpu", "mem", "io"}

const usageWanted = "cpu, mem or io"

// entry is one NAME=NUMBER of a list.
type entry struct {
	name   string
	number float64
}

// entries reads a list of NAME=NUMBER; none is an empty one. Each name stands there once.
func entries(list, separator string) ([]entry, error) {
	if strings.EqualFold(strings.TrimSpace(list), "none") {
		return nil, nil
	}
	var out []entry
	seen := map[string]bool{}
	for _, one := range strings.Split(list, separator) {
		name, text, ok := strings.Cut(strings.TrimSpace(one), "=")
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		name = strings.TrimSpace(name)
		switch {
		case !ok || name == "" || err != nil || math.IsNaN(n) || math.IsInf(n, 0):
			return nil, fmt.Errorf("%q: want NAME=NUMBER, with %q between two", one, separator)
		case seen[name]:
			return nil, fmt.Errorf("%s stands there twice", oneLine(name))
		}
		seen[name] = true
		out = append(out, entry{name, n})
	}
	return out, nil
}

// usageParams returns what is set for one kind of usage.
func (c *Config) usageParams(name string) *accountant.UsageParams {
	switch name {
	case "mem":
		return &c.Decay.Memory
	case "io":
		return &c.Decay.IO
	}
	return &c.Decay.CPU
}

// weightsOf reads a list of NAME=NUMBER with commas or blanks between two: qconf prints commas,
// and Grid Engine's own file has blanks.
func weightsOf(list string) ([]entry, error) {
	list = strings.Join(strings.Fields(list), " ")
	for _, sign := range []string{"=", ","} {
		list = strings.ReplaceAll(strings.ReplaceAll(list, " "+sign, sign), sign+" ", sign)
	}
	return entries(strings.ReplaceAll(list, " ", ","), ",")
}

// checkWeights refuses what is not measured, unless it counts nothing.
func checkWeights(list string) error {
	all, err := weightsOf(list)
	if err != nil {
		return err
	}
	for _, e := range all {
		switch {
		case !slices.Contains(usageNames, e.name) && e.number != 0:
			return fmt.Errorf("%q: want %s", e.name, usageWanted)
		case e.number < 0 || e.number > maxFactor:
			return fmt.Errorf("%s=%s: want 0 to %s", e.name, number(e.number), number(maxFactor))
		}
	}
	return nil
}

// setWeights takes a list that was checked. What is not in it has no weight.
func (c *Config) setWeights(list string) {
	all, _ := weightsOf(list)
	c.Decay.CPU.Weight, c.Decay.Memory.Weight, c.Decay.IO.Weight = 0, 0, 0
	for _, e := range all {
		if slices.Contains(usageNames, e.name) {
			c.usageParams(e.name).Weight = e.number
		}
	}
}

func checkHalfLives(list string) error {
	all, err := entries(list, ":")
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.number != math.Trunc(e.number) || e.number < -1 || e.number > maxSeconds/60 {
			return fmt.Errorf("%s=%s: want whole minutes, 0 or -1", oneLine(e.name), number(e.number))
		}
	}
	return nil
}

// setHalfLives takes a list that was checked. Grid Engine measures more kinds of usage, and
// keeps a number of finished jobs as one of them.
func (c *Config) setHalfLives(list string) {
	all, _ := entries(list, ":")
	for _, name := range usageNames {
		u := c.usageParams(name)
		u.Own, u.HalfLife = false, 0
	}
	c.unmeasured = nil
	for _, e := range all {
		if !slices.Contains(usageNames, e.name) {
			c.unmeasured = append(c.unmeasured, e.name)
			continue
		}
		u := c.usageParams(e.name)
		u.Own, u.HalfLife = true, time.Duration(e.number)*time.Minute
	}
}

// defaultProjects returns the default projects of those users who have one.
func defaultProjects(c *sge.Config) map[string]string {
	var of map[string]string
	for user, record := range c.Users {
		if record.DefaultProject != "" {
			of = noted(of, user, record.DefaultProject)
		}
	}
	return of
}

package sge

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/nearest"
)

// MostSlots is the largest number of slots that a range may name.
const MostSlots = 9_999_999

// PESlots is the default number of slots of a parallel environment.
const PESlots = 999

// defaultPE is what DefaultPE is without an entry.
var defaultPE = PE{Name: DefaultPE, Slots: PESlots}

// Slots returns how many slots are assumed for a job that asks for wanted slots of a
// parallel environment, and the least of them (sge_pe(5), urgency_slots). Wanted is a
// number, a range (2-8, 8-2, 4- and -8) or several with commas between them; empty: the job
// is not parallel, and both are 1. Pe empty is DefaultPE; a pattern (path.Match) means the
// first environment that it matches.
//
// A single number is assumed as it is. Otherwise the environment decides: the least, the
// greatest or its own number; or the mean, without its fraction, of all wanted numbers up to
// the environment's slots. An open range ends with the environment's slots. If all numbers
// are above these, the mean is the least.
//
// Any other wanted text, and a missing environment, is an error.
func (c *Config) Slots(pe, wanted string) (assumed, least int64, err error) {
	if wanted = strings.TrimSpace(wanted); wanted == "" {
		return 1, 1, nil
	}
	ranges, err := slotRanges(wanted)
	if err != nil {
		return 0, 0, err
	}
	env, ok := c.environment(pe)
	if !ok {
		return 0, 0, c.noEnvironment(pe)
	}
	return env.assumed(ranges), ranges[0].from, nil
}

// Ambiguous returns an error if a pattern matches several parallel environments with
// different assumed numbers of slots: such a job cannot be submitted. Errors of Slots are
// no errors here.
func (c *Config) Ambiguous(pe, wanted string) error {
	ranges, err := slotRanges(strings.TrimSpace(wanted))
	if err != nil || !isPattern(pe) {
		return nil
	}
	var first *PE
	for i := range c.PEs {
		env := &c.PEs[i]
		switch {
		case !matchesPE(pe, env.Name):
		case first == nil:
			first = env
		case env.assumed(ranges) != first.assumed(ranges):
			return fmt.Errorf("parallel environments that match %q assume different numbers of slots of %s (%s %d, %s %d): name one of them, or ask for a fixed number",
				pe, wanted, first.Name, first.assumed(ranges), env.Name, env.assumed(ranges))
		}
	}
	return nil
}

// environment returns the parallel environment of this name, or the first that a pattern
// matches.
func (c *Config) environment(name string) (*PE, bool) {
	name = cmp.Or(name, DefaultPE)
	for i := range c.PEs {
		if c.PEs[i].Name == name {
			return &c.PEs[i], true
		}
	}
	if name == DefaultPE {
		return &defaultPE, true
	}
	if isPattern(name) {
		for i := range c.PEs {
			if matchesPE(name, c.PEs[i].Name) {
				return &c.PEs[i], true
			}
		}
	}
	return nil, false
}

// noEnvironment returns the error of a missing name, with names that could have been
// meant.
func (c *Config) noEnvironment(name string) error {
	if len(c.PEs) == 0 {
		return fmt.Errorf("parallel environment %q does not exist: the only one is %q, which need not be named", name, DefaultPE)
	}
	names := make([]string, len(c.PEs))
	for i, env := range c.PEs {
		names[i] = env.Name
	}
	return fmt.Errorf("parallel environment %q does not exist%s", name, nearest.Hint(name, names))
}

func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

func matchesPE(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// slotRange is a range of slots, 1 and more; open ones have no end.
type slotRange struct {
	from, to int64
	open     bool
}

var errSlots = errors.New(`want a number of slots such as 4, a range such as 2-8, 4- or -8, or several with commas between them`)

// slotRanges reads a job's wanted slots. The ranges are in order, and neither overlap nor
// touch.
func slotRanges(wanted string) ([]slotRange, error) {
	var list []slotRange
	for _, one := range strings.Split(wanted, ",") {
		r, err := oneRange(strings.TrimSpace(one))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", wanted, err)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b slotRange) int { return cmp.Compare(a.from, b.from) })
	joined := list[:1]
	for _, r := range list[1:] {
		last := &joined[len(joined)-1]
		if !last.open && r.from > last.to+1 {
			joined = append(joined, r)
			continue
		}
		last.to, last.open = max(last.to, r.to), last.open || r.open
	}
	return joined, nil
}

func oneRange(text string) (r slotRange, err error) {
	from, to, isRange := strings.Cut(text, "-")
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if from == "" && to == "" {
		return r, errSlots
	}
	r.from = 1
	if from != "" {
		if r.from, err = slotCount(from); err != nil {
			return r, err
		}
	}
	switch {
	case !isRange:
		r.to = r.from
	case to == "":
		r.to, r.open = r.from, true
	default:
		if r.to, err = slotCount(to); err != nil {
			return r, err
		}
		r.from, r.to = min(r.from, r.to), max(r.from, r.to)
	}
	return r, nil
}

func slotCount(text string) (int64, error) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, errSlots
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && n == 0:
		return 0, errors.New("a number of slots must be greater than zero")
	case err != nil || n > MostSlots:
		return 0, fmt.Errorf("%s is too many slots: want %d at most", text, MostSlots)
	}
	return n, nil
}

// assumed returns the assumed slots for the ranges that slotRanges has read.
func (p *PE) assumed(wanted []slotRange) int64 {
	first, last := wanted[0], wanted[len(wanted)-1]
	if len(wanted) == 1 && !first.open && first.from == first.to {
		return first.from
	}
	switch p.UrgencySlots.Kind {
	case FixedSlots:
		return p.UrgencySlots.Fixed
	case AvgSlots:
		return p.mean(wanted)
	case MaxSlots:
		if last.open {
			return p.Slots
		}
		return last.to
	}
	return first.from
}

// mean returns the mean of all numbers that are wanted and that the environment has.
func (p *PE) mean(wanted []slotRange) int64 {
	most := min(p.Slots, MostSlots)
	sum, count := int64(0), int64(0)
	for _, r := range wanted {
		to := min(r.to, most)
		if r.open {
			to = most
		}
		if n := to - r.from + 1; n > 0 {
			sum, count = sum+(r.from+to)*n/2, count+n // at most MostSlots^2
		}
	}
	if count == 0 {
		return wanted[0].from
	}
	return sum / count
}

// SlotsText returns the slots that a job wants of a parallel environment as they are kept in
// its ad: ranges in ascending order that neither overlap nor touch, without blanks, 8-2 as
// 2-8 and -8 as 1-8. Of a single number there is only that. Slots reads the same of both
// texts. What Slots takes for no number of slots is an error.
func SlotsText(wanted string) (string, error) {
	ranges, err := slotRanges(strings.TrimSpace(wanted))
	if err != nil {
		return "", err
	}
	var text []byte
	for i, r := range ranges {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, r.from, 10)
		if r.open || r.to > r.from {
			text = append(text, '-')
		}
		if !r.open && r.to > r.from {
			text = strconv.AppendInt(text, r.to, 10)
		}
	}
	return string(text), nil
}

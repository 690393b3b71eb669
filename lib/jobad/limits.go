package jobad

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// concurrency sets ConcurrencyLimits: what the job counts for, as names in order,
// with commas between. They compare without case, and keep the user's. As an expression it is left to the
// negotiator, which passes over what is no name.
func (j *job) concurrency() error {
	g, ok, err := j.command("concurrency_limits")
	if err != nil {
		return err
	}
	found, err := j.expression("concurrency_limits_expr", pool.AttrConcurrencyLimits)
	switch {
	case err != nil || !ok:
		return err
	case found:
		return j.refuse(g, "excludes concurrency_limits_expr")
	}
	limits, err := limitsOf(unquoted(g.Text))
	if err != nil {
		return j.refuse(g, "%w", err)
	}
	slices.SortStableFunc(limits, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	j.setString(pool.AttrConcurrencyLimits, strings.Join(limits, ","))
	return nil
}

// limitsOf returns the names of limits that a text has, with their units.
func limitsOf(text string) ([]string, error) {
	limits := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	for _, l := range limits {
		if !isLimit(l) {
			return nil, fmt.Errorf("%q: want names of limits, as in license, sw.matlab:2", submitfile.Shorten(l))
		}
	}
	return limits, nil
}

// isLimit tells whether a text names a limit: a name, or a set and a name with a
// dot between, and perhaps a colon and a number of units above 0.
func isLimit(text string) bool {
	name, amount, given := strings.Cut(text, ":")
	if given {
		units, err := strconv.ParseFloat(amount, 64)
		if err != nil || !(units > 0) || math.IsInf(units, 0) {
			return false
		}
	}
	set, rest, inSet := strings.Cut(name, ".")
	return pool.ResourceName(set) && (!inSet || pool.ResourceName(rest))
}

package main

import (
	"errors"
	"strconv"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// What Maui's setspri takes, and what it keeps: an absolute priority as it is, and one
// that is added to the job's own as relativeSystem and that. Up to 1e9 what is kept is
// absolute, so that the least that can be added is above -1e9.
const (
	maxSystem      = 1000
	relativeSystem = 2_000_000_000
	leastRelative  = -999_999_999
	mostRelative   = 1_000_000_000
)

// systemChange reads what -system gives: N, +N or -N.
func systemChange(c *cmdline.Call, who cmdline.Caller) (change, error) {
	text := c.Value("system")
	n, err := strconv.ParseInt(text, 10, 64)
	relative := text != "" && (text[0] == '+' || text[0] == '-')
	switch {
	case errors.Is(err, strconv.ErrRange): // n is the nearest that there is
	case err != nil:
		return change{}, cmdline.Usagef("-system %q: want a whole number: N, +N or -N", text)
	}
	switch {
	case relative && (n < leastRelative || n > mostRelative):
		return change{}, cmdline.Usagef("-system %s: want a whole number from %d to +%d to add", text, leastRelative, mostRelative)
	case !relative && n > maxSystem:
		return change{}, cmdline.Usagef("-system %s: system priority must be in the range 0 - %d; +%s adds to a job's own", text, maxSystem, text)
	case !operation.OneQueue(c.Config):
		return change{}, errors.New(`-system: JOB_PRIORITY_POLICY is not "maui", which alone has system priorities: -p orders the jobs of one submitter`)
	case !who.Admin:
		return change{}, errors.New("-system: only administrators may set it: -p orders your own jobs")
	case relative && n < 0 && c.Config.Maui.Compatible:
		return change{}, errors.New(`-system ` + text + `: Maui 3.3.1, which COMPATIBILITY asks for, takes nothing away from a priority`)
	}
	if relative {
		n += relativeSystem
	}
	return change{attr: pool.AttrSystemPriority, expr: classad.Literal(classad.Int(n)), text: "-system " + text, priority: true}, nil
}

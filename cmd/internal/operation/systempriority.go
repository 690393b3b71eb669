package operation

import (
	"errors"
	"fmt"
	"strconv"

	"fairspool/lib/config"
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

// SystemPriority is what prio -system gives jobs.
type SystemPriority struct {
	text     string
	n        int64
	relative bool
}

// ReadSystemPriority reads N, +N or -N. Its errors are about how that is written.
func ReadSystemPriority(text string) (SystemPriority, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	s := SystemPriority{text, n, text != "" && (text[0] == '+' || text[0] == '-')}
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange): // else n is the nearest that there is
		return s, fmt.Errorf("-system %q: want a whole number: N, +N or -N", text)
	case s.relative && (n < leastRelative || n > mostRelative):
		return s, fmt.Errorf("-system %s: want a whole number from %d to +%d to add", text, leastRelative, mostRelative)
	case !s.relative && n > maxSystem:
		return s, fmt.Errorf("-system %s: system priority must be in the range 0 - %d; +%s adds to a job's own", text, maxSystem, text)
	}
	return s, nil
}

// String returns it as it was written, behind its flag.
func (s SystemPriority) String() string { return "-system " + s.text }

// Kept returns the SystemPriority that jobs get. It fails where the configuration has none
// such.
func (s SystemPriority) Kept(cfg *config.Config) (int64, error) {
	switch {
	case cfg.JobPriorityPolicy != "maui":
		return 0, errors.New(`-system: JOB_PRIORITY_POLICY is not "maui", which alone has system priorities: ` + insteadOfSystem(cfg))
	case s.relative && s.n < 0 && cfg.Maui.Compatible:
		return 0, fmt.Errorf("%v: Maui 3.3.1, which COMPATIBILITY asks for, takes nothing away from a priority", s)
	case s.relative:
		return relativeSystem + s.n, nil
	}
	return s.n, nil
}

// insteadOfSystem says what moves jobs under another policy than Maui's.
func insteadOfSystem(cfg *config.Config) string {
	if IsSGE(cfg) {
		return "-p and -ot put jobs ahead of others"
	}
	return "-p orders the jobs of one submitter"
}

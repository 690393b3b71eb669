package maui

import (
	"errors"
	"fmt"
	"strconv"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
)

// Options are Maui's setspri.
func (Policy) Options() []policy.Option {
	return []policy.Option{{
		Name: "system", Arg: "N", Set: setSystem,
		Help: "set the system priority: 1 to 1000 is above every other priority, 0 removes it; +N and -N change the job's own priority instead; for administrators",
	}}
}

func setSystem(e policy.Edit) (policy.Setting, error) {
	s, err := ReadSystemPriority(e.Value)
	if err != nil {
		return policy.Setting{}, &policy.ValueError{Why: err}
	}
	n, err := s.Kept(e.Policy, e.Config)
	switch {
	case err != nil:
		return policy.Setting{}, err
	case !e.Admin:
		return policy.Setting{}, errors.New("-system: only administrators may set it: -p orders your own jobs")
	}
	return policy.Setting{Attr: pool.AttrSystemPriority, Expr: classad.Literal(classad.Int(n)), Priority: true}, nil
}

// The range of Maui's setspri, and its encoding: an absolute priority as it is, and a
// priority relative to the job's own as relativeSystem plus that. Values up to 1e9 are
// absolute, so that relative ones are above -1e9.
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

// Kept returns the SystemPriority that jobs get under a policy in force. It fails where that has none
// such.
func (s SystemPriority) Kept(p policy.Policy, c *config.Config) (int64, error) {
	switch {
	case p != Policy{}:
		return 0, fmt.Errorf("-system: only JOB_PRIORITY_POLICY = %q has system priorities: %s", Policy{}.Name(), p.Rules(c).Ahead)
	case s.relative && s.n < 0 && Settings(c).Compatible:
		return 0, fmt.Errorf("-system %s: Maui 3.3.1, which COMPATIBILITY asks for, takes nothing away from a priority", s.text)
	case s.relative:
		return relativeSystem + s.n, nil
	}
	return s.n, nil
}

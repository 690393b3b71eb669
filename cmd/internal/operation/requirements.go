package operation

import (
	"fmt"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// Require returns why jobs do not meet what SUBMIT_REQUIREMENT_NAMES asks for, the first
// requirement that one of them does not meet; those that are warnings are told instead, once each.
// Each run is judged by the ad of its first proc, which is MY, and TARGET too. It is for callers
// that hold no lock: the expressions may look at what the jobs say.
func Require(cfg *config.Config, c jobad.Cluster, x *classad.Context, warn func(format string, args ...any)) error {
	if len(cfg.Requirements) == 0 || len(c.Runs) == 0 {
		return nil
	}
	list, err := compileRequirements(cfg)
	if err != nil {
		return err
	}
	first := 0
	for _, run := range c.Runs {
		ad := run.Ad().Chain(c.Ad)
		ad.SetInt(pool.AttrProcID, int64(first))
		first += run.Count
		for i, r := range list {
			if r.told {
				continue
			}
			why := r.unmet(x, ad)
			switch {
			case why == nil:
			case r.Warning:
				list[i].told = true
				warn("%v", why)
			default:
				return why
			}
		}
	}
	return nil
}

// longestReason is how many bytes a reason may have.
const longestReason = 1000

// requirement is one whose expressions are compiled.
type requirement struct {
	config.Requirement
	expr, reason *classad.Expr // reason is nil without one
	told         bool          // as a warning
}

func compileRequirements(cfg *config.Config) (list []requirement, err error) {
	for _, r := range cfg.Requirements {
		expr, err := cfg.Expr(r.Key())
		if err != nil {
			return nil, err
		}
		reason, err := cfg.Expr(r.Key() + "_REASON")
		if err != nil {
			return nil, err
		}
		list = append(list, requirement{r, expr, reason, false})
	}
	return list, nil
}

// unmet returns why a job does not meet the requirement; nil if it does. Numbers other than 0 are
// true, as in HTCondor.
func (r requirement) unmet(x *classad.Context, ad *classad.Ad) error {
	v := r.expr.Eval(x, ad, ad)
	yes, isBool := v.Bool()
	if n, isNumber := v.Number(); isNumber && !isBool {
		yes, isBool = n != 0, true
	}
	if yes {
		return nil
	}
	if r.reason != nil {
		if text, ok := r.reason.Eval(x, ad, ad).Text(); ok && text != "" {
			return fmt.Errorf("%s: %s", r.Key(), strings.TrimSpace(text[:min(len(text), longestReason)]))
		}
	}
	why := fmt.Errorf("%s: not met: %s", r.Key(), submitfile.Shorten(r.expr.String()))
	if !isBool {
		why = fmt.Errorf("%w is %s", why, v)
	}
	return why
}

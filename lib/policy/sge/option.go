package sge

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// none takes back what an option has set.
const none = "none"

// Options are qalter's.
func (Policy) Options() []policy.Option {
	return []policy.Option{
		{Name: "js", Arg: "N", Help: "set the job share to N, 0 to 4294967295", Set: shares("js", sge.AttrJobShare)},
		{Name: "ot", Arg: "N", Help: "set the override tickets to N, 0 to 4294967295; for administrators", Set: tickets},
		{Name: "dl", Arg: "TIME", Help: "set the deadline: [[CC]YY]MMDDhhmm[.SS] or 2026-11-22 15:30 in local time, Unix seconds, or RFC 3339; none removes it", Set: setDeadline},
		{Name: "P", Arg: "PROJECT", Help: "set the project; none removes it", Set: setProject},
	}
}

// shares returns what reads a number of shares or tickets.
func shares(option, attr string) func(policy.Edit) (policy.Setting, error) {
	return func(e policy.Edit) (policy.Setting, error) {
		n, err := strconv.ParseInt(e.Value, 10, 64)
		if err != nil || n < 0 || n > sge.MostShares {
			return policy.Setting{}, &policy.ValueError{Why: fmt.Errorf("-%s %q: want a whole number from 0 to %d", option, e.Value, uint32(sge.MostShares))}
		}
		return policy.Setting{Attr: attr, Expr: classad.Literal(classad.Int(n))}, nil
	}
}

func tickets(e policy.Edit) (policy.Setting, error) {
	s, err := shares("ot", sge.AttrOverrideTickets)(e)
	if err == nil && !e.Admin {
		err = errors.New("-ot: only administrators may give override tickets")
	}
	return s, err
}

func setDeadline(e policy.Edit) (policy.Setting, error) {
	if strings.EqualFold(e.Value, none) {
		return takenBack(sge.AttrDeadline), nil
	}
	d, err := jobad.ReadDeadline(e.Value, e.Now)
	if err != nil {
		return policy.Setting{}, &policy.ValueError{Why: fmt.Errorf("-dl %w", err)}
	}
	return policy.Setting{Attr: sge.AttrDeadline, Expr: classad.Literal(classad.Int(d.Unix)), Doubt: d.Doubt}, nil
}

func setProject(e policy.Edit) (policy.Setting, error) {
	if strings.EqualFold(e.Value, none) {
		return takenBack(pool.AttrProject), nil
	}
	return policy.Setting{Attr: pool.AttrProject, Expr: classad.Literal(classad.String(e.Value))}, nil
}

func takenBack(attr string) policy.Setting {
	return policy.Setting{Attr: attr, Expr: classad.Literal(classad.Undefined())}
}

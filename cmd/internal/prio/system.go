package prio

import (
	"errors"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// systemChange reads what -system gives: N, +N or -N.
func systemChange(c *cmdline.Call, who cmdline.Caller) (change, error) {
	s, err := operation.ReadSystemPriority(c.Value("system"))
	if err != nil {
		return change{}, cmdline.Usagef("%v", err)
	}
	n, err := s.Kept(c.Config)
	switch {
	case err != nil:
		return change{}, err
	case !who.Admin:
		return change{}, errors.New("-system: only administrators may set it: -p orders your own jobs")
	}
	return change{attr: pool.AttrSystemPriority, expr: classad.Literal(classad.Int(n)), text: s.String(), priority: true}, nil
}

package prio

import (
	"errors"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/policy/maui"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
)

// systemChange reads what -system gives: N, +N or -N.
func systemChange(c *cmdline.Call, who cmdline.Caller) (change, error) {
	s, err := maui.ReadSystemPriority(c.Value("system"))
	if err != nil {
		return change{}, cmdline.Usagef("%v", err)
	}
	n, err := s.Kept(registry.Of(c.Config), c.Config)
	switch {
	case err != nil:
		return change{}, err
	case !who.Admin:
		return change{}, errors.New("-system: only administrators may set it: -p orders your own jobs")
	}
	return change{attr: pool.AttrSystemPriority, expr: classad.Literal(classad.Int(n)), text: s.String(), priority: true}, nil
}

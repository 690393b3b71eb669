package userprio

import (
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// untallied is said of names in whose account nothing is.
const untallied = "nothing is tallied under this name"

// tallies returns what is tallied for one of the other policies, Maui's windowed
// or Grid Engine's, as of now.
func tallies(c *cmdline.Call, windowed bool) ([]accountant.Tally, accountant.Params, error) {
	p := c.Config.Params
	s, err := c.Spool()
	if err != nil {
		return nil, p, err
	}
	var all []accountant.Tally
	if err := s.View(func(v *spool.View) error { all = operation.Tallies(v, c.Reading()); return nil }); err != nil {
		return nil, p, err
	}
	var list []accountant.Tally
	for _, y := range all {
		if y.Windowed() == windowed {
			list = append(list, y.AsOf(c.Now, p))
		}
	}
	return list, p, nil
}

// onlyNamed returns the rows that one of the command's arguments names, all
// without any. It says which arguments name none, for which the command fails in
// the end, in the words of missing.
func onlyNamed[R any](c *cmdline.Call, rows []R, missing string, names func(R) []string) ([]R, error) {
	if len(c.Args) == 0 {
		return rows, nil
	}
	var out []R
	met := map[string]bool{}
	for _, r := range rows {
		all := names(r)
		if slices.ContainsFunc(all, func(n string) bool { return n != "" && slices.Contains(c.Args, n) }) {
			out = append(out, r)
		}
		for _, n := range all {
			met[n] = true
		}
	}
	var failed error
	for _, a := range c.Args {
		if a == "" || !met[a] {
			c.Warn("%s: %s", a, missing)
			failed = cmdline.ErrReported
		}
	}
	return out, failed
}

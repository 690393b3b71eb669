package negotiate

import (
	"fmt"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/health"
	"fairspool/spool"
)

// state is what -health prints with -json.
type state struct {
	Status   health.Severity // that of the first finding, which is the worst
	Findings []health.Finding
}

// tellHealth prints what is amiss in the pool, and exits as monitoring plug-ins do.
func tellHealth(c *cmdline.Call) error {
	for _, other := range []string{"dry-run", "what-if", "explain", "force"} {
		if _, err := c.One("health", other); err != nil {
			return err
		}
	}
	if _, err := c.One("json", "q"); err != nil {
		return err
	}
	if len(c.Args) > 0 {
		return cmdline.Usagef("%s: unexpected argument", c.Args[0])
	}
	found, err := health.Of(c)
	if err != nil {
		found = []health.Finding{{Code: health.Unreadable, Severity: health.Unknown, What: err.Error(), Stops: true}}
	}
	worst := health.Worst(found)
	switch {
	case c.Has("json"):
		err = c.JSON(state{worst, append([]health.Finding{}, found...)})
	case len(found) == 0 && !c.Has("q"):
		_, err = fmt.Fprintf(c.Stdout, "%v - nothing is amiss\n", worst)
	default:
		for _, f := range found {
			if _, err = fmt.Fprintf(c.Stdout, "%v - %s\n", f.Severity, f.Line()); err != nil {
				break
			}
		}
	}
	if err == nil {
		err = c.Flush()
	}
	if err != nil {
		return err
	}
	return cmdline.ExitStatus(int(worst))
}

// warnOfMachines warns on a terminal, after a cycle, of slots whose machines have no starter.
func warnOfMachines(c *cmdline.Call, s *spool.Spool) {
	if c.Has("json") || c.Has("q") || !c.Terminal() || c.Flush() != nil {
		return
	}
	found, err := health.In(c, s)
	if err != nil {
		return // the cycle is done; the next command that reads what is damaged says so
	}
	for _, f := range found {
		if f.Code == health.OtherMachine || f.Code == health.NoStarter {
			c.Warn("warning: %s", f.Line())
		}
	}
}

package negotiate

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
)

// checkConfig compiles what the configuration says, and prints each setting with where it is from.
func checkConfig(c *cmdline.Call) error {
	if len(c.Args) > 0 {
		return cmdline.Usagef("%s: unexpected argument", c.Args[0])
	}
	for _, pair := range [][]string{{"json", "q"}, {"check-config", "dry-run", "what-if", "explain", "health"}} {
		if _, err := c.One(pair...); err != nil {
			return err
		}
	}
	if err := operation.CheckConfig(c.Config); err != nil {
		return err
	}
	for _, w := range c.Config.Warnings {
		c.Warn("%s", w)
	}
	lines := c.Config.Lines()
	switch {
	case c.Has("q"):
		return nil
	case c.Has("json"):
		return c.JSON(lines)
	}
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = []string{l.Key, l.From, l.Text()}
	}
	return c.Table([]cmdline.Column{{Head: "Setting"}, {Head: "From"}, {Head: "Value"}}, rows)
}

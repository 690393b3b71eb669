package cmdline

import (
	"path/filepath"

	"github.com/urfave/cli/v2"
)

// Common returns the common flags under which another process of ours acts as
// this one does, wherever it is started: on the same spool and configuration,
// at the same policy time, with the same patience. They are as given on the
// command line or by the environment; a policy time that is the clock's own is
// not among them.
func (c *Call) Common() ([]string, error) {
	dir, err := c.SpoolDir()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	args := []string{"-spool", dir}
	for _, name := range []string{"config", "now", "lock-wait"} {
		text := c.handOn[name]
		if text == "" {
			continue
		}
		if name == "config" {
			if text, err = filepath.Abs(text); err != nil {
				return nil, err
			}
		}
		args = append(args, "-"+name, text)
	}
	return args, nil
}

// toHandOn keeps the texts of the common flags that Common returns.
func toHandOn(x *cli.Context) map[string]string {
	texts := map[string]string{}
	for _, name := range []string{"config", "now", "lock-wait"} {
		texts[name] = value(x, name)
	}
	return texts
}

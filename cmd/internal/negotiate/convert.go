package negotiate

import (
	"fmt"
	"io"
	"os"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/condorconfig"
)

// convert prints the fairspool.toml that says what HTCondor's configuration files say.
func convert(c *cmdline.Call) error {
	if len(c.Args) > 0 {
		return cmdline.Usagef("%s: unexpected argument", c.Args[0])
	}
	for _, other := range []string{"check-config", "json", "dry-run", "what-if", "explain"} {
		if _, err := c.One("convert-config", other); err != nil {
			return err
		}
	}
	var sources []condorconfig.Source
	for _, name := range c.Values("convert-config") {
		text, err := readSource(c, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, cmdline.Cause(err))
		}
		sources = append(sources, condorconfig.Source{Name: name, Text: string(text)})
	}
	done, err := convertConfig(sources, included)
	if err != nil {
		return err
	}
	if !c.Has("q") {
		for _, w := range done.warnings {
			c.Warn("%s", w)
		}
	}
	_, err = io.WriteString(c.Data(), done.text)
	return err
}

// readSource reads a file of the command line; "-" is standard input.
func readSource(c *cmdline.Call, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(c.Stdin)
	}
	return os.ReadFile(name)
}

// included reads a file that another includes.
func included(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", cmdline.Cause(err)
	}
	return string(text), nil
}

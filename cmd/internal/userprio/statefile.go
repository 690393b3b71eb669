package userprio

import (
	"fmt"
	"io"

	"fairspool/cmd/internal/cmdline"
	"fairspool/spool"
)

// writeState writes an exported state to a file, or to standard output.
func writeState(c *cmdline.Call, s *spool.Spool, file string, text []byte) error {
	switch {
	case file == "":
		return cmdline.Usagef("-export: the name of the file is empty")
	case file == "-":
		_, err := c.Data().Write(text)
		return err
	case spool.Inside(file, s.Dir()):
		return cmdline.Usagef("-export: %s lies in the spool: give a file outside of it", file)
	}
	_, err := c.Replace(file, 0o600, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err != nil {
		return fmt.Errorf("%s: not written: %w", file, cmdline.Cause(err))
	}
	_, err = fmt.Fprintf(c.Stdout, "The accounting state was written to %s.\n", file)
	return err
}

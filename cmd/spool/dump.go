package main

import (
	"errors"
	"fmt"
	"os"

	"fairspool/cmd/internal/cmdline"
	"fairspool/spool"
)

// dump writes the spool as ads.
func dump(c *cmdline.Call, args []string) error {
	file, err := oneFile("dump", args)
	if err != nil {
		return err
	}
	s, err := c.ExistingSpool(true)
	if err != nil {
		return err
	}
	if file == "" {
		return s.Dump(c.Data())
	}
	if spool.Inside(file, s.Dir()) {
		return cmdline.Usagef("dump: %s lies in the spool: give a file outside of it", file)
	}
	n, err := cmdline.Replace(file, 0o600, s.Dump)
	if err != nil {
		return fmt.Errorf("%s: not written: %w", file, cmdline.Cause(err))
	}
	_, err = fmt.Fprintf(c.Stdout, "%s written to %s.\n", size(n), file)
	return err
}

// oneFile returns the file that an action is to use, empty for standard input
// or output.
func oneFile(action string, args []string) (string, error) {
	switch {
	case len(args) == 0 || len(args) == 1 && args[0] == "-":
		return "", nil
	case args[0] == "":
		return "", cmdline.Usagef("%s: the name of the file is empty", action)
	}
	return args[0], noMore(action, args[1:])
}

// restore makes a spool of what dump wrote.
func restore(c *cmdline.Call, args []string) error {
	file, err := oneFile("restore", args)
	if err != nil {
		return err
	}
	dir, err := directory(c)
	if err != nil {
		return err
	}
	from := c.Stdin
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, cmdline.Cause(err))
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return fmt.Errorf("%s: is a directory", file)
		}
		from = f
	}
	p := c.Progress("restoring")
	made, err := spool.Restore(dir, from, c.SpoolOptions(), func(ads int) { p.Count(ads, "ads") })
	p.End()
	var wrong *spool.DumpError
	if errors.As(err, &wrong) && file != "" {
		return fmt.Errorf("%s:%d: %s", file, wrong.Line, wrong.Why)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "Restored into %s, UID_DOMAIN %s: %s.\n", dir, made.Domain,
		contents(made.Clusters, made.Jobs, made.Slots, made.Claims, made.Submitters, made.Factories, made.Left))
	return err
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/plural"
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

// salvage saves what is whole. That something was lost is told and is no
// failure: the new spool is there.
func salvage(c *cmdline.Call, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return cmdline.Usagef("salvage: want one new directory for what is whole")
	}
	dir, err := directory(c)
	if err != nil {
		return err
	}
	to, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	if spool.Inside(to, dir) {
		return cmdline.Usagef("salvage: %s lies in the spool, which is not to be touched", args[0])
	}
	saved, err := spool.Salvage(dir, to, c.SpoolOptions(), func(f spool.Finding) {
		if f.Damaged {
			c.Warn("%s: %s", place(f), f.What)
		}
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.Stdout, "Saved into %s: %s.\n", to,
		contents(saved.Clusters, saved.Jobs, saved.Slots, saved.Claims, saved.Submitters, saved.Factories, saved.Left)); err != nil {
		return err
	}
	if saved.Lost == 0 {
		_, err = fmt.Fprintln(c.Stdout, "Nothing is lost.")
		return err
	}
	if err := c.Flush(); err != nil {
		return err
	}
	c.Warn("%s: %s %s damaged: what the lines above name is missing from the new spool, or was taken unproven", dir, plural.Count(saved.Lost, "place"), plural.Pick(saved.Lost, "is", "are"))
	return nil
}

// directory returns the directory of the spool, absolute, whatever is there.
func directory(c *cmdline.Call) (string, error) {
	dir, err := c.SpoolDir()
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// contents words what a new spool holds.
func contents(clusters, jobs, slots, claims, submitters, factories, left int) string {
	parts := []string{
		plural.Count(jobs, "job") + " in " + plural.Count(clusters, "cluster"), plural.Count(slots, "slot"), plural.Count(claims, "claim"),
		plural.Count(submitters, "submitter"), plural.Count(left, "job") + " of the history",
	}
	if factories > 0 { // most pools have none
		parts = append(parts, plural.Count(factories, "factory"))
	}
	return strings.Join(parts, ", ")
}

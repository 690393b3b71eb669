package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
		return s.Dump(c.Stdout)
	}
	if spool.Inside(file, s.Dir()) {
		return cmdline.Usagef("dump: %s lies in the spool: give a file outside of it", file)
	}
	n, err := whole(file, s.Dump)
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

// whole writes a file as a whole or not at all, and durably: it has a name of
// its own until all is there. It returns how many bytes it has.
func whole(name string, write func(io.Writer) error) (n int64, err error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return 0, errors.New("it is no regular file: write to standard output for it")
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.new")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) // nothing is there once it is renamed
	defer f.Close()
	if err := write(f); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	if n, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return 0, err
	}
	return n, syncDir(filepath.Dir(name))
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
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
		contents(made.Clusters, made.Jobs, made.Slots, made.Claims, made.Submitters, made.Left))
	return err
}

package main

import (
	"errors"
	"fmt"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

// convert writes the ads of files, or of standard input, in another form.
func convert(c *cmdline.Call, files []string) error {
	in, err := newInput(c)
	if err != nil {
		return err
	}
	if !c.Has("to") {
		return cmdline.Usagef("convert: to which form? -to long, new or json")
	}
	to, err := formNamed("to", c.Value("to"))
	if err != nil {
		return err
	}
	if to == classad.FormAuto || to == classad.FormXML {
		return cmdline.Usagef("-to: form %v can be read and not written: want long, new or json", to)
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	out := classad.NewWriter(c.Data(), to)
	failed := writeAll(c, in, files, out)
	// What was written before a failure is whole all the same.
	if err := out.Close(); err != nil {
		return err
	}
	return failed
}

// writeAll writes the ads of all files. What is wrong with an ad is told, and
// does not end the stream unless -stop is given.
func writeAll(c *cmdline.Call, in *input, files []string, out *classad.Writer) error {
	var failed error
	for _, file := range files {
		err := in.each(file, func(f found) error {
			if f.bad == nil {
				f.bad = out.Write(f.ad)
				if !errors.Is(f.bad, classad.ErrUnwritable) {
					return f.bad
				}
				f.bad = fmt.Errorf("%s: %w", f.where, f.bad)
			}
			if c.Has("stop") {
				return f.bad
			}
			c.Warn("%v", f.bad)
			failed = cmdline.ErrReported
			return nil
		})
		if err != nil {
			return err
		}
	}
	return failed
}

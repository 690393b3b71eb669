package main

import (
	"errors"
	"fmt"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/plural"
)

// checked is what check says of a file.
type checked struct {
	File   string
	Ads    int // the good ones
	Errors []fault

	unread bool // it could not be read, or not to its end
}

type fault struct {
	Line, Column int // from 1; 0: unknown
	Message      string
}

// check reads files and says how many ads they have and what is wrong. That one
// cannot be read does not keep it from the others.
func check(c *cmdline.Call, files []string) error {
	in, err := newInput(c)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	var failed error
	all := []checked{}
	for _, file := range files {
		k := checked{File: file, Errors: []fault{}}
		err := in.each(file, func(f found) error {
			if f.bad == nil {
				k.Ads++
				return nil
			}
			c.Warn("%v", f.bad)
			k.Errors = append(k.Errors, faultOf(f.bad))
			return nil
		})
		if errors.Is(err, errTwice) {
			return err
		}
		if err != nil {
			c.Warn("%v", err)
			k.unread = true
			k.Errors = append(k.Errors, fault{Message: err.Error()})
		}
		if len(k.Errors) > 0 {
			failed = cmdline.ErrReported
		}
		all = append(all, k)
	}
	if err := showChecked(c, all); err != nil {
		return err
	}
	return failed
}

func faultOf(err error) fault {
	var at *classad.SyntaxError
	if !errors.As(err, &at) {
		return fault{Message: err.Error()}
	}
	return fault{at.Line, at.Col, at.Msg}
}

func showChecked(c *cmdline.Call, all []checked) error {
	if c.Has("json") {
		return c.JSON(all)
	}
	for _, k := range all {
		if k.unread {
			continue
		}
		text := fmt.Sprintf("%s: %s", called(k.File), plural.Count(k.Ads, "ad"))
		if n := len(k.Errors); n > 0 {
			text += fmt.Sprintf(", and %d bad", n)
		}
		if _, err := fmt.Fprintln(c.Stdout, text); err != nil {
			return err
		}
	}
	return nil
}

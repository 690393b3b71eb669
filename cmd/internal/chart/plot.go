package chart

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/history"
)

// Plot draws series as -plot of a command asks, into a file or the terminal. They are asked for once it
// is known how to draw.
func Plot(c *cmdline.Call, title string, series func() ([]history.Series, error)) error {
	file := c.Value("plot")
	format, err := pictureFormat(file)
	switch {
	case err != nil:
		return err
	case file == "-" && c.Has("json"):
		return cmdline.Usagef("-json: the picture goes to standard output: name a file with -plot")
	}
	list, err := series()
	if err != nil {
		return err
	}
	picture := Chart{Title: title, Series: list, Zone: c.Now.Location()}
	if file == "-" {
		return undrawn(picture.Terminal(cmdline.Raw(c.Stdout), screenOf(c)))
	}
	n, err := c.Replace(file, 0o666, func(w io.Writer) error { return undrawn(picture.Draw(w, format)) })
	if err != nil {
		return fmt.Errorf("%s: %w", file, cmdline.Cause(err))
	}
	if c.Has("json") {
		return c.JSON(cmdline.Wrote{File: file, Bytes: n})
	}
	_, err = fmt.Fprintf(c.Stdout, "wrote %s\n", file)
	return err
}

// pictureFormat returns the format that the name of a picture's file asks for,
// none for the terminal.
func pictureFormat(file string) (string, error) {
	if file == "-" {
		return "", nil
	}
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	if !slices.Contains(Formats(), format) {
		return "", cmdline.Usagef("-plot: %q: want a file whose name ends in .%s, or - for the terminal", file, strings.Join(Formats(), " or ."))
	}
	return format, nil
}

// undrawn says what may be done where there is nothing to draw.
func undrawn(err error) error {
	if errors.Is(err, ErrNothing) {
		return errors.New("nothing to draw: nobody used or asked for anything in that time, and no EUP changed; -since TIME goes further back, and each cycle of negotiate takes samples")
	}
	return err
}

// screenOf returns what standard output leads to.
func screenOf(c *cmdline.Call) Screen {
	width, height := c.Screen()
	return Screen{Width: width, Height: height, Colours: c.Coloured()}
}

package userprio

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"fairspool/cmd/internal/chart"
	"fairspool/cmd/internal/cmdline"
)

// plot is -plot.
func plot(c *cmdline.Call) error {
	file := c.Value("plot")
	format, err := pictureFormat(file)
	if err != nil {
		return err
	}
	list, err := series(c, c.Args)
	if err != nil {
		return err
	}
	former, err := strangers(c, c.Args, list)
	if err != nil {
		return err
	}
	if former > 0 && len(list) == 0 {
		return cmdline.ErrReported
	}
	picture := chart.Chart{Title: plotTitle(c), Series: list, Zone: c.Now.Location()}
	if file == "-" {
		return undrawn(picture.Terminal(cmdline.Raw(c.Stdout), screen(c)))
	}
	_, err = c.Replace(file, 0o666, func(w io.Writer) error { return undrawn(picture.Draw(w, format)) })
	if err != nil {
		return fmt.Errorf("%s: %w", file, cmdline.Cause(err))
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
	if !slices.Contains(chart.Formats(), format) {
		return "", cmdline.Usagef("-plot: %q: want a file whose name ends in .%s, or - for the terminal", file, strings.Join(chart.Formats(), " or ."))
	}
	return format, nil
}

func plotTitle(c *cmdline.Call) string {
	if c.Config.UIDDomain == "" {
		return "priority and usage"
	}
	return "priority and usage, " + c.Config.UIDDomain
}

// undrawn says what may be done where there is nothing to draw.
func undrawn(err error) error {
	if errors.Is(err, chart.ErrNothing) {
		return errors.New("nothing to draw: nobody used or asked for anything in that time, and no EUP changed; -since TIME goes further back, and each cycle of negotiate takes samples")
	}
	return err
}

// screen is what standard output leads to.
func screen(c *cmdline.Call) chart.Screen {
	width, height := c.Screen()
	return chart.Screen{Width: width, Height: height, Colours: c.Coloured()}
}

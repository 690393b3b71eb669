package cmdline

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// Version is the version of fairspool.
const Version = "0.1.0"

// version returns Version with the revision that the binary was built from,
// where the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 7:
			revision = "+" + s.Value[:7]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if revision == "" {
		return Version
	}
	return Version + revision + dirty
}

// helpWidth is the width that help is wrapped to.
const helpWidth = 79

// help writes the command's whole surface.
func (c Command) help(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n", c.Name, c.Brief)
	lead := "\nusage: "
	for _, s := range c.Synopsis {
		fmt.Fprintf(&b, "%s%s %s\n", lead, c.Name, s)
		lead = "       "
	}
	for _, p := range strings.Split(strings.TrimSpace(c.About), "\n\n") {
		fmt.Fprintf(&b, "\n%s\n", wrap(p, ""))
	}
	c.flagHelp(&b, "options", c.ownFlags())
	c.flagHelp(&b, "common options", c.commonFlags())
	for i, e := range c.Examples {
		if i == 0 {
			b.WriteString("\nexamples:\n")
		}
		fmt.Fprintf(&b, "%s\n    %s\n", wrap(e.Does+":", "  "), e.Line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Command) flagHelp(b *strings.Builder, title string, flags []Flag) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, f := range flags {
		fmt.Fprintf(b, "  %s\n%s\n", c.spelling(f), wrap(f.Help, "      "))
	}
}

// spelling returns how a flag is written: "-setprio USER RUP (-s)".
func (c Command) spelling(f Flag) string {
	s := "-" + f.Name
	if f.Letters != "" {
		s += "[:" + f.Letters + "]"
	}
	for _, a := range f.Args {
		s += " " + a
	}
	if f.Repeat {
		s += " ..."
	}
	if c.Number == f.Name {
		return "+N, -N"
	}
	var short []string
	for _, a := range f.Aliases {
		short = append(short, "-"+a)
	}
	if least := c.shortest(f); least != f.Name {
		short = append(short, "-"+least)
	}
	if len(short) > 0 {
		s += " (" + strings.Join(short, ", ") + ")"
	}
	return s
}

// wrap breaks a paragraph into lines, each behind indent.
func wrap(paragraph, indent string) string {
	var b strings.Builder
	width := 0
	for _, word := range strings.Fields(paragraph) {
		switch {
		case width == 0:
			b.WriteString(indent)
			width = len(indent)
		case width+1+len(word) > helpWidth:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}

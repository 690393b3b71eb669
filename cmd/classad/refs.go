package main

import (
	"fmt"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

// needs is what an expression needs, for programs. The lists are null when
// there is no answer.
type needs struct {
	Expr               string
	Internal, External []string
	Clock, Chance      bool // whether the value may change with these
}

// refs says which attributes expressions need.
func refs(c *cmdline.Call, texts []string) error {
	if len(texts) == 0 {
		return cmdline.Usagef("refs: which expressions?")
	}
	exprs, my, _, err := expressions(c, texts)
	if err != nil {
		return err
	}
	var failed error
	all := make([]needs, len(exprs))
	for i, e := range exprs {
		n := needs{Expr: texts[i]}
		n.Internal, n.External = classad.References(e, my)
		n.Clock, n.Chance = classad.Varies(e, my, nil)
		if all[i] = n; n.Internal == nil {
			c.Warn("%s: no answer: attributes refer to each other in a circle, or something is selected from what is not an ad", n.Expr)
			failed = cmdline.ErrReported
		}
	}
	if c.Has("json") {
		err = c.JSON(all)
	} else {
		err = showNeeds(c, all)
	}
	if err != nil {
		return err
	}
	return failed
}

// showNeeds writes a line for each kind of need, under the expression if there
// are several.
func showNeeds(c *cmdline.Call, all []needs) error {
	for _, n := range all {
		var b strings.Builder
		indent := ""
		if len(all) > 1 {
			fmt.Fprintln(&b, n.Expr)
			indent = "    "
		}
		line := func(head string, words []string) {
			if len(words) > 0 {
				fmt.Fprintf(&b, "%s%-8s  %s\n", indent, head, strings.Join(words, " "))
			}
		}
		line("internal", n.Internal)
		line("external", n.External)
		var varies []string
		if n.Clock {
			varies = append(varies, "time")
		}
		if n.Chance {
			varies = append(varies, "chance")
		}
		line("varies", varies)
		if _, err := fmt.Fprint(c.Stdout, b.String()); err != nil {
			return err
		}
	}
	return nil
}

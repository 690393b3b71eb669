package prio

import (
	"errors"
	"fmt"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// none takes back what an option has set.
const none = "none"

// gridEngineFlags are qalter's for Grid Engine's policy. Other policies keep what they set.
var gridEngineFlags = []cmdline.Flag{
	{Name: "js", Args: []string{"N"}, Help: "set the job share to N, 0 to 4294967295"},
	{Name: "ot", Args: []string{"N"}, Help: "set the override tickets to N, 0 to 4294967295; for administrators"},
	{Name: "dl", Args: []string{"TIME"}, Help: "set the deadline: [[CC]YY]MMDDhhmm[.SS] or 2026-11-22 15:30 in local time, Unix seconds, or RFC 3339; none takes it back"},
	{Name: "P", Args: []string{"PROJECT"}, Help: "set the project; none takes it back"},
}

// gridEngineChanges reads them.
func gridEngineChanges(c *cmdline.Call, who cmdline.Caller) (list changes, err error) {
	for _, f := range gridEngineFlags {
		if !c.Has(f.Name) {
			continue
		}
		ch, err := gridEngineChange(c, f.Name)
		if err != nil {
			return nil, err
		}
		if err := jobad.CheckEdit(ch.attr, ch.expr, who.Admin); err != nil {
			if f.Name == "ot" && !who.Admin {
				err = errors.New("only administrators may give override tickets")
			}
			return nil, fmt.Errorf("-%s: %w", f.Name, err)
		}
		ch.text = "-" + f.Name + " " + c.Value(f.Name)
		list = append(list, ch)
	}
	return list, nil
}

func gridEngineChange(c *cmdline.Call, flag string) (change, error) {
	value := c.Value(flag)
	switch flag {
	case "js":
		return share(flag, sge.AttrJobShare, value)
	case "ot":
		return share(flag, sge.AttrOverrideTickets, value)
	case "dl":
		return deadline(c, value)
	}
	if strings.EqualFold(value, none) {
		return takenBack(pool.AttrProject), nil
	}
	return change{attr: pool.AttrProject, expr: classad.Literal(classad.String(value))}, nil
}

// share reads a number of shares or tickets.
func share(flag, attr, text string) (change, error) {
	ch, err := number(attr, text, 0, sge.MostShares)
	if err != nil {
		err = cmdline.Usagef("-%s %v", flag, err)
	}
	return ch, err
}

func deadline(c *cmdline.Call, text string) (change, error) {
	if strings.EqualFold(text, none) {
		return takenBack(sge.AttrDeadline), nil
	}
	d, err := jobad.ReadDeadline(text, c.Now)
	if err != nil {
		return change{}, cmdline.Usagef("-dl %v", err)
	}
	if d.Doubt != "" {
		c.Warn("-dl %s", d.Doubt)
	}
	return change{attr: sge.AttrDeadline, expr: classad.Literal(classad.Int(d.Unix))}, nil
}

func takenBack(attr string) change {
	return change{attr: attr, expr: classad.Literal(classad.Undefined())}
}
